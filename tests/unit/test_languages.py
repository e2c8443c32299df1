"""Every language says everything, in its own forms, with every amount whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from string import Formatter

import pytest
from babel.core import Locale
from hypothesis import given
from hypothesis import strategies as st

from functions.core import content
from functions.core.content.catalogue import Catalogue
from functions.core.content.language import language_of
from functions.core.money import CURRENCIES, major_units, minor_digits
from functions.core.planning import DIGEST_TEMPLATE, REMINDER_TEMPLATE
from functions.core.text_segments import Encoding, fit, size_of
from functions.names import LANGUAGES

TEMPLATES = Path(content.__file__).parents[1] / "templates"
VERSIONS = (DIGEST_TEMPLATE, REMINDER_TEMPLATE)
Messages = Mapping[str, str | Mapping[str, str]]
NBSP, NARROW = "\u00a0", "\u202f"


def messages(version: str, language: str) -> Messages:
    read: Messages = json.loads((TEMPLATES / version / f"{language}.json").read_text(encoding="utf-8"))
    return read


def names_in(message: str | Mapping[str, str]) -> set[str]:
    texts = [message] if isinstance(message, str) else message.values()
    return {name for text in texts for _, name, _, _ in Formatter().parse(text) if name is not None}


# --- catalogues -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_there_is_a_catalogue_for_every_language_and_no_other(version: str) -> None:
    assert {path.stem for path in (TEMPLATES / version).glob("*.json")} == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_language_says_everything_that_english_says_with_the_same_values(version: str, language: str) -> None:
    here, english = messages(version, language), messages(version, "en")
    assert here.keys() == english.keys()
    assert {key: names_in(text) for key, text in here.items()} == {key: names_in(text) for key, text in english.items()}
    assert all(text for text in here.values())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_counts_has_exactly_the_plural_forms_of_its_language(version: str, language: str) -> None:
    for key, message in messages(version, language).items():
        if not isinstance(message, str):
            assert message.keys() == language_of(language).plural_forms, key


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_word_of_ours_makes_a_text_message_cost_double(language: str) -> None:
    for key in ("text_message", "order_for", "order", "price_drop", "message"):
        message = messages(DIGEST_TEMPLATE, language)[key]
        for text in [message] if isinstance(message, str) else message.values():
            assert size_of(fit(text, segments=9)).encoding is Encoding.GSM_7, key
    subject = messages(REMINDER_TEMPLATE, language)["subject"]
    assert size_of(fit(str(subject), segments=9)).encoding is Encoding.GSM_7


@pytest.mark.parametrize(
    ("language", "count", "said"),
    [
        ("en", 0, "0 orders"),
        ("en", 1, "1 order"),
        ("en", 1204, "1,204 orders"),
        ("de", 1, "1 Bestellung"),
        ("de", 1204, "1.204 Bestellungen"),
        ("fr", 0, "0 commande"),
        ("fr", 1, "1 commande"),
        ("fr", 2, "2 commandes"),
        ("fr", 1_000_000, f"1{NARROW}000{NARROW}000 de commandes"),
        ("es", 1, "1 pedido"),
        ("es", 0, "0 pedidos"),
        ("es", 1_000_000, "1.000.000 de pedidos"),
    ],
)
def test_a_number_and_its_noun_agree(language: str, count: int, said: str) -> None:
    catalogue = Catalogue(language_of(language), messages(DIGEST_TEMPLATE, language))
    assert catalogue.say("order", count) == said


def test_a_message_that_is_missing_or_lacks_a_value_fails_instead_of_leaving_a_hole() -> None:
    catalogue = Catalogue(language_of("en"), {"order": {"one": "{count} order"}, "spent": "You spent {spent}."})
    for key, count in (("absent", None), ("spent", None), ("order", None), ("order", 2)):
        with pytest.raises(KeyError):
            catalogue.say(key, count)


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ("en", "en"),
        ("de", "de"),
        ("de-AT", "de"),
        ("de_CH", "de"),
        ("FR", "fr"),
        ("fr-Latn-CA", "fr"),
        ("es-419", "es"),
        ("ja", "en"),
        ("pt-BR", "en"),
        ("", "en"),
        ("../../etc", "en"),
        ("german", "en"),
    ],
)
def test_a_locale_that_is_not_ours_falls_back_to_its_language_and_then_to_english(locale: str, language: str) -> None:
    assert language_of(locale).code == language


# --- money ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "minor", "currency", "written"),
    [
        ("en", 0, "USD", "$0.00"),
        ("en", 5, "USD", "$0.05"),
        ("en", 123_456_789, "USD", "$1,234,567.89"),
        ("en", -250, "USD", "-$2.50"),
        ("en", 1234, "JPY", "\u00a51,234"),
        ("en", 1234, "KWD", f"KWD{NBSP}1.234"),
        ("en", 500, "CHF", f"CHF{NBSP}5.00"),
        ("en", 500, "CAD", "CA$5.00"),
        ("de", 123_450, "EUR", f"1.234,50{NBSP}\u20ac"),
        ("de", 1000, "KWD", f"1,000{NBSP}KWD"),
        ("fr", 123_450, "EUR", f"1{NARROW}234,50{NBSP}\u20ac"),
        ("fr", 123_450, "USD", f"1{NARROW}234,50{NBSP}$US"),
        ("es", 1_234_550, "EUR", f"12.345,50{NBSP}\u20ac"),
        ("es", 123, "JPY", f"123{NBSP}JPY"),
        ("en", 12_345, "IQD", f"IQD{NBSP}12.345"),  # CLDR would drop the fils, and the sum with them
        ("en", 12_345, "HUF", f"HUF{NBSP}123.45"),
    ],
)
def test_money_is_written_as_the_language_does_with_every_decimal_of_the_currency(
    language: str, minor: int, currency: str, written: str
) -> None:
    assert language_of(language).money(minor, currency) == written


@given(
    minor=st.integers(-(10**15), 10**15),
    currency=st.sampled_from(sorted(CURRENCIES)),
    language=st.sampled_from(LANGUAGES),
)
def test_no_amount_loses_or_gains_a_digit_or_breaks_at_the_end_of_a_line(
    minor: int, currency: str, language: str
) -> None:
    written = language_of(language).money(minor, currency)
    digits = "".join(character for character in written if character.isdigit())
    assert digits == str(abs(minor)).rjust(minor_digits(currency) + 1, "0")
    assert ("-" in written) is (minor < 0)
    assert " " not in written


@pytest.mark.parametrize(
    ("minor", "currency", "amount"),
    [(1177, "USD", "11.77"), (5, "JPY", "5"), (5, "KWD", "0.005"), (-10, "EUR", "-0.10")],
)
def test_minor_units_are_counted_off_exactly(minor: int, currency: str, amount: str) -> None:
    assert major_units(minor, currency) == Decimal(amount)
    assert str(major_units(minor, currency)) == amount


def test_every_currency_of_ours_has_a_name() -> None:
    assert Locale.parse("en").currencies.keys() >= CURRENCIES
    assert all(len(code) == 3 for code in CURRENCIES)
    assert {code for code in CURRENCIES if minor_digits(code) == 3} == {"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"}


# --- days -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "day", "days", "numbers"),
    [
        ("en", "Monday, December 28", "Dec 28\u2009\u2013\u2009Jan 3", "12/28\u2009\u2013\u20091/3"),
        ("de", "Montag, 28. Dezember", "28. Dez.\u2009\u2013\u20093. Jan.", "28.12.\u2009\u2013\u200903.01."),
        ("fr", "Lundi 28 d\u00e9cembre", "28 d\u00e9c.\u2009\u2013\u20093 janv.", "28/12\u2009\u2013\u200903/01"),
        ("es", "Lunes, 28 de diciembre", "28 dic\u2009\u2013\u20093 ene", "28/12\u2009\u2013\u20093/1"),
    ],
)
def test_days_are_written_as_the_language_does(language: str, day: str, days: str, numbers: str) -> None:
    monday, known = date(2026, 12, 28), language_of(language)
    assert known.day(monday, str(messages(DIGEST_TEMPLATE, language)["day"])) == day
    assert known.days(monday, monday + timedelta(days=6), "MMMd") == days
    assert known.days(monday, monday + timedelta(days=6), "Md") == numbers


@pytest.mark.parametrize(
    ("language", "listed"), [("en", "a, b, and c"), ("de", "a, b und c"), ("fr", "a, b et c"), ("es", "a, b y c")]
)
def test_lists_end_in_an_and(language: str, listed: str) -> None:
    assert language_of(language).listed(["a", "b", "c"]) == listed
    assert language_of(language).listed(["a"]) == "a"
