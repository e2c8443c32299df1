"""What there is to watch in a region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stacks.channel import Channel
from stacks.inbound import Inbound
from stacks.planner import Planner
from stacks.receipts import Receipts
from stacks.recovery import Recovery
from stacks.storage import Storage
from stacks.unsubscribe import Unsubscribe
from stacks.widgets import Widgets


@dataclass(frozen=True)
class Parts:
    """The constructs that have something to say."""

    storage: Storage
    channels: Mapping[str, Channel]
    planner: Planner
    recovery: Recovery
    receipts: Receipts
    unsubscribe: Unsubscribe
    inbound: Inbound
    widgets: Widgets
