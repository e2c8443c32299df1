"""A fragment of HTML as a tree, for fragments that `nh3` has made well-formed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from typing import Final, TypeAlias

from typing_extensions import override

VOID: Final = frozenset({"area", "br", "col", "hr", "img", "input", "wbr"})
RAW: Final = frozenset({"style"})  # what is in them is text as it is

Node: TypeAlias = "Element | str"


@dataclass(slots=True)
class Element:
    """An element, with its attributes in their order."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    def get(self, name: str, otherwise: str = "") -> str:
        return self.attributes.get(name, otherwise)

    @property
    def classes(self) -> list[str]:
        return self.get("class").split()

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self) -> Iterator[Element]:
        """Every element below it, in the order of the document."""
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.all()

    def rewrite(self, change: Callable[[Sequence[Node]], list[Node]]) -> None:
        """Let `change` put other children in place of an element's, the innermost first."""
        for child in self.children:
            if isinstance(child, Element):
                child.rewrite(change)
        self.children = change(self.children)


def parse(html: str) -> Element:
    """The fragment below an element without a tag."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return parser.root


def serialise(node: Node) -> str:
    """HTML again; text and attributes are escaped."""
    if isinstance(node, str):
        return escape(node, quote=False)
    inner = node.text if node.tag in RAW else "".join(serialise(child) for child in node.children)
    if not node.tag:
        return inner
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in node.attributes.items())
    return f"<{node.tag}{attributes}>" if node.tag in VOID else f"<{node.tag}{attributes}>{inner}</{node.tag}>"


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self._open = [self.root]

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    @override
    def handle_endtag(self, tag: str) -> None:
        if len(self._open) > 1 and self._open[-1].tag == tag:
            self._open.pop()

    @override
    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)
