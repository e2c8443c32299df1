"""What a customer texted back, and whether it means to be left alone.

START and UNSTOP change nothing: a text proves who holds the phone today, not who agreed to what. Consent is given in
the marketplace, where the person is known.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from functions.core.message import PoisonError

# Letters only, without accents: "opt-out", "Arrêt!" and "STOP ALL" are in here. The English ones are those of the
# carriers and of AWS (https://docs.aws.amazon.com/sms-voice/latest/userguide/opt-out-list-keywords.html).
STOPS: Final = frozenset(
    {"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT", "REMOVE", "STOPP", "ARRET", "BAJA"}
)
# Words that mean it whatever follows ("stop texting me"); "end" or "cancel" may begin a sentence about something else.
_FIRST_WORDS: Final = frozenset({"STOP", "STOPALL", "STOPP", "UNSUBSCRIBE", "OPTOUT", "ARRET"})
STARTS: Final = frozenset({"START", "UNSTOP"})
_NO_LETTERS: Final = re.compile(r"[^A-Z]+")


class Wish(StrEnum):
    """What a text asks for."""

    STOP = "stop"
    START = "start"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class InboundText:
    """A text that came in. `repr` shows neither number nor words."""

    message_id: str
    number: str = field(repr=False)
    text: str = field(repr=False)

    @property
    def wish(self) -> Wish:
        """What it asks for, in any letter case, with any spaces, accents and punctuation."""
        words = [word for word in _NO_LETTERS.split(_plain(self.text)) if word]
        whole = "".join(words)
        if whole in STOPS or (words and words[0] in _FIRST_WORDS):
            return Wish.STOP
        return Wish.START if whole in STARTS else Wish.OTHER


class _Payload(BaseModel):
    """As AWS publishes it: https://docs.aws.amazon.com/sms-voice/latest/userguide/two-way-sms-payload.html."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    number: str = Field(alias="originationNumber", pattern=r"^\+[1-9][0-9]{6,14}$")
    text: str = Field(alias="messageBody", max_length=2000)
    message_id: str = Field(alias="inboundMessageId", pattern=r"^[A-Za-z0-9-]{1,64}$")


def read_inbound_text(body: str) -> InboundText:
    """Read a message of the inbound queue. Raises PoisonError, whose text repeats nothing of it."""
    try:
        read = _Payload.model_validate_json(body)
    except ValidationError as error:
        named = {str(detail["loc"][0]) for detail in error.errors(include_input=False) if detail["loc"]}
        msg = f"not an inbound text: {', '.join(sorted(named)) or 'body'}"
        raise PoisonError(msg) from None
    return InboundText(read.message_id, read.number, read.text)


def _plain(text: str) -> str:
    """Return upper-case letters without their accents."""
    parted = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in parted if not unicodedata.combining(letter)).upper()
