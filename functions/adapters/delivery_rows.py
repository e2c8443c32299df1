"""A delivery as a row of the deliveries table, and back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from functions import names
from functions.core.delivery import (
    ATTENTION_OF,
    FINISHED,
    Attempt,
    Delivery,
    Failure,
    Receipt,
    ReceiptState,
    SkipReason,
    Status,
)
from functions.core.identity import DeliveryId, shard_of
from functions.core.instants import from_text, to_text
from functions.core.summary import Recipe, SummaryNote

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from functions.adapters.items import Plain
    from functions.core.customer import ReminderSchedule
    from functions.core.delivery import Attention
    from functions.core.identity import Channel


def to_row(delivery: Delivery, *, shards: int) -> dict[str, Plain]:
    """Return the attributes of a delivery's row; those that it does not have are None.

    An open row is in `attention`; a finished one leaves it and enters `by_period`. Both happen once in the life of a
    delivery on the straight way, because each costs index writes.
    """
    shard = shard_of(delivery.delivery_id.customer_id, shards)
    finished = delivery.status in FINISHED
    return {
        names.DELIVERY_ID: str(delivery.delivery_id),
        "status": str(delivery.status),
        "template_id": delivery.template_id,
        names.PERIOD: delivery.period,
        "due_at": to_text(delivery.due_at),
        "selected_at": to_text(delivery.selected_at),
        "expires_at": to_text(delivery.expires_at),
        "enqueued_at": _text(delivery.enqueued_at),
        names.ACCEPTED_AT: _text(delivery.accepted_at),
        "attempt": delivery.attempt,
        "lease_until": _text(delivery.lease_until),
        "claimed_at": _text(delivery.claimed_at),
        "claimed_by": delivery.claimed_by,
        "last_receive": delivery.last_receive or None,
        "published": delivery.published or None,
        "in_doubt_since": _text(delivery.in_doubt_since),
        "next_attempt_at": _text(delivery.next_attempt_at),
        "provider": delivery.provider,
        "provider_reference": delivery.provider_reference,
        "fingerprint": delivery.fingerprint,
        "summary": None if delivery.summary is None else summary_to_row(delivery.summary),
        "skip_reason": None if delivery.skip_reason is None else str(delivery.skip_reason),
        "failure": None if delivery.failure is None else _failure(delivery.failure),
        "receipt": None if delivery.receipt is None else _receipt(delivery.receipt),
        names.RECEIPT_OUTCOME: _receipt_outcome(delivery.receipt),
        "history": [_attempt(one) for one in delivery.history] or None,
        "erased_at": _text(delivery.erased_at),
        names.ATTENTION: None
        if finished
        else attention_partition(ATTENTION_OF[delivery.status], delivery.delivery_id.channel, shard),
        names.ATTENTION_AT: None if finished else to_text(delivery.attention_at or delivery.selected_at),
        names.PERIOD_SHARD: period_partition(delivery.period, shard) if finished else None,
        names.PERIOD_END: period_end(delivery) if finished else None,
    }


def attention_partition(why: Attention, channel: Channel, shard: int) -> str:
    """`retryable#email#3`: a channel that is halted is left alone without reading what waits in it."""
    return f"{why}#{channel}#{shard}"


def period_partition(period: str, shard: int) -> str:
    """`2026-11-23#3`."""
    return f"{period}#{shard}"


def period_end(delivery: Delivery) -> str:
    """`accepted#email`, `skipped#sms#empty`: what a week's funnel is counted by."""
    parts = [str(delivery.status), str(delivery.delivery_id.channel)]
    if delivery.skip_reason is not None:
        parts.append(str(delivery.skip_reason))
    return "#".join(parts)


def purge_at(expiring: Delivery | ReminderSchedule, keep_for: timedelta) -> int:
    """Seconds since the epoch after which DynamoDB may drop the row."""
    return int((expiring.expires_at + keep_for).timestamp())


