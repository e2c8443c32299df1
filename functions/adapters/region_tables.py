"""One region's tables, as whoever reads for a person has them: a function, or the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from functions.adapters.ledger import DynamoLedger

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class RegionTables(Protocol):
    """What it takes to read a region. The command line's `RegionDeployment` is one."""

    @property
    def data_region(self) -> str: ...
    @property
    def dynamodb(self) -> DynamoDBClient: ...
    @property
    def customers_table(self) -> str: ...
    @property
    def deliveries_table(self) -> str: ...
    @property
    def control_table(self) -> str: ...
    @property
    def shards(self) -> int: ...
    @property
    def ledger(self) -> DynamoLedger: ...


@dataclass(frozen=True, slots=True)
class TablesAtHand:
    """`RegionTables` of a function, from its environment."""

    data_region: str
    dynamodb: DynamoDBClient
    customers_table: str
    deliveries_table: str
    control_table: str
    shards: int

    @property
    def ledger(self) -> DynamoLedger:
        """The deliveries table."""
        return DynamoLedger(self.dynamodb, table=self.deliveries_table, shards=self.shards)
