"""What a customer's own endpoint is told: the facts of a digest or reminder as JSON, for machines to read.

Amounts stay in minor units and times stay instants: whoever reads this writes it in words of their own. A payload's
version goes with the template that its row was planned with, and what has been released is not changed any more: a
retry, perhaps by the next release, has to send the bytes of the first attempt. So nothing in it depends on the moment.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from functions.core.calendar import WEEK, period_bounds, zone
from functions.core.content.digest import each_once
from functions.core.content.safety import link, one_line
from functions.core.customer import ActivityKind
from functions.core.instants import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from functions.core.customer import Activity, Profile, ReminderSchedule
    from functions.core.delivery import Delivery

PAYLOAD_VERSION: Final[Mapping[str, int]] = {"weekly-digest-v1": 1, "reminder-v1": 1}
PAYLOAD_ENTRIES: Final = 200  # a longer week says how many more there were


class UnknownTemplateError(LookupError):
    """The row was planned with a template that this release has no payload for."""


def digest_payload(
    activities: Sequence[Activity], *, delivery: Delivery, profile: Profile, period_start: date, site_url: str
) -> str:
    """Return the JSON text of a digest. Raises UnknownTemplateError, UnknownTimeZoneError and UnsafeLinkError."""
    newest_first = each_once(activities)
    begins, ends = period_bounds(period_start, zone(profile.time_zone))
    return _json(
        _head("digest.weekly", delivery),
        {
            "period": {
                "first_day": period_start.isoformat(),
                "last_day": (period_start + WEEK - timedelta(days=1)).isoformat(),
                "begins_at": to_text(begins),
                "ends_at": to_text(ends),
                "time_zone": profile.time_zone,
            },
            "counts": {str(kind): sum(one.kind is kind for one in newest_first) for kind in ActivityKind},
            "spent": _spent(newest_first),
            "entries": [_entry(one) for one in newest_first[:PAYLOAD_ENTRIES]],
            "more_entries": max(0, len(newest_first) - PAYLOAD_ENTRIES),
            "url": link(site_url, field="site_url"),
        },
    )


def reminder_payload(reminder: ReminderSchedule, *, delivery: Delivery, site_url: str) -> str:
    """Return the JSON text of a reminder. Raises UnknownTemplateError and UnsafeLinkError."""
    return _json(
        _head("reminder.due", delivery),
        {
            "event_id": reminder.event_id,
            "subject": one_line(reminder.subject),
            "due_at": to_text(delivery.due_at),
            "url": link(site_url, field="site_url"),
        },
    )


def _head(kind: str, delivery: Delivery) -> dict[str, Any]:
    version = PAYLOAD_VERSION.get(delivery.template_id)
    if version is None:
        raise UnknownTemplateError(f"there is no payload for template {delivery.template_id}")
    return {
        "type": kind,
        "version": version,
        "timestamp": to_text(delivery.due_at),  # of the event, as Standard Webhooks has it; not of this attempt
        "delivery_id": str(delivery.delivery_id),
        "customer_id": delivery.delivery_id.customer_id,
    }


def _entry(activity: Activity) -> dict[str, Any]:
    amount = None
    if activity.amount_minor is not None and activity.currency is not None:
        amount = {"currency": activity.currency, "minor_units": activity.amount_minor}
    return {
        "id": activity.activity_id,
        "kind": str(activity.kind),
        "occurred_at": to_text(activity.occurred_at),
        "title": one_line(activity.title),
        "amount": amount,
        "quantity": activity.quantity,
    }


def _spent(activities: Sequence[Activity]) -> list[dict[str, Any]]:
    totals: dict[str, int] = {}
    for one in activities:
        if one.kind is ActivityKind.ORDER and one.amount_minor is not None and one.currency is not None:
            totals[one.currency] = totals.get(one.currency, 0) + one.amount_minor
    return [{"currency": currency, "minor_units": total} for currency, total in sorted(totals.items())]


def _json(*parts: Mapping[str, Any]) -> str:
    return json.dumps({name: value for part in parts for name, value in part.items()}, ensure_ascii=False)
