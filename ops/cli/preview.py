"""`digest preview`: the message that a customer would get now."""

from __future__ import annotations

import json
import os
import re
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from functions.core.answers import SKIPPED_BECAUSE, why_not
from functions.core.delivery import Status
from functions.core.envelope import EmailEnvelope, Envelope, TextEnvelope, WebhookEnvelope
from functions.core.identity import Channel, InvalidIdError, opaque_id
from functions.core.text_segments import Encoding, size_of
from functions.core.wording import count_of, utc
from functions.names import LANGUAGES
from ops.cli.output import FAILED, masked, moment, out, print_json, say
from ops.cli.previews import Preview, Wanted, preview_customer, preview_sample, versions_of
from ops.cli.summaries import summary_as_json, summary_in_words
from ops.cli.workplace import JsonOption, PeriodOption, RegionOption, monday_named, workplace_of
from ops.deployment import DeploymentError

_UNITS: Final = {Encoding.GSM_7: "septets", Encoding.UCS_2: "16-bit units"}
_NAMES: Final = {Encoding.GSM_7: "GSM-7", Encoding.UCS_2: "UCS-2"}
_FORMS: Final = {".html": "html", ".htm": "html", ".txt": "text"}
_ONLY_MINE: Final = 0o600  # it holds what somebody bought


