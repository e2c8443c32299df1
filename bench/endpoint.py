"""One loopback endpoint for DynamoDB, SQS, SES and Secrets Manager, which answers at once and counts what was asked.

It does no work of a service: every condition holds, every write is taken. So what a client spends is the client's own.
The answers have the shapes of AWS's; `tests/integration/test_bench_endpoint.py` holds them against moto's.

    python -m bench.endpoint --customers 1000 --shards 4 --due-at 2026-11-29T20:00:00Z
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Annotated, Any, Final

import typer

from bench import cast
from functions import names
from functions.adapters.delivery_rows import to_row
from functions.adapters.items import to_item
from functions.adapters.schedule_rows import activity_to_row, profile_to_row, schedule_to_row
from functions.core.instants import from_text

COUNTS: Final = "/counts"  # returns how often each operation was asked for, and begins anew
KEYS: Final = json.dumps({"0": "a key that signs links in a benchmark and nothing else"})
_JSON: Final = "application/json"


class Answers:
    """What the services would say."""

    def __init__(self, *, customers: int, shards: int, due_at: datetime) -> None:
        self._customers = customers
        self._shards = shards
        self._due_at = due_at
        self._asked: Counter[str] = Counter()
        self._schedule = _template(schedule_to_row(cast.a_schedule(0, due_at=due_at), shards=1))
        self._rows = {
            str(one.delivery_id): _template(to_row(one, shards=1)) for one in cast.deliveries_of(0, due_at=due_at)
        }
        self._about = self._about_a_customer()
        self._operations: Mapping[str, Callable[[Any], str]] = {
            "Query": self._query,
            "BatchGetItem": self._batch_get,
            "SendMessageBatch": _send_message_batch,
            "SendMessage": _send_message,
            "GetSecretValue": lambda _: json.dumps({"SecretString": KEYS, "VersionId": "1", "Name": "keys"}),
        }

    def answer(self, path: str, target: str, body: bytes) -> str:
        """Return the JSON that answers a request."""
        if path == COUNTS:
            counts, self._asked = self._asked, Counter()
            return json.dumps(counts)
        operation = target.rpartition(".")[2] or "SendEmail"  # SES alone names its operations by path
        self._asked[operation] += 1
        if operation == "SendEmail":
            return '{"MessageId": "0100018c-benchmark"}'
        known = self._operations.get(operation)
        return "{}" if known is None else known(json.loads(body))

    def _about_a_customer(self) -> str:
        (delivery, *_) = cast.deliveries_of(0, due_at=self._due_at)
        period = date.fromisoformat(delivery.period)
        rows = [activity_to_row(cast.customer_id(0), one, purge_at=0) for one in cast.activities(period)]
        return ", ".join(_template(row) for row in [*rows, profile_to_row(cast.a_profile(0))])

    def _query(self, request: Any) -> str:  # noqa: ANN401 - a request's JSON
        if request.get("IndexName") == names.DUE_INDEX:
            return self._due(request)
        if request.get("IndexName"):
            return '{"Items": [], "Count": 0}'
        (customer,) = (
            value["S"] for name, value in request["ExpressionAttributeValues"].items() if name == ":customer_id"
        )
        return f'{{"Items": [{_filled(self._about, cast.number_of(customer))}], "Count": 4}}'

    def _due(self, request: Any) -> str:  # noqa: ANN401
        shard = int(request["ExpressionAttributeValues"][":shard"]["S"].removeprefix("due#"))
        each = self._customers // self._shards
        first = shard * each
        if "ExclusiveStartKey" in request:
            first = cast.number_of(request["ExclusiveStartKey"][names.CUSTOMER_ID]["S"]) + 1
        last = min(first + request["Limit"], (shard + 1) * each)
        items = ", ".join(_filled(self._schedule, number) for number in range(first, last))
        more = ""
        if last < (shard + 1) * each:
            more = f', "LastEvaluatedKey": {{"{names.CUSTOMER_ID}": {{"S": "{cast.customer_id(last - 1)}"}}}}'
        return f'{{"Items": [{items}], "Count": {last - first}{more}}}'

    def _batch_get(self, request: Any) -> str:  # noqa: ANN401
        ((table, wanted),) = request["RequestItems"].items()
        rows = ", ".join(self._row(key[names.DELIVERY_ID]["S"]) for key in wanted["Keys"])
        return f'{{"Responses": {{"{table}": [{rows}]}}, "UnprocessedKeys": {{}}}}'

    def _row(self, delivery_id: str) -> str:
        number = cast.number_of(delivery_id.split(":")[1])
        return _filled(self._rows[delivery_id.replace(cast.customer_id(number), cast.customer_id(0))], number)


def _template(row: Mapping[str, Any]) -> str:
    return json.dumps(to_item(row))


def _filled(template: str, number: int) -> str:
    return template.replace(cast.customer_id(0), cast.customer_id(number))


def _send_message_batch(request: Any) -> str:  # noqa: ANN401
    sent = [
        {"Id": one["Id"], "MessageId": one["Id"], "MD5OfMessageBody": _md5(one["MessageBody"])}
        for one in request["Entries"]
    ]
    return json.dumps({"Successful": sent})


def _send_message(request: Any) -> str:  # noqa: ANN401
    return json.dumps({"MessageId": "1", "MD5OfMessageBody": _md5(request["MessageBody"])})


def _md5(body: str) -> str:
    # The SDK compares it with its own.
    return hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()


class Connection(asyncio.Protocol):
    """HTTP/1.1 with Content-Length, kept open: all that the SDK needs."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a server's
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            first, *lines = self._received[:end].decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            if headers.pop("expect", ""):
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            after = end + 4 + int(headers.get("content-length", "0"))
            if len(self._received) < after:
                return
            body, self._received = self._received[end + 4 : after], self._received[after:]
            self._answer(first.split(" ")[1], headers.get("x-amz-target", ""), body)

    def _answer(self, path: str, target: str, body: bytes) -> None:
        answer = self._answers.answer(path, target, body).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {_JSON}\r\nContent-Length: {len(answer)}\r\n\r\n"
        self._transport.write(head.encode() + answer)


async def _serve(answers: Answers) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Connection(answers), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - read by who started it
    await server.serve_forever()


def main(
    *,
    customers: Annotated[int, typer.Option(min=1, help="Customers whose digest is due, in all shards together.")],
    shards: Annotated[int, typer.Option(min=1, help="Shards that they are spread over.")],
    due_at: Annotated[str, typer.Option(help="When their digests are due.")],
) -> None:
    """Serve until the process is ended; the port is the first line of output."""
    answers = Answers(customers=customers, shards=shards, due_at=from_text(due_at))
    asyncio.run(_serve(answers))


if __name__ == "__main__":
    typer.run(main)