def from_row(row: Mapping[str, Any]) -> Delivery:
    """Read a row, as plain attributes."""
    failure = row.get("failure")
    skip_reason = row.get("skip_reason")
    return Delivery(
        delivery_id=DeliveryId.parse(row[names.DELIVERY_ID]),
        template_id=row["template_id"],
        period=row[names.PERIOD],
        status=Status(row["status"]),
        due_at=from_text(row["due_at"]),
        selected_at=from_text(row["selected_at"]),
        expires_at=from_text(row["expires_at"]),
        enqueued_at=_instant(row, "enqueued_at"),
        accepted_at=_instant(row, names.ACCEPTED_AT),
        attempt=row.get("attempt", 0),
        lease_until=_instant(row, "lease_until"),
        claimed_at=_instant(row, "claimed_at"),
        claimed_by=row.get("claimed_by"),
        last_receive=row.get("last_receive", False),
        published=row.get("published", 0),
        in_doubt_since=_instant(row, "in_doubt_since"),
        next_attempt_at=_instant(row, "next_attempt_at"),
        attention_at=_instant(row, names.ATTENTION_AT),
        provider=row.get("provider"),
        provider_reference=row.get("provider_reference"),
        fingerprint=row.get("fingerprint"),
        summary=summary_from_row(row["summary"]) if "summary" in row else None,
        skip_reason=None if skip_reason is None else SkipReason(skip_reason),
        failure=None if failure is None else Failure(failure["class"], failure["code"], from_text(failure["at"])),
        receipt=_receipt_from(row["receipt"]) if "receipt" in row else None,
        history=tuple(
            Attempt(one["attempt"], from_text(one["at"]), one["outcome"], one["code"], one["policy_version"])
            for one in row.get("history", ())
        ),
        erased_at=_instant(row, "erased_at"),
    )


def summary_to_row(note: SummaryNote) -> dict[str, Plain]:
    """Return what became of a summary, as attributes; a temperature is text, because rows hold whole numbers only."""
    temperature = note.recipe.temperature
    return {
        "outcome": note.outcome,
        "prompt_version": note.recipe.prompt_version,
        "model_id": note.recipe.model_id,
        "max_output_tokens": note.recipe.max_output_tokens,
        "temperature": None if temperature is None else str(temperature),
        "input_tokens": note.input_tokens,
        "output_tokens": note.output_tokens,
    }


def summary_from_row(row: Mapping[str, Any]) -> SummaryNote:
    """Read what became of a summary."""
    temperature = row.get("temperature")
    return SummaryNote(
        Recipe(
            row["prompt_version"],
            row["model_id"],
            row["max_output_tokens"],
            None if temperature is None else float(temperature),
        ),
        row["outcome"],
        row["input_tokens"],
        row["output_tokens"],
    )


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else to_text(instant)


def _instant(row: Mapping[str, Any], name: str) -> datetime | None:
    return from_text(row[name]) if name in row else None


def _failure(failure: Failure) -> dict[str, Plain]:
    return {"class": failure.failure_class, "code": failure.code, "at": to_text(failure.at)}


def _receipt(receipt: Receipt) -> dict[str, Plain]:
    return {
        "state": str(receipt.state),
        "at": to_text(receipt.at),
        "code": receipt.code,
        "seen": list(receipt.seen),
    }


def _receipt_from(held: Mapping[str, Any]) -> Receipt:
    return Receipt(ReceiptState(held["state"]), from_text(held["at"]), held["code"], tuple(held["seen"]))


def _receipt_outcome(receipt: Receipt | None) -> str | None:
    """What the index shows: only what is conclusive, so that most deliveries cost one more index write, not several."""
    return str(receipt.state) if receipt is not None and receipt.state.conclusive else None


def _attempt(attempt: Attempt) -> dict[str, Plain]:
    return {
        "attempt": attempt.attempt,
        "at": to_text(attempt.at),
        "outcome": attempt.outcome,
        "code": attempt.code,
        "policy_version": attempt.policy_version,
    }
