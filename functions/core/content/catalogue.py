"""The words of one template in one language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from functions.core.content.language import Language


class Catalogue:
    """Messages by key; one that counts has a text for each plural form of its language.

    ```
    {"see_all": "See all of it", "order": {"one": "{count} order", "other": "{count} orders"}}
    ```
    A text names what is put into it in braces. It holds no markup: what is put into it is somebody else's words, so the
    template that it ends up in has to be able to escape it as a whole.
    """

    def __init__(self, language: Language, messages: Mapping[str, str | Mapping[str, str]]) -> None:
        self.language = language
        self._messages = messages

    def say(self, key: str, count: int | None = None, **values: str) -> str:
        """Return a message, with `count` in the right form and written out.

        Raises KeyError for a message that is not there, and for a value that it needs and was not given.
        """
        message = self._messages[key]
        if isinstance(message, str):
            return message.format_map(values)
        if count is None:
            raise KeyError(f"{key} counts something")
        text = message[self.language.plural_form(count)]
        return text.format_map({**values, "count": self.language.number(count)})
