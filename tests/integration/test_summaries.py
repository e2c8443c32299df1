"""The email consumer with a model at its side: what arrives, what is kept where, and what is told."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from functions import names
from functions.adapters.channel_consumer import ChannelConsumer
from functions.adapters.summaries import DynamoSummaries, DynamoTokenBudget
from functions.core.delivery import Delivery, Status
from functions.core.envelope import EmailEnvelope, fingerprint
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.core.ports import Summaries, TokenBudget
from functions.core.summary import SummaryNote
from tests.conformance.summaries import SummariesConformance, TokenBudgetConformance
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import BACKOFF_S, CONTROL, CUSTOMERS, DELIVERIES, channel_environment, queue_url
from tests.fakes.examples import CUSTOMER, EXPIRES_AFTER, a_delivery, a_profile, an_activity
from tests.fakes.providers import FakeProvider
from tests.fakes.summaries import RECIPE, SUMMARY_OPTIONS
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.provider_contract import StubbedEndpoint
from tests.integration.region import Clock, Functions, Region, log_lines
from tests.integration.test_model_bedrock import converse_error, converse_reply

SENTENCE = "A canary lamp for $11.77 was all that happened."
BUSY = Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable")


class TestDynamoSummaries(SummariesConformance):
    @pytest.fixture
    def summaries(self, tables: Region) -> Summaries:
        tables.add(a_profile(), an_activity())
        return DynamoSummaries(tables.dynamodb, CUSTOMERS)


class TestDynamoTokenBudget(TokenBudgetConformance):
    @pytest.fixture
    def budget(self, tables: Region) -> TokenBudget:
        return DynamoTokenBudget(tables.dynamodb, CONTROL, tokens_per_period=1000)


@dataclass(frozen=True)
class Scene:
    region: Region
    clock: Clock
    provider: FakeProvider
    poller: LambdaPoller
    bedrock: StubbedEndpoint

    def send(self, customer: str = CUSTOMER) -> None:
        self.region.add(a_profile(customer), an_activity())
        row = a_delivery(customer, status=Status.QUEUED)
        self.region.put_deliveries(row)
        self.region.sqs.send_message(QueueUrl=queue_url(Channel.EMAIL), MessageBody=DeliveryMessage.of(row).to_body())
        self.poller.poll()

    def row(self, customer: str = CUSTOMER) -> Delivery:
        return self.region.delivery(a_delivery(customer).delivery_id)

    @property
    def emails(self) -> list[EmailEnvelope]:
        return [one for one in self.provider.envelopes if isinstance(one, EmailEnvelope)]


@pytest.fixture
def scene(region: Region, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with StubbedEndpoint() as bedrock:
        variables = channel_environment(Channel.EMAIL) | {
            names.ENV_SUMMARY: json.dumps(SUMMARY_OPTIONS),
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        provider = FakeProvider(guarantee=Guarantee(Dedupe.WINDOW, window=timedelta(days=1)))
        consumer = ChannelConsumer.from_environment(provider)
        poller = LambdaPoller(region.sqs, queue_url(Channel.EMAIL), consumer.handle, clock)
        yield Scene(region, clock, provider, poller, bedrock)


def test_an_email_opens_with_the_summary_and_the_row_tells_what_made_it(scene: Scene) -> None:
    scene.bedrock.will(converse_reply(SENTENCE))
    scene.send()
    (email,) = scene.emails
    assert SENTENCE in email.text
    assert scene.row().status is Status.ACCEPTED
    assert scene.row().summary == SummaryNote(RECIPE, "written", 700, 40)


def test_its_words_are_kept_with_the_customer_until_the_digest_expires(scene: Scene) -> None:
    scene.bedrock.will(converse_reply(SENTENCE))
    scene.send()
    kept = scene.region.customer_row(CUSTOMER, "SUMMARY#2026-11-16#email")
    assert kept["text"] == SENTENCE
    assert kept[names.TTL] == int((SUNDAY_EVENING + EXPIRES_AFTER).timestamp())
    assert SENTENCE not in json.dumps([*scene.region._scan(DELIVERIES), *scene.region._scan(CONTROL)])


def test_a_retry_sends_the_same_bytes_and_asks_nobody_again(scene: Scene) -> None:
    scene.bedrock.will(converse_reply(SENTENCE))
    scene.provider.will(BUSY)
    scene.send()
    assert scene.row().status is Status.RETRYABLE
    scene.clock.advance(timedelta(seconds=BACKOFF_S[0]))
    scene.poller.poll()
    first, second = scene.emails
    assert scene.row().status is Status.ACCEPTED
    assert fingerprint(first) == fingerprint(second) == scene.row().fingerprint
    assert SENTENCE in second.text
    assert len(scene.bedrock.requests) == 1


def test_a_plain_digest_stays_plain_when_the_model_is_well_again(scene: Scene) -> None:
    scene.bedrock.will(converse_error("ThrottlingException", 429), converse_reply(SENTENCE))
    scene.provider.will(BUSY)
    scene.send()
    scene.clock.advance(timedelta(minutes=2))
    scene.poller.poll()
    first, second = scene.emails
    assert fingerprint(first) == fingerprint(second)
    assert scene.row().summary == SummaryNote(RECIPE, "ThrottlingException")
    assert len(scene.bedrock.requests) == 1


def test_a_week_s_tokens_end_and_its_digests_go_on(scene: Scene) -> None:
    scene.bedrock.will(*[converse_reply(SENTENCE)] * 6)
    for number in range(7):
        scene.send(f"c-{number}")
    outcomes = [row.summary.outcome for row in scene.region.deliveries().values() if row.summary is not None]
    # The seventh may take 6,000 of 10,000 tokens, and six have used 740 each.
    assert sorted(outcomes) == ["over_budget", *["written"] * 6]
    assert {row.status for row in scene.region.deliveries().values()} == {Status.ACCEPTED}


def test_a_table_that_does_not_keep_the_summary_does_not_keep_the_digest_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("Canary blue lamp")

    monkeypatch.setattr(DynamoSummaries, "keep", broken)
    scene.bedrock.will(converse_reply(SENTENCE))
    scene.send()
    assert scene.row().status is Status.ACCEPTED
    assert SENTENCE not in scene.emails[0].text
    assert scene.row().summary == SummaryNote(RECIPE, "RuntimeError")


def told(log: io.StringIO, capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What was logged, and which metrics were written."""
    printed = capsys.readouterr().out
    return log_lines(log), [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


def test_tokens_are_counted_by_prompt_version_and_digests_by_what_became_of_their_summary(
    scene: Scene, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.bedrock.will(converse_reply(SENTENCE), converse_error("AccessDeniedException", 403))
    scene.send("c-1")
    scene.send("c-2")
    lines, metrics = told(log, capsys)
    attempted = [line for line in lines if line["message"] == "delivery.attempted"]
    assert [line["summary"] for line in attempted] == ["written", "AccessDeniedException"]
    counted = {
        name: (line[name], line["prompt_version"])
        for line in metrics
        for name in (names.METRIC_SUMMARY_INPUT_TOKENS, names.METRIC_SUMMARY_OUTPUT_TOKENS)
        if name in line
    }
    assert counted == {
        names.METRIC_SUMMARY_INPUT_TOKENS: ([700.0], "weekly-summary-v1"),
        names.METRIC_SUMMARY_OUTPUT_TOKENS: ([40.0], "weekly-summary-v1"),
    }
    by_outcome = {line["outcome"]: line[names.METRIC_SUMMARIES] for line in metrics if names.METRIC_SUMMARIES in line}
    assert by_outcome == {"written": [1.0], "AccessDeniedException": [1.0]}


@pytest.mark.parametrize("status", [200, 400, 500])
def test_neither_what_a_model_is_told_nor_what_it_says_is_seen_anywhere(
    scene: Scene, log: io.StringIO, capsys: pytest.CaptureFixture[str], status: int
) -> None:
    reply = converse_reply(SENTENCE) if status == 200 else converse_error("ValidationException", status)
    scene.bedrock.will(reply)
    scene.send()
    assert b"Canary blue lamp" in scene.bedrock.requests[0].body
    everything = log.getvalue() + capsys.readouterr().out + json.dumps(list(scene.region._scan(DELIVERIES)))
    assert "canary" not in everything.lower()
    assert "11.77" not in everything


def test_a_retry_is_not_counted_again(scene: Scene, log: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    scene.bedrock.will(converse_reply(SENTENCE))
    scene.provider.will(BUSY)
    scene.send()
    scene.clock.advance(timedelta(seconds=BACKOFF_S[0]))
    scene.poller.poll()
    lines, metrics = told(log, capsys)
    assert [line.get("summary") for line in lines if line["message"] == "delivery.attempted"] == ["written", None]
    assert sum(names.METRIC_SUMMARIES in line for line in metrics) == 1


def test_where_summaries_are_not_set_no_client_is_made_for_them(functions: Functions) -> None:
    for consumer in (functions.email.consumer, functions.sms.consumer, functions.webhook.consumer):
        summariser = consumer._work.consumer.composer.summariser
        assert summariser is None or summariser.writer is None
