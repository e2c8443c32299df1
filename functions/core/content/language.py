"""How a language writes days, numbers, amounts and lists: CLDR's data, through Babel."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from babel.core import Locale
from babel.dates import format_date, format_interval
from babel.lists import format_list
from babel.numbers import format_currency, format_decimal, get_currency_symbol

from functions.core.money import major_units, minor_digits
from functions.names import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

_DECIMALS: Final = re.compile(r"0\.0+")
_NO_BREAK_SPACE: Final = "\u00a0"


class Language:
    """One of LANGUAGES. Spaces inside what it writes do not break, so that no amount is torn apart."""

    def __init__(self, code: str) -> None:
        self.code: Final = code
        self._locale: Final = Locale.parse(code)

    @property
    def english_name(self) -> str:
        """`German`, for a model that is asked to write in it."""
        return self._locale.english_name or self.code

    def plural_form(self, count: int) -> str:
        """Return CLDR's name of the form that goes with a number: `one`, `many`, `other`."""
        return self._locale.plural_form(count)

    @property
    def plural_forms(self) -> frozenset[str]:
        """All that `plural_form` may return."""
        return frozenset(self._locale.plural_form.tags) | {"other"}

    def number(self, count: int) -> str:
        """`1,204`, `1.204`."""
        return format_decimal(count, locale=self._locale)

    def money(self, amount_minor: int, currency: str) -> str:
        """`$11.77`, `11,77 €`: always with all decimals of the currency, and no more."""
        return format_currency(
            major_units(amount_minor, currency),
            currency,
            format=self._money_pattern(currency),
            locale=self._locale,
            currency_digits=False,  # CLDR's, which drop the cents of some currencies
        )

    def day(self, day: date, pattern: str) -> str:
        """Write a day by a CLDR pattern such as `EEEE, MMMM d`, as the opening of a line."""
        written = format_date(day, pattern, locale=self._locale)
        return written[:1].upper() + written[1:]

    def days(self, first: date, last: date, skeleton: str) -> str:
        """Write a range of days by a CLDR skeleton: `Nov 16 - 22` for MMMd, `11/16 - 11/22` for Md."""
        return format_interval(first, last, skeleton, locale=self._locale)

    def listed(self, items: Sequence[str]) -> str:
        """`$2.50`, `$2.50 and €11.78`."""
        return format_list(items, locale=self._locale)

    def _money_pattern(self, currency: str) -> str:
        digits = minor_digits(currency)
        pattern: str = self._locale.currency_formats["standard"].pattern
        pattern = _DECIMALS.sub("0." + "0" * digits if digits else "0", pattern)
        # CLDR puts a space between a digit and a symbol that ends in a letter (`CHF 5.00`), and Babel leaves it out.
        if get_currency_symbol(currency, locale=self._locale)[-1:].isalpha():
            pattern = pattern.replace("¤#", f"¤{_NO_BREAK_SPACE}#")
        return pattern


def language_of(locale: str) -> Language:
    """Return the language to write to somebody in: `de` for `de-AT`, English for what is not among LANGUAGES."""
    code = re.split("[-_]", locale.strip().lower(), maxsplit=1)[0]
    return _language(code if code in LANGUAGES else LANGUAGES[0])


@lru_cache(maxsize=len(LANGUAGES))
def _language(code: str) -> Language:
    return Language(code)
