"""A reminder as it is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from functions.core.content.language import Language, language_of
from functions.core.content.safety import link, one_line

if TYPE_CHECKING:
    from functions.core.customer import Profile, ReminderSchedule


@dataclass(frozen=True, slots=True)
class ReminderContext:
    """What every form of a reminder is rendered from."""

    language: Language
    subject: str = field(repr=False)
    site_url: str
    unsubscribe_url: str | None = field(default=None, repr=False)  # holds a token


def reminder_context(
    reminder: ReminderSchedule, *, profile: Profile, site_url: str, unsubscribe_url: str | None = None
) -> ReminderContext:
    """Gather what a reminder says. Raises UnsafeLinkError."""
    return ReminderContext(
        language=language_of(profile.locale),
        subject=one_line(reminder.subject),
        site_url=link(site_url, field="site_url"),
        unsubscribe_url=None if unsubscribe_url is None else link(unsubscribe_url, field="unsubscribe_url"),
    )
