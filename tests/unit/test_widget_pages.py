"""A widget's page: whatever is put into it stays what it is, and a button sends back what it was given."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.delivery import Status
from functions.core.traffic import Gate
from functions.core.widgets.marks import mark_of_gate, mark_of_row
from functions.core.widgets.page import Looks, Notice, Press, code, render
from functions.core.widgets.request import LONGEST, MOST, Theme, WidgetFaultError, WidgetRequest
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import a_delivery, an_exhausted_delivery
from tests.fakes.widget_page import Page

HOSTILE: Final = (
    "<script>alert(1)</script>",
    '"><cwdb-action action="call" endpoint="x">{}</cwdb-action>',
    "</cwdb-action><b>",
    "</style><script>",
    "`<b>` and `",
    "\\u003c{{ 7 * 7 }}{% raw %}",
    "' onmouseover=alert(1) '",
)
TEXTS: Final = st.one_of(st.text(max_size=60), st.sampled_from(HOSTILE))
ANYTHING: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def a_page(press: Press, text: str = "", typed: str = "", notice: str | None = None) -> Page:
    """The channels' page, with these texts wherever one may stand."""
    channel: dict[str, Any] = {"name": text, "gate": text, "open": False, "rate": text, "on_the_way": text}
    looks = Looks(Theme.DARK, None if notice is None else Notice(notice), {"reason": typed})
    return Page(
        render(
            "channels",
            looks,
            now=SUNDAY_EVENING,
            data_region=text,
            stopped=[text],
            channels=[channel | {"waiting": text, "press": press, "waits": press}],
            actions=[],
            again=press,
        )
    )


PLAIN: Final = a_page(Press("a", "arn", {"b": "c"}, "Sure?", "d"), "e", "f", "g")


@given(label=TEXTS, about=TEXTS, params=st.dictionaries(TEXTS, TEXTS, max_size=4), question=TEXTS)
def test_a_button_asks_and_sends_exactly_what_it_was_given(
    label: str, about: str, params: dict[str, str], question: str
) -> None:
    page = a_page(Press(label, "arn:aws:lambda:us-east-1:1:function:x", params, question or "?", about or "?"))
    press = page.presses[0]
    assert press.params == params
    assert press.endpoint == "arn:aws:lambda:us-east-1:1:function:x"
    assert same(press.confirmation, question or "?")
    assert same(press.label, label)


@given(text=TEXTS, typed=TEXTS, notice=TEXTS)
def test_no_text_adds_an_element_to_a_page(text: str, typed: str, notice: str) -> None:
    page = a_page(Press(text or "a", "arn", {"b": text}, text or "?", text or "?"), text, typed, notice)
    without_code = [tag for tag, _ in page.elements if tag != "code"]
    assert without_code == [tag for tag, _ in PLAIN.elements]
    assert same(page.fields["reason"], typed)
    assert all(set(attributes) <= KNOWN for _, attributes in page.elements)


KNOWN: Final = {
    *("class", "role", "type", "name", "value", "size", "maxlength", "placeholder", "autocomplete", "spellcheck"),
    *("scope", "aria-label", "action", "display", "endpoint", "confirmation"),
}


def same(shown: str | None, given_text: str) -> bool:
    """Equal, as a parser reads line ends."""
    normal = given_text.replace("\r\n", "\n").replace("\r", "\n")
    return shown is not None and shown.replace("\r\n", "\n").replace("\r", "\n") == normal


@given(event=ANYTHING)
def test_whatever_arrives_is_read_as_a_few_short_texts(event: object) -> None:
    request = WidgetRequest.of(event)
    for held in (request.params, request.forms):
        assert len(held) <= MOST
        assert all(len(value) <= LONGEST for value in held.values())


@given(context=ANYTHING, forms=ANYTHING, theme=ANYTHING)
def test_whatever_the_context_is_the_parameters_are_read(context: object, forms: object, theme: object) -> None:
    nested = {"theme": theme, "forms": {"all": forms}}
    for widget_context in (context, nested, nested | {"forms": forms}):
        request = WidgetRequest.of({"widget": "due", "widgetContext": widget_context})
        assert request.params == {"widget": "due"}
        assert request.theme in set(Theme)


def test_a_parameter_goes_before_what_was_typed_also_where_it_is_empty() -> None:
    event = {"delivery_id": "", "widgetContext": {"forms": {"all": {"delivery_id": "typed", "reason": "  why "}}}}
    request = WidgetRequest.of(event)
    assert request.text("delivery_id") is None
    assert request.text("reason") == "why"
    with pytest.raises(WidgetFaultError, match="period: give a Monday"):
        request.needed("period", "give a Monday")


def test_what_was_typed_is_in_no_text_about_a_request() -> None:
    event = {"widgetContext": {"forms": {"all": {"reason": "canary"}}}}
    assert "canary" not in repr(WidgetRequest.of(event))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("run `digest due` now", "run <code>digest due</code> now"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("one ` alone", "one ` alone"),
        ("`a` and ` alone", "<code>a</code> and ` alone"),
        ("x" * 300, "x" * 199 + "\N{HORIZONTAL ELLIPSIS}"),
    ],
)
def test_what_stands_between_backticks_is_code(text: str, shown: str) -> None:
    assert str(code(text)) == shown


def test_a_row_s_mark_changes_with_whatever_decides_about_it() -> None:
    rows = [
        a_delivery(),
        a_delivery(status=Status.QUEUED),
        an_exhausted_delivery(),
        a_delivery(status=Status.UNCERTAIN, attempt=1),
        a_delivery(status=Status.UNCERTAIN, attempt=1, in_doubt_since=SUNDAY_EVENING),
        a_delivery(status=Status.UNCERTAIN, attempt=2, in_doubt_since=SUNDAY_EVENING),
    ]
    assert len({mark_of_row(row) for row in rows}) == len(rows)
    gates = [
        Gate(),
        Gate(halted_at=SUNDAY_EVENING),
        Gate(closed_until=SUNDAY_EVENING),
        Gate(halted_at=SUNDAY_EVENING + timedelta(seconds=1)),
    ]
    assert len({mark_of_gate(gate) for gate in gates}) == len(gates)
