"""Amounts as whole minor units of an ISO 4217 currency."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

# Digits of the minor unit, where they are not two. Not CLDR's: what is customary on a price tag (no fils in Iraq) would
# make sums disagree with what was paid.
_DIGITS: Final = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF"), 0),
    **dict.fromkeys(("UGX", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}
_USUAL_DIGITS: Final = 2

# What people pay with: ISO 4217 list one, without metals, funds, units of account and test codes.
CURRENCIES: Final = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY
    COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS
    INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP
    MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR
    SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED
    VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
    """.split()  # noqa: SIM905 - a hundred and fifty quoted codes are harder to read
)


def minor_digits(currency: str) -> int:
    """How many decimals an amount of this currency has: 2 for USD, 0 for JPY, 3 for KWD."""
    return _DIGITS.get(currency, _USUAL_DIGITS)


def major_units(amount_minor: int, currency: str) -> Decimal:
    """Return `Decimal("11.77")` for 1177 of USD: exact, and with all decimals of the currency."""
    return Decimal(amount_minor).scaleb(-minor_digits(currency))
