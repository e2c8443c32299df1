"""From a context to a finished message. The template's version travels in the delivery.

A template is a folder, `templates/<template_id>`: one file for each form, one catalogue for each language. What has
been released is not changed any more: a row that was planned with it may be sent by the next release, and a retry has
to send the bytes of the first attempt.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from functions.core.content.catalogue import Catalogue
from functions.core.content.language import language_of
from functions.core.content.safety import one_line
from functions.core.customer import ActivityKind
from functions.core.envelope import EmailEnvelope, TextEnvelope
from functions.core.identity import Channel
from functions.core.text_segments import SMS_SEGMENTS, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jinja2 import Environment

    from functions.core.content.digest import DigestContext
    from functions.core.content.reminder import ReminderContext
    from functions.core.envelope import Envelope


def render_digest(
    context: DigestContext,
    *,
    template_id: str,
    channel: Channel,
    to: str,
    sender: str,
    sms_segments: int = SMS_SEGMENTS,
) -> Envelope:
    """Render a digest for one channel.

    Raises jinja2.TemplateNotFound for a version that this release does not have.
    """
    template = _template(template_id, context.language.code)
    values = {"digest": context, "counts": _counts(template.say, context)}
    if channel is Channel.SMS:
        values["counts"] = _counts_with_money(template.say, context)
        return TextEnvelope(to=to, sender=sender, body=template.text_message(values, segments=sms_segments))
    return template.email(values, to=to, sender=sender)


def render_reminder(
    context: ReminderContext,
    *,
    template_id: str,
    channel: Channel,
    to: str,
    sender: str,
    sms_segments: int = SMS_SEGMENTS,
) -> Envelope:
    """Render a reminder for one channel. Raises as `render_digest` does."""
    template = _template(template_id, context.language.code)
    values = {"reminder": context}
    if channel is Channel.SMS:
        return TextEnvelope(to=to, sender=sender, body=template.text_message(values, segments=sms_segments))
    return template.email(values, to=to, sender=sender)


def template_ids() -> tuple[str, ...]:
    """Return every version of every template that this release has."""
    subjects = [name for name in _environment().list_templates() if name.endswith("/subject.txt.j2")]
    return tuple(name.partition("/")[0] for name in subjects)


def prepare(channel: Channel) -> None:
    """Compile a channel's forms and read every language, so that a cold start's first message need not wait for it."""
    if channel is Channel.WEBHOOK:
        return  # its payloads have no words of ours
    for name in _environment().list_templates():
        template_id, _, file = name.partition("/")
        stem, _, kind = file.partition(".")
        if kind == "json":
            _template(template_id, stem)
        elif (stem == "sms") is (channel is Channel.SMS):
            _environment().get_template(name)


@dataclass(frozen=True, slots=True)
class Template:
    """One version of a template in one language."""

    template_id: str
    catalogue: Catalogue

    @property
    def say(self) -> Callable[..., str]:
        """The words of its catalogue."""
        return self.catalogue.say

    def email(self, values: Mapping[str, object], *, to: str, sender: str) -> EmailEnvelope:
        """Write an email in its three forms: subject, HTML and plain text."""
        return EmailEnvelope(
            to=to,
            sender=sender,
            subject=one_line(self._form("subject.txt.j2", values)),
            html=self._form("body.html.j2", values),
            text=self._form("body.txt.j2", values),
        )

    def text_message(self, values: Mapping[str, object], *, segments: int) -> str:
        """Write a text message of so many segments at most. The last line of its form is a link, which stays whole."""
        text, _, link = self._form("sms.txt.j2", values).rpartition("\n")
        return fit(one_line(text), link=link, segments=segments)

    def _form(self, name: str, values: Mapping[str, object]) -> str:
        form = _environment().get_template(f"{self.template_id}/{name}")
        return form.render(values, say=self.say, language=self.catalogue.language).strip()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    # Imported here, so that the webhooks' function, which has no words of ours, starts without it.
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape  # noqa: PLC0415

    return Environment(
        loader=PackageLoader("functions.core", "templates"),
        autoescape=select_autoescape(enabled_extensions=("html.j2",), default_for_string=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


@lru_cache(maxsize=64)
def _template(template_id: str, language: str) -> Template:
    environment = _environment()
    if environment.loader is None:
        raise TypeError("the environment has a loader")
    source, _, _ = environment.loader.get_source(environment, f"{template_id}/{language}.json")
    return Template(template_id, Catalogue(language_of(language), json.loads(source)))


def _counts(say: Callable[..., str], context: DigestContext) -> list[str]:
    """`2 orders`, `1 message`."""
    return [say(str(kind), count) for kind, count in context.counts]


def _counts_with_money(say: Callable[..., str], context: DigestContext) -> list[str]:
    """`2 orders for $11.77`, `1 message`."""
    if context.spent is None:
        return _counts(say, context)
    return [
        say("order_for", count, spent=context.spent) if kind is ActivityKind.ORDER else say(str(kind), count)
        for kind, count in context.counts
    ]
