"""`digest preview` against a region: what the customer would get now, with the settings that the consumer runs with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from functions import names
from functions.adapters.summaries import DynamoSummaries
from functions.core.composition import Moment
from functions.core.customer import Consent, Obsolete
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel, Topic
from functions.core.summary import Summary, SummaryNote
from ops.cli import main
from ops.cli.workplace import Workplace
from ops.deployment import Deployment, RegionDeployment
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CUSTOMERS, ENVIRONMENT, channel_environment, unsubscribe_environment
from tests.fakes.examples import EMAIL_ADDRESS, PHONE_NUMBER, a_delivery, a_profile, a_reminder, an_activity
from tests.fakes.summaries import RECIPE, SUMMARY_OPTIONS
from tests.integration.operators_desk import OUTPUTS
from tests.integration.region import Clock, Functions, Region

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


@dataclass
class DeployedConsumers:
    """Lambda, as far as it tells the environment of a function."""

    changed: dict[str, str] = field(default_factory=dict)

    def get_function_configuration(self, *, FunctionName: str) -> Mapping[str, Any]:  # noqa: N803 - as boto3 spells it
        variables = ENVIRONMENT | channel_environment(Channel(FunctionName.removesuffix("-consumer"))) | self.changed
        return {"Environment": {"Variables": {name: value for name, value in variables.items() if value}}}


class DeployedRegion(RegionDeployment):
    """A region whose consumers can be asked for their settings."""

    def __init__(self, consumers: DeployedConsumers) -> None:
        outputs = OUTPUTS | {names.consumer_output(channel): f"{channel}-consumer" for channel in Channel}
        super().__init__("us", "us-east-1", outputs=outputs)
        self.consumers = consumers

    @property
    def functions(self) -> LambdaClient:
        return self.consumers  # type: ignore[return-value]


@dataclass
class Viewer:
    """Somebody at a terminal who wants to see messages."""

    region: Region
    clock: Clock
    capsys: pytest.CaptureFixture[str]
    consumers: DeployedConsumers = field(default_factory=DeployedConsumers)
    err: str = ""

    def sees(self, *arguments: str, status: int = 0) -> str:
        before = self.region.deliveries()
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(
                ["preview", "--customer", "c-417", *arguments],
                workplace=Workplace(Deployment([DeployedRegion(self.consumers)]), self.clock),
            )
        assert self.region.deliveries() == before, "a preview writes nothing"
        written = self.capsys.readouterr()
        assert EMAIL_ADDRESS not in written.out + written.err
        assert PHONE_NUMBER not in written.out + written.err
        self.err = written.err
        assert left.value.code == status, written.err
        return written.out


@pytest.fixture
def viewer(region: Region, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Viewer:
    return Viewer(region, clock, capsys)


def accepted() -> Delivery:
    return a_delivery(status=Status.ACCEPTED, accepted_at=SUNDAY_EVENING, attention_at=None)


def test_an_email_is_shown_as_it_would_be_sent(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity())
    shown = viewer.sees().splitlines()
    assert shown[:4] == [
        "digest:c-417:2026-11-16:email in us: weekly-digest-v1, in en",
        "  To       c***@example.com",
        "  From     digest@example.com",
        "  Subject  Your week Nov 16\u2009\u2013\u200922: 1 order",
    ]
    assert shown[4].endswith(" KB of HTML, and the text")
    assert "- Order: Canary blue lamp ($11.77)" in shown


def test_a_summary_is_shown_once_it_is_kept_and_no_model_is_asked_for_a_look(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity())
    viewer.consumers.changed[names.ENV_SUMMARY] = json.dumps(SUMMARY_OPTIONS)
    assert "  Summary  none so far: a model is asked right before the first attempt" in viewer.sees().splitlines()
    kept = Summary(SummaryNote(RECIPE, "written", 700, 40), "A quiet week with one lamp in it.")
    DynamoSummaries(viewer.region.dynamodb, CUSTOMERS).keep(a_delivery(), kept)
    shown = viewer.sees()
    assert "A quiet week with one lamp in it.\nWritten by AI from the entries below." in shown
    assert f"  Summary  written by {RECIPE.model_id} from weekly-summary-v1, 740 tokens" in shown.splitlines()
    answer = json.loads(viewer.sees("--json"))
    assert (answer["summary"]["outcome"], answer["summary_to_come"]) == ("written", False)


def test_a_digest_whose_first_attempt_was_plain_is_shown_plain(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity())
    viewer.consumers.changed[names.ENV_SUMMARY] = json.dumps(SUMMARY_OPTIONS)
    plain = SummaryNote(RECIPE, "over_budget")
    viewer.region.put_deliveries(a_delivery(status=Status.RETRYABLE, attempt=1, summary=plain))
    assert "Summary" not in viewer.sees()


def test_a_text_is_cut_as_the_region_sets_it(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity())
    viewer.region.schedule(a_reminder(subject="very " * 100))
    viewer.consumers.changed[names.ENV_SMS_SEGMENTS] = "1"
    assert "Length   1 segment: 76 of 160 septets (GSM-7)" in viewer.sees("--channel", "sms")
    assert "very... https://shop.example.com/reminders" in viewer.sees("--channel", "sms", "--reminder", "invoice-9")


def test_a_preview_is_to_the_byte_what_the_consumer_would_hand_over(
    viewer: Viewer, functions: Functions, tmp_path: Path
) -> None:
    viewer.region.add(a_profile(locale="de"), an_activity())
    viewer.consumers.changed |= unsubscribe_environment()
    composer = functions.email.consumer._work.consumer.composer
    sent = composer.compose(a_delivery(), Moment(viewer.clock(), viewer.clock()))
    for form in ("html", "txt"):
        viewer.sees("--out", str(tmp_path / f"digest.{form}"))
        assert (tmp_path / f"digest.{form}").read_text("utf-8") == (sent.html if form == "html" else sent.text)
    assert json.loads(viewer.sees("--json"))["subject"] == sent.subject
    assert sent.subject == "Ihre Woche 16.\u201322. Nov.: 1 Bestellung"


@pytest.mark.parametrize(
    ("profile", "activity", "words"),
    [
        (a_profile(consent={(Topic.DIGEST, Channel.EMAIL): Consent.OPTED_OUT}), an_activity(), "skipped (opted_out)"),
        (a_profile(suppressed={Channel.EMAIL: "hard_bounce"}), an_activity(), "skipped (suppressed)"),
        (a_profile(active=False), an_activity(), "skipped (inactive)"),
        (a_profile(addresses={Channel.SMS: PHONE_NUMBER}), an_activity(), "skipped (no_address)"),
        (a_profile(), an_activity(occurred_at=SUNDAY_EVENING), "skipped (empty): nothing happened in that week"),
    ],
)
def test_where_nothing_would_be_sent_the_reason_is_told(
    viewer: Viewer, profile: Any, activity: Any, words: str
) -> None:
    viewer.region.add(profile, activity)
    assert words in viewer.sees(status=1)
    told = json.loads(viewer.sees("--json", status=1))
    assert (told["would_be_sent"], "html" in told) == (False, False)


def test_a_customer_in_their_quiet_hours_is_shown_what_they_get_in_the_morning(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity())
    viewer.consumers.changed[names.ENV_QUIET_HOURS] = "14:00-08:00"  # it is 15:00 in New York
    shown = viewer.sees("--channel", "sms")
    assert "Not before 2026-11-30 13:00:00 UTC: these are the customer's quiet hours" in shown
    assert "1 order for $11.77" in shown


def test_somebody_who_is_not_on_the_allow_list_gets_nothing(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity())
    viewer.consumers.changed[names.ENV_RECIPIENTS] = '["*@staging.example.com"]'
    assert "skipped (not_on_allow_list)" in viewer.sees(status=1)


def test_what_was_sent_already_says_so(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity())
    viewer.region.put_deliveries(accepted())
    assert "Sent already, accepted 2026-11-29 20:00:00 UTC: this is what it would be today" in viewer.sees()


def test_another_week_and_another_version_can_be_asked_for(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity(occurred_at=SUNDAY_EVENING - timedelta(days=1)))
    assert "Nov 23" in viewer.sees("--period", "2026-11-23", "--template", "weekly-digest-v1")


def test_a_reminder_is_shown_and_one_that_is_not_there_is_not_called_cancelled(viewer: Viewer) -> None:
    viewer.region.add(a_profile())
    viewer.region.schedule(a_reminder())
    assert "Subject  Reminder: Pay invoice 9" in viewer.sees("--reminder", "invoice-9")
    viewer.sees("--reminder", "invoice-10", status=1)
    assert "no reminder invoice-10 of c-417 in us; `digest show --customer c-417` lists those" in viewer.err


def test_a_cancelled_reminder_would_not_be_sent(viewer: Viewer) -> None:
    viewer.region.add(a_profile())
    viewer.region.schedule(a_reminder(obsolete=Obsolete.CANCELLED))
    assert "skipped (cancelled): the reminder was cancelled" in viewer.sees("--reminder", "invoice-9", status=1)


def test_an_unknown_customer_is_named(viewer: Viewer) -> None:
    viewer.sees(status=1)
    assert "no customer c-417 in us" in viewer.err


def test_a_zone_that_broke_is_named_with_the_way_out(viewer: Viewer) -> None:
    viewer.region.add(a_profile(time_zone="Mars/Phobos"), an_activity())
    viewer.sees(status=1)
    assert "Mars/Phobos" in viewer.err
    assert "import the customer again" in viewer.err


def test_a_consumer_of_another_release_is_to_be_deployed_again(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity())
    viewer.consumers.changed[names.ENV_SENDER] = ""
    viewer.sees(status=1)
    assert "the email consumer in us is of another release: deploy it again" in viewer.err


def test_the_link_to_unsubscribe_is_made_and_hidden_or_its_keys_are_asked_for(viewer: Viewer) -> None:
    viewer.region.add(a_profile(), an_activity())
    viewer.consumers.changed |= {
        names.ENV_UNSUBSCRIBE_URL: "https://unsubscribe.example.com/",
        names.ENV_UNSUBSCRIBE_KEYS: "keys",
    }
    viewer.sees(status=1)
    assert "the link to unsubscribe needs its keys (ResourceNotFoundException)" in viewer.err
    secrets = DeployedRegion(viewer.consumers).secrets_manager
    secrets.create_secret(Name="keys", SecretString=json.dumps({"0": "k" * 32}))
    told = json.loads(viewer.sees("--json"))
    assert told["headers"]["List-Unsubscribe"] == "<https://unsubscribe.example.com/***>"
    assert "Unsubscribe: https://unsubscribe.example.com/***" in told["text"]
    assert 'href="https://unsubscribe.example.com/***"' in told["html"]
