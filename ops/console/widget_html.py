"""What a custom widget's function returned, as a page without scripts can show it.

CloudWatch strips what could run, and gives `<cwdb-action>` a meaning: it acts when the element before it is clicked.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_interactivity.html

Here all fields of a widget belong to one form, whatever forms it draws, and an action that calls a function is a button
of that form: so every field goes along, as CloudWatch sends them. An action with a confirmation opens first and says
what it is about to do; one that shows HTML opens that. `dblclick` is a click here, and a popup is a page of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

import nh3

from ops.console.html_tree import Element, Node, parse, serialise

ACTION: Final = "cwdb-action"
CALL_FIELD: Final = "console.call"  # names of our own fields have a dot, those of widgets have none
NOTHING_TO_CALL: Final = "{}"
_YES: Final = "Yes: "  # the answer to the question, before what the button is called
_TEXT: Final = (
    *("a", "abbr", "b", "blockquote", "br", "code", "dd", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("hr", "i", "kbd", "li", "meter", "ol", "p", "pre", "progress", "s", "section", "small", "span", "strong", "sub"),
    *("sup", "time", "u", "ul", "wbr", "details", "summary"),
)
_TABLES: Final = ("caption", "col", "colgroup", "table", "tbody", "td", "tfoot", "th", "thead", "tr")
_FORMS: Final = (
    *("button", "datalist", "fieldset", "form", "input", "label", "legend", "optgroup", "option", "select", "textarea"),
)
_TAGS: Final = {*_TEXT, *_TABLES, *_FORMS, "style", ACTION}
_ATTRIBUTES: Final = {
    "*": {"class", "dir", "id", "lang", "role", "style", "title", "hidden"},
    "a": {"href"},
    "col": {"span"},
    "colgroup": {"span"},
    "td": {"colspan", "headers", "rowspan"},
    "th": {"abbr", "colspan", "headers", "rowspan", "scope"},
    "time": {"datetime"},
    "details": {"open"},
    "label": {"for"},
    "input": {
        *("autocomplete", "checked", "inputmode", "list", "max", "maxlength", "min", "minlength", "name", "pattern"),
        *("placeholder", "readonly", "required", "size", "step", "type", "value"),
    },
    "select": {"multiple", "name", "required", "size"},
    "option": {"label", "selected", "value"},
    "optgroup": {"label"},
    "textarea": {"cols", "maxlength", "name", "placeholder", "required", "rows"},
    "meter": {"high", "low", "max", "min", "optimum", "value"},
    "progress": {"max", "value"},
    ACTION: {"action", "confirmation", "display", "endpoint", "event"},
}
_FIELD_TYPES: Final = frozenset({"", "checkbox", "date", "number", "radio", "search", "text", "time", "hidden"})
_REFERENCES: Final = ("for", "headers", "list", "aria-labelledby", "aria-describedby", "aria-controls")
_OWNED: Final = frozenset({"button", "fieldset", "input", "select", "textarea"})
_PHRASES: Final = frozenset({"a", "abbr", "b", "button", "code", "em", "i", "small", "span", "strong", "time"})
_FIELD_NAME: Final = re.compile(r"^[\w-]{1,64}$")


def as_form_content(html: str, *, form: str, nonce: str) -> str:
    """A widget's HTML, cleaned, with its fields and buttons in a form that stands elsewhere on the page.

    Args:
        html: what the function returned.
        form: id of the form. It goes before every id of the widget, too, since a page holds several.
        nonce: what a `<style>` must carry to be obeyed on this page.
    """
    tree = parse(_clean(html))
    for element in tree.all():
        _settle(element, f"{form}-", nonce)
    tree.rewrite(_with_actions)
    for element in tree.all():
        if element.tag in _OWNED:
            element.attributes["form"] = form
    return serialise(tree)


def _clean(html: str) -> str:
    cleaned: str = nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags={"script"},
        attributes=_ATTRIBUTES,
        generic_attribute_prefixes={"aria-", "data-"},
        url_schemes={"https"},
        link_rel="noopener noreferrer",
    )
    return cleaned


def _settle(element: Element, prefix: str, nonce: str) -> None:
    """Give an element its place on a page that holds other widgets; it does nothing by itself."""
    if "id" in element.attributes:
        element.attributes["id"] = prefix + element.attributes["id"]
    for name in _REFERENCES:
        if name in element.attributes:
            element.attributes[name] = " ".join(prefix + one for one in element.attributes[name].split())
    if element.tag == "style":
        element.attributes = {"nonce": nonce}
    elif element.tag == "button":
        element.attributes["type"] = "button"
    elif element.tag == "a" and not element.get("href").startswith("https://"):
        element.attributes.pop("href", None)
    elif element.tag in {"input", "select", "textarea"} and not _is_a_field(element):
        element.tag, element.attributes, element.children = "span", {}, []


def _is_a_field(element: Element) -> bool:
    return element.get("type").lower() in _FIELD_TYPES and bool(_FIELD_NAME.match(element.get("name")))


# --- actions ----------------------------------------------------------------------------------------------------------


def _with_actions(children: Sequence[Node]) -> list[Node]:
    """The children, with what each action does in place of it and of the element before it."""
    done: list[Node] = []
    for child in children:
        if not isinstance(child, Element) or child.tag != ACTION:
            done.append(child)
            continue
        between: list[Node] = []
        while done and isinstance(done[-1], str) and not done[-1].strip():
            between.append(done.pop())
        before = done.pop() if done and isinstance(done[-1], Element) else None
        done.extend(_acting(before, child))
        done.extend(between)
    return done


def _acting(before: Element | str | None, action: Element) -> list[Node]:
    handle = before if isinstance(before, Element) and before.tag in _PHRASES else Element("span", {}, ["Open"])
    kept = [] if before is None or handle is before else [before]
    if action.get("action") != "call":
        return [*kept, _opening(handle, action.children, "more")]
    question = action.get("confirmation")
    if not question:
        return [*kept, _button(handle, action)]
    attributes = {
        name: f"{_YES}{value}" if name == "aria-label" else value for name, value in handle.attributes.items()
    }
    yes = Element(handle.tag, attributes, [_YES, *handle.children])
    return [*kept, _opening(handle, [Element("p", {}, [question]), _button(yes, action)], "confirmation")]


def _button(handle: Element, action: Element) -> Element:
    call = {
        "endpoint": action.get("endpoint"),
        "params": action.text.strip() or NOTHING_TO_CALL,
        "display": action.get("display", "widget"),
    }
    attributes = {"type": "submit", "name": CALL_FIELD, "value": json.dumps(call), **_looks(handle)}
    return Element("button", attributes, handle.children)


def _opening(handle: Element, inside: Sequence[Node], kind: str) -> Element:
    summary = Element("summary", _looks(handle), list(handle.children))
    return Element("details", {"class": kind}, [summary, Element("div", {"class": "opened"}, list(inside))])


def _looks(handle: Element) -> dict[str, str]:
    """Its classes, and what is told of it; without a class, a button looks like one and the rest like a link."""
    classes = handle.get("class") or ("btn" if handle.tag == "button" else "link")
    if handle.tag == "a" and "btn" not in handle.classes:
        classes = " ".join(dict.fromkeys([*handle.classes, "link"]))
    told = {name: handle.get(name) for name in ("title", "aria-label") if handle.get(name)}
    return {"class": classes, **told}
