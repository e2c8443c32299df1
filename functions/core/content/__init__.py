"""From what happened to a finished message: facts, then words, then bytes.

`digest` and `reminder` gather what there is to say into one context; `rendering` writes every form of a message from
it; `language` and `catalogue` know how it is said.
"""

from functions.core.content.digest import LISTED, DigestContext, digest_context
from functions.core.content.payload import digest_payload, reminder_payload
from functions.core.content.reminder import ReminderContext, reminder_context
from functions.core.content.rendering import prepare, render_digest, render_reminder, template_ids

__all__ = [
    "LISTED",
    "DigestContext",
    "ReminderContext",
    "digest_context",
    "digest_payload",
    "prepare",
    "reminder_context",
    "reminder_payload",
    "render_digest",
    "render_reminder",
    "template_ids",
]