def preview(  # noqa: PLR0913, PLR0917 - one for each option
    context: typer.Context,
    customer: Annotated[
        str | None, typer.Option("--customer", metavar="ID", help="Whose message.", show_default=False)
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", metavar="", help="An invented customer; needs no deployment.")
    ] = False,
    locale: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGE", help=f"Language of the sample: {', '.join(LANGUAGES)}.", show_default=False),
    ] = None,
    channel: Annotated[Channel, typer.Option("--channel", help="Which message.")] = Channel.EMAIL,
    period: PeriodOption = None,
    reminder: Annotated[
        str | None,
        typer.Option("--reminder", metavar="EVENT_ID", help="A reminder instead of the digest.", show_default=False),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--template",
            metavar="NAME",
            help="Another version of the template, such as weekly-digest-v1.",
            show_default=False,
        ),
    ] = None,
    to_file: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write it to FILE.html or FILE.txt, byte for byte.", show_default=False
        ),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", metavar="", help="Show it in a browser.")] = False,
    region: RegionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what would be sent now: the same code, rows and settings as the send, and nothing is sent.

    Consent, suppression and the week are looked at as they are now. Where nothing would be sent the reason is told, and
    the exit status is 1. What is printed hides addresses, and the token in the link to unsubscribe; a file holds the
    message itself.

    For example:

    - `digest preview --customer c-10428 --open`
    - `digest preview --customer c-10428 --channel sms --period 2026-11-16`
    - `digest preview --sample --locale de --out digest.html`
    """
    if sample is (customer is not None):
        raise typer.BadParameter("name a customer with --customer, or take the --sample", param_hint="--customer")
    if locale is not None and not sample:
        raise typer.BadParameter(
            "goes with --sample only; a customer is written to in their own", param_hint="--locale"
        )
    if locale is not None and locale not in LANGUAGES:
        raise typer.BadParameter(f"must be one of {', '.join(LANGUAGES)}", param_hint="--locale")
    form = _form(to_file, channel)
    wanted = _wanted(channel, period, reminder, template)
    workplace = workplace_of(context)
    now = workplace.clock()
    if customer is None:
        shown = preview_sample(locale or LANGUAGES[0], wanted, now=now)
    else:
        shown = preview_customer(workplace.deployment.only(region), _id(customer, "--customer"), wanted, now=now)
    if to_file is not None and shown.envelope is not None:
        _write(to_file, _bodies(shown)[form])
    if open_it and shown.envelope is not None:
        _open(shown)
    if as_json:
        print_json(_as_json(shown))
    else:
        _tell(shown, to_file, opened=open_it)
    if shown.envelope is None:
        raise typer.Exit(FAILED)


def _wanted(channel: Channel, period: str | None, reminder: str | None, template: str | None) -> Wanted:
    if period is not None and reminder is not None:
        raise typer.BadParameter("goes with a digest; a reminder has no week", param_hint="--period")
    monday = None if period is None else monday_named(period)
    wanted = Wanted(channel, monday, None if reminder is None else _id(reminder, "--reminder"), template)
    known = versions_of(wanted.topic)
    if template is not None and template not in known:
        raise typer.BadParameter(
            f"must be a {wanted.topic} of this release: {', '.join(known)}", param_hint="--template"
        )
    return wanted


def _id(text: str, option: str) -> str:
    try:
        return opaque_id(text, field=option.removeprefix("--"))
    except InvalidIdError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _form(file: Path | None, channel: Channel) -> str:
    form = "text" if file is None else _FORMS.get(file.suffix.lower())
    if form is None or (form == "html" and channel is not Channel.EMAIL):
        endings = ".html or .txt" if channel is Channel.EMAIL else ".txt"
        raise typer.BadParameter(f"must end in {endings}", param_hint="--out")
    return form


# --- files ------------------------------------------------------------------------------------------------------------


def _bodies(shown: Preview) -> dict[str, str]:
    if isinstance(shown.envelope, EmailEnvelope):
        return {"html": shown.envelope.html, "text": shown.envelope.text}
    return {} if shown.envelope is None else {"text": shown.envelope.body}


def _write(file: Path, body: str) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _ONLY_MINE)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as opened:
            opened.write(body)
    except OSError as error:
        raise DeploymentError(f"--out: cannot write {file} ({error.strerror})") from None


def _open(shown: Preview) -> None:
    """Show the message in a browser, from a file that stays: the browser reads it later."""
    form, body = next(iter(_bodies(shown).items()))
    suffix = ".html" if form == "html" else ".txt"
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="", prefix="digest-preview-", suffix=suffix, delete=False
    ) as file:
        file.write(body)
    if not webbrowser.open(Path(file.name).as_uri()):
        raise DeploymentError("--open: there is no browser here; write the message with --out FILE instead")


# --- for machines -----------------------------------------------------------------------------------------------------


def _as_json(shown: Preview) -> dict[str, Any]:
    envelope = shown.envelope
    answer: dict[str, Any] = {
        "delivery_id": str(shown.delivery.delivery_id),
        "data_region": shown.data_region,
        "template_id": shown.delivery.template_id,
        "language": shown.language,
        "would_be_sent": envelope is not None,
        "reason": None if shown.reason is None else str(shown.reason),
        "not_before": moment(shown.waits_until),
    }
    if envelope is not None:
        answer["to"] = masked(shown.delivery.delivery_id.channel, envelope.to)
        answer["from"] = sender_of(envelope)
    if isinstance(envelope, EmailEnvelope):
        hidden = _without_token(envelope)
        answer |= {
            "subject": envelope.subject,
            "headers": dict(hidden.headers),
            "text": hidden.text,
            "html": hidden.html,
            "summary": None if shown.summary is None else summary_as_json(shown.summary),
            "summary_to_come": shown.summary_to_come,
        }
    elif isinstance(envelope, WebhookEnvelope):
        answer["body"] = json.loads(envelope.body)
    elif isinstance(envelope, TextEnvelope):
        size = size_of(envelope.body)
        answer |= {"body": envelope.body, "encoding": _NAMES[size.encoding], "segments": size.segments}
    return answer


# --- for people -------------------------------------------------------------------------------------------------------


def _tell(shown: Preview, file: Path | None, *, opened: bool) -> None:
    where = "a sample" if shown.data_region is None else f"{shown.delivery.delivery_id} in {shown.data_region}"
    if shown.reason is not None:
        say(
            f"{where}: nothing would be sent now, it would be skipped ({shown.reason}): {SKIPPED_BECAUSE[shown.reason]}"
        )
        return
    say(f"{where}: {shown.delivery.template_id}, in {shown.language}")
    if (note := _note(shown)) is not None:
        say(f"  {note}")
    for name, fact in _facts(shown):
        say(f"  {name:<8} {fact}")
    if file is not None:
        say(f"  Written  {file}")
    if file is None and not opened:
        out().print()
        say(_printable(shown))


def _note(shown: Preview) -> str | None:
    if shown.delivery.status is Status.ACCEPTED and shown.delivery.accepted_at is not None:
        return f"Sent already, accepted {utc(shown.delivery.accepted_at)}: this is what it would be today"
    if shown.delivery.status in {Status.SKIPPED, Status.EXPIRED}:
        return f"Never to be sent: {why_not(shown.delivery)}"
    if shown.waits_until is not None:
        webhook = shown.delivery.delivery_id.channel is Channel.WEBHOOK
        why = "the endpoint failed again and again" if webhook else "these are the customer's quiet hours"
        return f"Not before {utc(shown.waits_until)}: {why}"
    return None


def _facts(shown: Preview) -> list[tuple[str, str]]:
    envelope = shown.envelope
    if envelope is None:
        return []
    facts = [
        ("To", masked(shown.delivery.delivery_id.channel, envelope.to)),
        ("From", sender_of(envelope) or "the signature says"),
    ]
    if isinstance(envelope, EmailEnvelope):
        size = f"{len(envelope.html.encode()) / 1024:.0f} KB of HTML, and the text"
        return [*facts, ("Subject", envelope.subject), ("Size", size), *_summary(shown)]
    if isinstance(envelope, WebhookEnvelope):
        return [*facts, ("Length", f"{len(envelope.body.encode()):,} bytes of JSON")]
    return [*facts, ("Length", _length(envelope.body))]


def _summary(shown: Preview) -> list[tuple[str, str]]:
    if shown.summary is not None:
        return [("Summary", summary_in_words(shown.summary))]
    return (
        [("Summary", "none so far: a model is asked right before the first attempt")] if shown.summary_to_come else []
    )


def sender_of(envelope: Envelope) -> str | None:
    """Who a message comes from; None for a webhook, whose signature tells."""
    return None if isinstance(envelope, WebhookEnvelope) else envelope.sender


def _length(body: str) -> str:
    size = size_of(body)
    room = size.encoding.single if size.segments == 1 else size.segments * size.encoding.each
    used = f"{size.units} of {room} {_UNITS[size.encoding]}"
    return f"{count_of(size.segments, 'segment')}: {used} ({_NAMES[size.encoding]})"


def _printable(shown: Preview) -> str:
    if isinstance(shown.envelope, EmailEnvelope):
        return _without_token(shown.envelope).text
    return shown.envelope.body if shown.envelope is not None else ""


def _without_token(envelope: EmailEnvelope) -> EmailEnvelope:
    """The email with the link to unsubscribe made useless: whoever has it can act for the customer."""
    links = [link for _, value in envelope.headers for link in re.findall(r"<([^<>]+)>", value)]

    def hidden(text: str) -> str:
        for link in links:
            text = text.replace(link, f"{link.rpartition('/')[0]}/***")
        return text

    return EmailEnvelope(
        to=envelope.to,
        sender=envelope.sender,
        subject=envelope.subject,
        html=hidden(envelope.html),
        text=hidden(envelope.text),
        headers=tuple((name, hidden(value)) for name, value in envelope.headers),
    )
