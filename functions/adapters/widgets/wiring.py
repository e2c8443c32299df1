"""The desk of a function, from its environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.adapters.clock import utc_now
from functions.adapters.dead_letter_queue import DeadLetterQueue
from functions.adapters.region_tables import TablesAtHand
from functions.adapters.widgets.desk import WidgetDesk
from functions.adapters.wiring import dynamodb, sqs

if TYPE_CHECKING:
    from functions.adapters.environment import DeskEnvironment
    from functions.adapters.widgets.desk import Endpoints


def desk(environment: DeskEnvironment, endpoints: Endpoints) -> WidgetDesk:
    """The region as the widgets see it."""
    tables = TablesAtHand(
        environment.data_region,
        dynamodb(),
        environment.customers_table,
        environment.deliveries_table,
        environment.control_table,
        environment.shards,
    )
    queues = {
        channel: DeadLetterQueue(sqs(), channel, url=url, source_url=environment.queue_urls[channel])
        for channel, url in environment.dead_letter_queue_urls.items()
    }
    return WidgetDesk(tables, queues, environment.rates, utc_now, endpoints)
