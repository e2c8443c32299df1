"""Draws the state diagram and the tables of outcomes into docs/delivery-semantics.md.

python -m ops.docs.semantics            writes what differs
python -m ops.docs.semantics --check    says whether something does
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from functions.core import provider_codes
from functions.core.delivery import FINISHED, TRANSITIONS, Status
from functions.core.outcome import POLICY_VERSION, Acknowledgement, Dedupe, GateMove, OutcomeClass, Ruling, ruling

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "delivery-semantics.md"
WAITING: Final = (Status.PLANNED, Status.QUEUED, Status.RETRYABLE)  # nobody is sending; they may become the same

# What moves a row along the arrows that people ask about. The others go without saying, or without words.
MOVES: Final[Mapping[tuple[str, str], str]] = {
    ("planned", "queued"): "its id is on the queue",
    ("retryable", "queued"): "due again: published again",
    ("waiting", "sending"): "claimed",
    ("waiting", "skipped"): "opted out, suppressed, nothing to tell",
    ("waiting", "expired"): "too late",
    ("waiting", "uncertain"): "given up in doubt",
    ("sending", "accepted"): "the provider accepted",
    ("sending", "retryable"): "not now, or the lease ran out and the key protects",
    ("sending", "uncertain"): "nobody knows, and no key protects",
    ("sending", "dead_letter"): "rejected, or the last receive failed",
    ("uncertain", "accepted"): "an event or a look-up says so",
    ("uncertain", "retryable"): "a look-up says it never was",
    ("waiting", "accepted"): "an event says so",
    ("waiting", "dead_letter"): "the last receive failed",
    ("uncertain", "skipped"): "never was, and is not wanted",
    ("uncertain", "expired"): "never was, and it is too late",
    ("uncertain", "dead_letter"): "never was, and had been given up",
    ("dead_letter", "queued"): "redriven by its row",
    ("dead_letter", "sending"): "redriven by its message, and claimed",
}
CLASSES: Final[Mapping[OutcomeClass, str]] = {
    OutcomeClass.ACCEPTED: "accepted; or already accepted under the same key",
    OutcomeClass.THROTTLED: "too fast for the account (429, SES's sending rate)",
    OutcomeClass.DEFERRED: "not now for this recipient",
    OutcomeClass.QUOTA: "the day's or month's allowance is used up",
    OutcomeClass.UNAVAILABLE: "the request had no effect (refused connection, 503)",
    OutcomeClass.UNKNOWN: "the request may have had its effect (timeout, reset, 500, 502, 504)",
    OutcomeClass.RUNNING: "an earlier request with our key is still being worked on (409)",
    OutcomeClass.MISMATCH: "an earlier request with our key carried other bytes (409)",
    OutcomeClass.REJECTED: "never for this message",
    OutcomeClass.AUTH: "never for any message until our account is mended (401, 403, sender not verified)",
}
TABLES: Final[Mapping[str, Mapping[str, OutcomeClass]]] = {
    "Amazon SES v2": provider_codes.SES,
    "Amazon SNS, text messages": provider_codes.SNS,
    "AWS End User Messaging, text messages": {**provider_codes.EUM, **provider_codes.EUM_REASONS},
    "HTTP email provider": provider_codes.HTTP_EMAIL,
    "Webhook endpoint, where there is no HTTP status": provider_codes.WEBHOOK,
}
MESSAGES: Final[Mapping[Acknowledgement, str]] = {
    Acknowledgement.DONE: "done",
    Acknowledgement.BACK_OFF: "comes back after its backoff",
}
GATES: Final[Mapping[GateMove, str]] = {
    GateMove.NONE: "",
    GateMove.CLOSE: "closed until the provider's time",
    GateMove.HALT: "halted until an operator resumes it",
}


def states() -> str:
    """Return the diagram of all transitions, in Mermaid."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> planned", "    state waiting {"]
    lines += [f"        {arrow}" for arrow in _arrows_inside()]
    lines += ["    }", *(f"    {arrow}" for arrow in _arrows_outside())]
    lines += [f"    {status} --> [*]" for status in Status if status in FINISHED]
    return "\n".join([*lines, "```"])


