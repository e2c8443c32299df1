"""Profiles of many customers at once, for looking ahead and for lists: never read consistently, never in full."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.items import from_item
from functions.adapters.schedule_rows import endpoint_from_row, profile_from_row
from functions.core.customer import PROFILE, WEBHOOK_ENDPOINT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from functions.core.customer import Profile
    from ops.deployment import RegionDeployment

CUSTOMERS_AT_ONCE: Final = 50  # BatchGetItem takes 100 keys, and a profile has an endpoint beside it


def profiles(region: RegionDeployment, customer_ids: Iterable[str]) -> dict[str, Profile]:
    """Profiles by customer, each with its endpoint; whoever has none is left out."""
    held = {(row[names.CUSTOMER_ID], row[names.RECORD]): row for row in profile_rows(region, customer_ids)}
    return {
        customer_id: _with_endpoint(profile_from_row(row), held.get((customer_id, WEBHOOK_ENDPOINT)))
        for (customer_id, record), row in held.items()
        if record == PROFILE
    }


def profile_rows(region: RegionDeployment, customer_ids: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Rows of profiles and endpoints, in no order."""
    remaining = iter(dict.fromkeys(customer_ids))
    while page := list(islice(remaining, CUSTOMERS_AT_ONCE)):
        yield from _read(region, page)


def _read(region: RegionDeployment, customer_ids: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    keys = [
        {names.CUSTOMER_ID: {"S": one}, names.RECORD: {"S": record}}
        for one in customer_ids
        for record in (PROFILE, WEBHOOK_ENDPOINT)
    ]
    wanted: Any = {region.customers_table: {"Keys": keys}}
    while wanted:
        answer = region.dynamodb.batch_get_item(RequestItems=wanted)
        yield from (from_item(item) for item in answer["Responses"].get(region.customers_table, []))
        wanted = answer.get("UnprocessedKeys")


def _with_endpoint(profile: Profile, row: Mapping[str, Any] | None) -> Profile:
    return profile if row is None else replace(profile, webhook=endpoint_from_row(row))
