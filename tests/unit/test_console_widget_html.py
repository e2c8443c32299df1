"""Widgets' HTML on a page without scripts: actions become buttons, and nothing that could run is left."""

from __future__ import annotations

import json
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.console.html_tree import parse
from ops.console.widget_html import CALL_FIELD, as_form_content

ARN = "arn:aws:lambda:us-east-1:000000000000:function:operate"


def shown(html: str) -> str:
    return as_form_content(html, form="w1", nonce="n0nce")


def calls(html: str) -> list[dict[str, str]]:
    buttons = [one for one in parse(html).all() if one.tag == "button" and one.get("name") == CALL_FIELD]
    return [json.loads(one.get("value")) for one in buttons]


def test_a_call_is_a_button_in_place_of_the_element_before_it() -> None:
    html = shown(
        f'<a class="btn btn-primary">Show</a>\n'
        f'<cwdb-action action="call" endpoint="{ARN}" display="popup">{{"id": "digest:c-1"}}</cwdb-action>'
    )
    assert html.startswith(f'<button type="submit" name="{CALL_FIELD}"')
    assert 'class="btn btn-primary" form="w1">Show</button>' in html
    assert calls(html) == [{"endpoint": ARN, "params": '{"id": "digest:c-1"}', "display": "popup"}]


def test_a_call_says_what_it_is_about_to_do_before_there_is_a_button_to_do_it() -> None:
    html = shown(
        f'<button class="btn" aria-label="Pause: email">Pause</button>'
        f'<cwdb-action action="call" endpoint="{ARN}" confirmation="Pause email for &quot;us&quot;?">{{}}</cwdb-action>'
    )
    opening = parse(html).children[0]
    assert not isinstance(opening, str)
    assert (opening.tag, opening.get("class")) == ("details", "confirmation")
    assert [one.text for one in opening.all() if one.tag == "p"] == ['Pause email for "us"?']
    told = [(one.text, one.get("aria-label")) for one in opening.all() if one.tag in {"summary", "button"}]
    assert told == [("Pause", "Pause: email"), ("Yes: Pause", "Yes: Pause: email")]
    assert html.index("</summary>") < html.index(CALL_FIELD)


def test_html_of_an_action_opens_in_its_place() -> None:
    html = shown('<a>Why</a><cwdb-action display="popup" event="mouseenter"><b>Because</b></cwdb-action>')
    assert html == (
        '<details class="more"><summary class="link">Why</summary><div class="opened"><b>Because</b></div></details>'
    )


def test_an_action_within_what_another_one_shows_is_kept() -> None:
    inner = f'<a>Do it</a><cwdb-action action="call" endpoint="{ARN}">{{"a": 1}}</cwdb-action>'
    assert [one["params"] for one in calls(shown(f"<a>More</a><cwdb-action>{inner}</cwdb-action>"))] == ['{"a": 1}']


def test_an_action_that_follows_a_block_leaves_it_and_opens_beside_it() -> None:
    html = shown(f'<div>Ten rows</div><cwdb-action action="call" endpoint="{ARN}">{{}}</cwdb-action>')
    assert html.startswith("<div>Ten rows</div><button")
    assert html.endswith(">Open</button>")


def test_fields_keep_their_names_and_belong_to_the_widgets_form() -> None:
    html = shown('<form action="https://evil.example"><label for="id">Id</label><input id="id" name="id"></form>')
    assert html == '<form><label for="w1-id">Id</label><input id="w1-id" name="id" form="w1"></form>'


def test_a_style_is_obeyed_and_stays_as_it_is() -> None:
    assert shown("<style>.digest > td { color: red }</style>") == (
        '<style nonce="n0nce">.digest > td { color: red }</style>'
    )


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<a href="javascript:alert(1)" onclick="alert(1)">x</a>',
        '<iframe src="https://evil.example"></iframe>',
        '<svg><use href="data:image/svg+xml,x"></use><script>alert(1)</script></svg>',
        '<button formaction="https://evil.example">x</button>',
        '<input type="submit" name="go" formaction="https://evil.example">',
        '<input type="password" name="secret">',
        '<input name="console.token" value="guess">',
        '<base href="https://evil.example"><meta http-equiv="refresh" content="0;url=https://evil.example">',
        '<object data="x"></object><embed src="x"><link rel="stylesheet" href="https://evil.example">',
        "<style></style><script>alert(1)</script></style>",
        '<a href="http://evil.example">x</a><form id="f"></form><input form="f" name="a">',
        '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    ],
)
def test_what_could_run_or_leave_the_page_is_gone(hostile: str) -> None:
    allowed = {"a", "button", "span", "form", "style", "input", "table"}
    for one in parse(shown(hostile)).all():
        assert one.tag in allowed
        assert not [name for name in one.attributes if name.startswith("on") or name in {"action", "formaction", "src"}]
        assert one.get("form") in {"", "w1"}
        assert one.get("href") == ""
        assert one.get("name") in {"", "a"}


NASTY = st.sampled_from(
    ["<script>", '"><cwdb-action action="call">', "</cwdb-action>", "&quot;", "<b", "'", "{", "é", "</details>", "-->"]
)


@given(st.lists(NASTY, max_size=6).map("".join))
def test_a_value_that_was_escaped_stays_a_value(value: str) -> None:
    from html import escape  # noqa: PLC0415

    html = shown(
        f"<a>Show {escape(value)}</a>"
        f'<cwdb-action action="call" endpoint="{ARN}">{escape(json.dumps({"id": value}))}</cwdb-action>'
    )
    (call,) = calls(html)
    assert json.loads(call["params"]) == {"id": value}
    assert call["endpoint"] == ARN
    assert f"Show {value}" in unescape(html)