def _arrows_inside() -> Iterator[str]:
    for source in WAITING:
        for target in WAITING:
            if target in TRANSITIONS[source] and target is not source:
                yield _arrow(source, target)


def _arrows_outside() -> Iterator[str]:
    others = [status for status in Status if status not in WAITING]
    for target in others:
        sources = [one for one in WAITING if target in TRANSITIONS[one]]
        if len(sources) == len(WAITING):
            yield _arrow("waiting", target)
        else:
            yield from (_arrow(one, target) for one in sources)
    for source in others:
        back = [one for one in WAITING if one in TRANSITIONS[source]]
        yield from (_arrow(source, one) for one in back)
        yield from (_arrow(source, one) for one in others if one in TRANSITIONS[source])


def _arrow(source: str, target: str) -> str:
    words = MOVES.get((source, target))
    return f"{source} --> {target}: {words}" if words else f"{source} --> {target}"


def outcomes() -> str:
    """Return the table of outcomes: what each class does to the row, the message and the channel."""
    rows = [_outcome(one, ruling(one, Dedupe.WINDOW), CLASSES[one]) for one in OutcomeClass]
    without_key = ruling(OutcomeClass.UNKNOWN, Dedupe.NONE)
    where = list(OutcomeClass).index(OutcomeClass.UNKNOWN) + 1
    rows.insert(where, _outcome(OutcomeClass.UNKNOWN, without_key, "the same, and no key protects a second send"))
    heading = "| class | the provider said | the row | the message | the channel | in doubt from here on |"
    return "\n".join([f"Policy version {POLICY_VERSION}.", "", heading, "| --- | --- | --- | --- | --- | --- |", *rows])


def _outcome(one: OutcomeClass, rule: Ruling, said: str) -> str:
    row = f"`{rule.status}`"
    if rule.message is Acknowledgement.DONE and rule.pause_s:
        row += f", looked at again at the provider's time or after {rule.pause_s} s"
    doubt = "yes" if rule.in_doubt else ""
    return f"| `{one}` | {said} | {row} | {MESSAGES[rule.message]} | {GATES[rule.gate]} | {doubt} |"


def codes() -> str:
    """Return the documented error codes of each provider by the class that they stand for."""
    parts: list[str] = []
    for provider, table in TABLES.items():
        parts += [f"**{provider}**", "", "| class | codes |", "| --- | --- |"]
        for one in OutcomeClass:
            named = sorted(code for code, meant in table.items() if meant is one)
            if named:
                parts.append(f"| `{one}` | {', '.join(f'`{code}`' for code in named)} |")
        parts.append("")
    return "\n".join(parts).rstrip()


DRAWN: Final = {"states": states, "outcomes": outcomes, "codes": codes}


def drawn(document: str) -> str:
    """Return the document with everything between its marks drawn anew.

    Raises LookupError for a mark that is missing.
    """
    for name, draw in DRAWN.items():
        begin, end = f"<!-- drawn: {name} -->", f"<!-- end: {name} -->"
        pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(document):
            msg = f"{DOCUMENT.name} has no place for {name}: write {begin} and {end}, each on a line of its own"
            raise LookupError(msg)
        body = f"{begin}\n{draw()}\n{end}"
        document = pattern.sub(lambda _, body=body: body, document)  # type: ignore[misc]
    return document


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the document, or check it; 1 if it differed while checking."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    wanted = parser.parse_args(arguments)
    written = DOCUMENT.read_text(encoding="utf-8")
    fresh = drawn(written)
    if fresh == written:
        return 0
    if wanted.check:
        sys.stderr.write(f"{DOCUMENT.name} says other than the code: run python -m ops.docs.semantics\n")
        return 1
    DOCUMENT.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
