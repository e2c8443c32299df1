"""What a wake-up with nothing due asks for, however many customers there are: on the emulator, by what it says it read.

python -m bench.idle CUSTOMERS SHARDS      one wake-up, against AWS_ENDPOINT_URL; used by the rest
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bench import cast
from bench.contest import ENVIRONMENT, told_by
from bench.recording import Invocation
from functions import names
from functions.adapters.items import to_item
from functions.adapters.schedule_rows import profile_to_row, schedule_to_row
from functions.core.instants import to_text
from ops.local.cdk import deployed
from ops.local.demo import pointed_at, running_regions

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BATCH: Final = 25  # items that BatchWriteItem takes
REGION: Final = "us"


@dataclass(frozen=True)
class Idle:
    """What one wake-up asked for."""

    customers: int
    requests: int
    read_units: float
    write_units: float


def idle(sizes: Sequence[int], run: Path) -> Iterator[Idle]:
    """Measure a wake-up at each number of customers, which only grows. None of them is due for a week."""
    with deployed(run) as deployment, pointed_at(deployment.emulator):
        region = running_regions(deployment)[REGION].deployment
        variables = {
            **ENVIRONMENT,
            **deployment.emulator.environment(),
            "AWS_DEFAULT_REGION": region.aws_region,
            "AWS_REGION": region.aws_region,
            names.ENV_SHARDS: str(region.shards),
            names.ENV_CUSTOMERS_TABLE: region.customers_table,
            names.ENV_DELIVERIES_TABLE: region.deliveries_table,
            names.ENV_CONTROL_TABLE: region.control_table,
        }
        due_at = cast.moment() + timedelta(days=7)
        there = 0
        for size in sizes:
            _write(region.dynamodb, region.customers_table, range(there, size), due_at=due_at, shards=region.shards)
            there = size
            yield Idle(**told_by("bench.idle", str(size), str(region.shards), variables=variables))


def _write(client: DynamoDBClient, table: str, numbers: range, *, due_at: datetime, shards: int) -> None:
    rows = (
        to_item(row)
        for number in numbers
        for row in (
            profile_to_row(cast.a_profile(number)),
            schedule_to_row(cast.a_schedule(number, due_at=due_at), shards=shards),
        )
    )
    while batch := list(islice(rows, BATCH)):
        requests: Any = {table: [{"PutRequest": {"Item": item}} for item in batch]}
        while requests:
            requests = client.batch_write_item(RequestItems=requests)["UnprocessedItems"]


def main(customers: Annotated[int, typer.Argument()], shards: Annotated[int, typer.Argument()]) -> None:
    """Wake the planner once, with what the environment names, and print what it asked for."""
    from functions.adapters.wiring import dynamodb  # noqa: PLC0415 - reads the environment
    from functions.planner.handler import handler  # noqa: PLC0415

    asked: Counter[str] = Counter()
    units: Counter[str] = Counter()

    def before(params: dict[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401 - botocore's
        asked[model.name] += 1
        params["ReturnConsumedCapacity"] = "TOTAL"

    def after(parsed: Mapping[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401
        kind = "read" if model.name in {"Query", "GetItem", "BatchGetItem"} else "write"
        units[kind] += parsed.get("ConsumedCapacity", {}).get("CapacityUnits", 0)

    dynamodb().meta.events.register("provide-client-params.dynamodb", before)
    dynamodb().meta.events.register("after-call.dynamodb", after)
    context: Any = Invocation()
    told = handler({"scheduled_time": to_text(cast.moment()), "shards": list(range(shards))}, context)
    if told["planned"] or not told["complete"]:
        raise RuntimeError(f"this wake-up was not idle: {told}")
    print(json.dumps(asdict(Idle(customers, asked.total(), units["read"], units["write"]))))  # noqa: T201


if __name__ == "__main__":
    typer.run(main)
