"""Receipts, suppressions and the count of what is missing, on DynamoDB (moto)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from functions.adapters.awaited_receipts import DynamoAwaitedReceipts
from functions.adapters.plan_book import DynamoPlanBook
from functions.adapters.schedule_rows import profile_from_row
from functions.adapters.suppressions import DynamoSuppressions
from functions.core.customer import PROFILE
from functions.core.delivery import Receipt, ReceiptState, SkipReason, Status
from functions.core.identity import Channel
from tests.conformance.ledger import World
from tests.conformance.receipts import AT, BOUNCED, DELIVERED, ReceiptRowsConformance, accepted
from tests.conformance.suppressions import Suppressed, SuppressionsConformance
from tests.fakes.environment import CUSTOMERS, DELIVERIES, SHARDS
from tests.fakes.examples import PERIOD, a_delivery
from tests.integration.region import Region


class TestDynamoLedger(ReceiptRowsConformance):
    @pytest.fixture
    def world(self, tables: Region) -> World:
        one_shard = Region(tables.dynamodb, tables.sqs, shards=1)
        book = DynamoPlanBook(
            tables.dynamodb,
            customers_table=CUSTOMERS,
            deliveries_table=DELIVERIES,
            shards=1,
            keep_for=timedelta(days=90),
        )
        return World(
            ledger=one_shard.ledger,
            book=book,
            put=one_shard.put_deliveries,
            add_schedule=one_shard.schedule,
            next_run_at=one_shard.next_run_at,
        )


class TestDynamoSuppressions(SuppressionsConformance):
    @pytest.fixture
    def world(self, tables: Region) -> Suppressed:
        def suppressed(customer_id: str) -> dict[Channel, str]:
            row = tables.customer_row(customer_id, PROFILE)
            return dict(profile_from_row(row).suppressed) if row else {}

        return Suppressed(DynamoSuppressions(tables.dynamodb, CUSTOMERS), tables.add, suppressed)


def count(tables: Region, *, channel: Channel = Channel.EMAIL, period: str = PERIOD.isoformat()) -> int:
    awaited = DynamoAwaitedReceipts(tables.dynamodb, table=DELIVERIES, shards=SHARDS)
    return awaited.count(period, channel, accepted_before=AT + timedelta(hours=1))


def test_what_was_accepted_long_ago_and_told_of_by_nobody_is_counted(tables: Region) -> None:
    told = accepted(delivery_id=a_delivery("c-told").delivery_id, receipt=DELIVERED)
    back = accepted(delivery_id=a_delivery("c-back").delivery_id, receipt=BOUNCED)
    on_its_way = accepted(
        delivery_id=a_delivery("c-way").delivery_id, receipt=Receipt(ReceiptState.DELAYED, AT, "MailboxFull")
    )
    recent = accepted(delivery_id=a_delivery("c-new").delivery_id, accepted_at=AT + timedelta(hours=2))
    skipped = a_delivery("c-skipped", status=Status.SKIPPED, skip_reason=SkipReason.EMPTY)
    tables.put_deliveries(accepted(), told, back, on_its_way, recent, skipped, a_delivery("c-open"))
    assert count(tables) == 2  # nothing was heard of the first, and nothing conclusive of the one on its way


def test_each_channel_and_week_is_counted_apart(tables: Region) -> None:
    tables.put_deliveries(accepted(), replace(accepted(), delivery_id=a_delivery(channel=Channel.SMS).delivery_id))
    assert count(tables) == count(tables, channel=Channel.SMS) == 1
    assert count(tables, period="2026-11-09") == 0


def test_a_conclusive_receipt_is_shown_in_the_week_s_index_and_no_other_is(tables: Region) -> None:
    tables.put_deliveries(accepted())
    row = accepted()
    for state in (ReceiptState.DELAYED, ReceiptState.DELIVERED):
        after = replace(row, receipt=Receipt(state, AT, "-"))
        assert tables.ledger.write(row, after)
        row = after
        (item,) = tables._scan(DELIVERIES)
        assert item.get("receipt_outcome", {}).get("S") == (state if state.conclusive else None)
