"""Customers who come back by an import after they were erased, or others who come with their address.

They get no more than was wanted: what was withdrawn stays withdrawn, and what was suppressed is not written to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.adapters.schedule_rows import consent_attribute
from functions.core.customer import Consent
from functions.core.instants import to_text
from functions.core.opt_out_memory import Memory, together
from functions.core.opting_out import Way
from functions.core.receipts import lighter_than

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from functions.adapters.items import Plain
    from functions.core.identity import Channel
    from ops.imports.rows import Row


def withheld(profile: Row | None, memories: Mapping[Channel | None, Sequence[Memory]], *, now: datetime) -> Row:
    """Return what a profile gets for the memories of its addresses, by channel, and of its id, under None."""
    before = profile or {}
    put: dict[str, Plain] = {}
    for topic, channel in together(one for known in memories.values() for one in known).opted_out:
        attribute = consent_attribute(topic, channel)
        if before.get(attribute) != Consent.OPTED_OUT:
            put[attribute] = str(Consent.OPTED_OUT)
            put[f"{attribute}_at"] = to_text(now)
            put[f"{attribute}_by"] = str(Way.REMEMBERED)
    held = before.get("suppressed", {})
    suppressed = {
        str(channel): {"cause": str(cause), "at": to_text(now), "code": str(Way.REMEMBERED)}
        for channel, known in memories.items()
        if channel is not None and (cause := together(known).heaviest_cause) is not None
        if channel not in held or held[channel]["cause"] in lighter_than(cause)
    }
    return put | ({"suppressed": {**held, **suppressed}} if suppressed else {})
