"""What a week costs: counts times prices, and what is said where there is no price."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date

import pytest

from functions.core.identity import Channel
from ops.cli import main
from ops.costs.measurements import Measurements, Use
from ops.costs.prices import Price, PriceTable
from ops.costs.reckoning import (
    MILLION,
    Workload,
    a_week,
    one_schedule_each,
    polling_a_relational_table,
)

ONE_READ = Use(read_units=1)
MEASURED = Measurements(
    measured_on=date(2026, 11, 30),
    customers=20,
    activities=5,
    shards=8,
    a_customer=Use(write_units=4),
    a_planned_delivery=Use(write_units=5, queue_requests=0.1),
    a_sent_delivery=dict.fromkeys(Channel, Use(write_units=4, read_units=2, queue_requests=0.2, invocations=0.1)),
    a_receipt=Use(write_units=2),
    an_idle_planner=Use(read_units=4, invocations=1, log_bytes=1000),
    an_idle_reconciler=Use(read_units=40, invocations=1),
    a_row_bytes=1000,
)
BOTH = (Channel.EMAIL, Channel.SMS)
WORKLOAD = Workload(
    customers=1000,
    channels=BOTH,
    receipts=frozenset({Channel.EMAIL}),
    planner_minutes=5,
    reconciler_minutes=1,
    shards=8,
    kept_days=91,
    memory_mb=512,
)


def price(dollars: float, per: int = MILLION) -> Price:
    return Price(dollars, per, "things", "https://example.com/", "2026-10-04")


PRICES = PriceTable(
    "nowhere-1",
    {
        "dynamodb_write": price(1),
        "dynamodb_read": price(1),
        "sqs": price(1),
        "lambda_request": price(1),
        "scheduler": price(1),
        "logs": price(1, 1),
        "relational": price(0.1, 1),
    },
)


def amounts(workload: Workload, prices: PriceTable = PRICES) -> dict[str, float]:
    return {line.what: line.amount for line in a_week(MEASURED, prices, workload).lines}


def test_a_week_is_what_customers_and_deliveries_take_and_what_wake_ups_take_in_any_case() -> None:
    told = amounts(WORKLOAD)
    assert told["DynamoDB write units"] == pytest.approx(1000 * (4 + 2 * 5 + 2 * 4 + 2))  # a receipt for emails only
    assert told["DynamoDB read units"] == pytest.approx(1000 * 2 * 2 + 2016 * 4 + 10_080 * 40)
    assert told["SQS requests"] == pytest.approx(1000 * 2 * 0.3)
    assert told["Lambda requests"] == pytest.approx(1000 * 2 * 0.1 + 2016 + 10_080)
    assert told["Scheduler invocations"] == 2016 + 10_080


def test_rows_are_stored_for_as_long_as_they_are_kept() -> None:
    stored = amounts(WORKLOAD)["DynamoDB storage of rows, GB-months"]
    assert stored == pytest.approx(2000 * 13 * 1000 / 1024**3 * 12 * 7 / 365)


def test_twice_the_shards_are_twice_the_idle_reads_and_no_more_invocations() -> None:
    told = amounts(replace(WORKLOAD, shards=16))
    assert told["DynamoDB read units"] == pytest.approx(1000 * 2 * 2 + 2 * (2016 * 4 + 10_080 * 40))
    assert told["Lambda requests"] == amounts(WORKLOAD)["Lambda requests"]


def test_what_has_no_price_is_counted_left_out_of_the_sum_and_named() -> None:
    prices = PriceTable("nowhere-1", {"dynamodb_write": price(1)})
    week = a_week(MEASURED, prices, WORKLOAD)
    assert week.dollars == pytest.approx(24_000 / MILLION)
    assert "SQS requests" in week.unpriced
    assert "DynamoDB write units" not in week.unpriced
    assert one_schedule_each(MEASURED, prices, WORKLOAD) is None
    assert polling_a_relational_table(MEASURED, prices, WORKLOAD) is None


def test_the_time_of_functions_is_reckoned_only_where_somebody_says_it() -> None:
    assert "Lambda time, GB-seconds" not in amounts(WORKLOAD)
    assert amounts(replace(WORKLOAD, function_ms=50))["Lambda time, GB-seconds"] == 2000 * 0.05 * 0.5


def test_where_both_cost_the_same_is_found() -> None:
    compared = polling_a_relational_table(MEASURED, PRICES, WORKLOAD)
    assert compared is not None
    idle, each = (2016 * 4 + 10_080 * 40) / MILLION, (24 + 4) / MILLION
    assert compared.crossover == round((16.8 - idle) / each)
    here, there = compared.dollars(compared.crossover)
    assert here == pytest.approx(there, abs=0.001)
    assert compared.cheaper_here(10)


def test_one_schedule_for_each_customer_is_compared_by_waking_alone() -> None:
    compared = one_schedule_each(MEASURED, PRICES, WORKLOAD)
    assert compared is not None
    assert compared.here == pytest.approx(((2016 * 6 + 0) / MILLION + 2016 * 1000 / 1024**3, 4.2 / MILLION))
    assert compared.there == pytest.approx((0, 4 / MILLION + 1000 / 1024**3))


def test_every_price_has_its_page_and_the_day_on_which_it_was_read() -> None:
    for aws_region in ("us-east-1", "eu-west-1"):
        table = PriceTable.of(aws_region)
        assert {"dynamodb_write", "dynamodb_read", "sqs", "lambda_request", "logs"} <= set(table.prices)
        for name, held in table.prices.items():
            assert held.page.startswith("https://"), name
            assert re.fullmatch(r"20\d\d(-\d\d-\d\d)?", held.read_on), name
            assert held.dollars > 0, name
    assert PriceTable.of("mars-north-1").prices == {}


def test_prices_are_written_as_they_are_spoken() -> None:
    assert str(Price(0.625, MILLION, "write units", "", "")) == "$0.625 for 1,000,000 write units"
    assert str(Price(0.5, 1, "GB", "", "")) == "$0.50 a GB"
    assert str(Price(3, 1, "dashboard", "", "")) == "$3.00 a dashboard"


# --- the command ---


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["cost", *arguments])
    written = capsys.readouterr()
    return int(left.value.code or 0), written.out, written.err


def test_the_command_asks_nothing_of_aws_and_says_what_is_not_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = told(capsys, "--customers", "100000", "--channels", "email,sms", "--region", "us")
    assert status == 0
    assert out.startswith("us (us-east-1): 100,000 customers, 200,000 deliveries a week\n")
    assert "No price is known here, and so nothing is in the sum, for: segments of texts, 2 each at most" in out
    assert "Not in it:\n  - the functions' time" in out
    assert "eu (eu-west-1)" not in out


def test_what_you_say_of_your_prices_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    said = ("--per-segment", "0.01", "--per-email", "0.001", "--function-ms", "40", "--json")
    _, out, _ = told(capsys, "--customers", "1000", "--region", "us", *said)
    (us,) = json.loads(out)["regions"]
    assert {line["what"]: line["dollars"] for line in us["provider"]} == {
        "emails": 1.0,
        "segments of texts, 2 each at most": 20.0,
    }
    assert us["without_a_price"] == []
    assert us["dollars_idle"] < us["dollars"]


@pytest.mark.parametrize("channels", ["", "fax", "email,email", "email;sms"])
def test_channels_that_are_none_are_refused_by_name(capsys: pytest.CaptureFixture[str], channels: str) -> None:
    status, _, err = told(capsys, "--customers", "10", "--channels", channels)
    assert status == 2
    assert "--channels" in err
