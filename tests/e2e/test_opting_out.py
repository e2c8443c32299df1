"""People who leave between planning and sending, on deployed stacks whose roles are enforced."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import urllib3

from functions import names
from functions.adapters.opt_out_memory import LEFT
from functions.adapters.schedule_rows import consent_attribute
from functions.adapters.traffic import DynamoTraffic
from functions.core.customer import PROFILE
from functions.core.delivery import Delivery, SkipReason, Status
from functions.core.identity import Channel, Topic
from functions.core.keyring import KeyRing
from functions.core.opt_out_memory import address_mark
from functions.core.unsubscribe_token import Subscription, write_token
from ops.local.emulator import Emulator
from ops.local.running_region import RunningRegion
from ops.local.simulated_provider import SimulatedProvider
from tests.e2e.people import Mailboxes, Person, digest, eventually, import_people, rows_of

Regions = Mapping[str, RunningRegion]
ONE_CLICK = "List-Unsubscribe=One-Click"
FORM = {"content-type": "application/x-www-form-urlencoded", "accept-language": "de"}


class WithANumberOfTheirOwn(Person):
    @property
    def phone(self) -> str:
        return "+12025550177"


class Gone(Person):
    @property
    def phone(self) -> str:
        return "+12025550178"


def say_stop(region: RunningRegion, emulator: Emulator, number: str) -> None:
    """Text STOP, as End User Messaging brings it."""
    text = {"originationNumber": number, "messageBody": " Stopp! ", "inboundMessageId": "cae173d2-66b9"}
    emulator.client("sns", region.aws_region).publish(
        TopicArn=region.deployment.output(names.OUTPUT_INBOUND_TOPIC), Message=json.dumps(text)
    )


def profile(region: RunningRegion, person: Person) -> Mapping[str, Any]:
    key = (person.customer_id, PROFILE)
    return region.deployment.rows.read([key])[key]


def consent(region: RunningRegion, person: Person, topic: Topic, channel: Channel) -> str:
    held: str = profile(region, person)[consent_attribute(topic, channel)]
    return held


def row(region: RunningRegion, person: Person, channel: Channel, *statuses: Status) -> Delivery | None:
    held = rows_of(region, person).get(channel)
    return held if held is not None and held.status in statuses else None


def visit(emulator: Emulator, link: str, method: str, body: str | None = None) -> urllib3.BaseHTTPResponse:
    """Open a link, at the address under which the emulator serves the function's URL."""
    parts = urlsplit(link)
    url_id = (parts.hostname or "").partition(".")[0]
    address = f"{emulator.endpoint_url}/_aws/lambda-url/{url_id}{parts.path}"
    return urllib3.request(method, address, body=body, headers=FORM, retries=False, timeout=30)


def test_leaving_between_planning_and_sending_is_in_time(
    regions: Regions, emulator: Emulator, mailboxes: Mailboxes, cloud: Mapping[str, str], tmp_path: Path
) -> None:
    region, lena = regions["eu"], Person("leaving-lena", "eu")
    traffic = DynamoTraffic(region.deployment.dynamodb, region.deployment.control_table)
    traffic.halt(Channel.EMAIL, at=lena.due_at, cause="nothing leaves before she has left")
    import_people([lena], tmp_path, cloud)
    region.wake(names.OUTPUT_PLANNER_SCHEDULE)
    waiting = partial(row, region, lena, Channel.EMAIL, Status.RETRYABLE)
    planned = eventually(
        waiting, waking=region, within_s=60, what="the email planned, and put off by the halted channel"
    )

    rings = emulator.client("secretsmanager", region.aws_region)
    secret = rings.get_secret_value(SecretId=region.deployment.output(names.OUTPUT_UNSUBSCRIBE_KEYS))["SecretString"]
    subscription = Subscription(lena.customer_id, Topic.DIGEST, Channel.EMAIL)
    token = write_token(subscription, KeyRing.parse(secret), at=planned.selected_at)
    link = region.deployment.output(names.OUTPUT_UNSUBSCRIBE_URL) + token
    assert visit(emulator, link, "POST", ONE_CLICK).status == 200

    traffic.resume(Channel.EMAIL)

    def skipped() -> Delivery | None:
        region.wake(names.OUTPUT_RECONCILER_SCHEDULE)
        return row(region, lena, Channel.EMAIL, Status.SKIPPED)

    ended = eventually(skipped, within_s=90, what="the email skipped")
    assert ended.skip_reason is SkipReason.OPTED_OUT
    assert mailboxes.of(lena) == []
    assert rows_of(region, lena)[Channel.SMS].status is Status.ACCEPTED


@pytest.mark.parametrize("data_region", ["us", "eu"])
def test_the_link_in_the_mail_shows_a_page_and_leaves_when_its_button_is_pressed(
    regions: Regions,
    emulator: Emulator,
    mailboxes: Mailboxes,
    cloud: Mapping[str, str],
    tmp_path: Path,
    data_region: str,
) -> None:
    region, person = regions[data_region], Person(f"button-{data_region}", data_region, digest_channels="email")
    import_people([person], tmp_path, cloud)
    region.wake(names.OUTPUT_PLANNER_SCHEDULE)
    accepted = partial(row, region, person, Channel.EMAIL, Status.ACCEPTED)
    eventually(accepted, waking=region, within_s=60, what="the email accepted")
    (mail,) = mailboxes.of(person)
    url = region.deployment.output(names.OUTPUT_UNSUBSCRIBE_URL)
    (link,) = set(re.findall(rf"{re.escape(url)}[A-Za-z0-9._-]+", mail.html + mail.text))

    page = visit(emulator, link, "GET")
    assert (page.status, page.headers["content-language"]) == (200, "de")
    assert '<form method="post">' in page.data.decode()
    assert visit(emulator, link, "HEAD").status == 200
    assert consent(region, person, Topic.DIGEST, Channel.EMAIL) == "opted_in"

    for _ in range(2):
        done = visit(emulator, link, "POST", ONE_CLICK)
        assert (done.status, "Abbestellt" in done.data.decode()) == (200, True)
    assert consent(region, person, Topic.DIGEST, Channel.EMAIL) == "opted_out"
    assert consent(region, person, Topic.REMINDER, Channel.EMAIL) == "opted_in"

    import_people([person], tmp_path, cloud)
    assert consent(region, person, Topic.DIGEST, Channel.EMAIL) == "opted_out"
    assert visit(emulator, link[:-1], "POST", ONE_CLICK).status == 404


def test_the_mail_programs_button_is_offered_through_the_http_provider_too(
    regions: Regions, provider: SimulatedProvider, cloud: Mapping[str, str], tmp_path: Path
) -> None:
    region, person = regions["us"], Person("one-click-olga", "us", digest_channels="email")
    import_people([person], tmp_path, cloud)
    region.wake(names.OUTPUT_PLANNER_SCHEDULE)
    eventually(
        partial(row, region, person, Channel.EMAIL, Status.ACCEPTED),
        waking=region,
        within_s=60,
        what="the email accepted",
    )
    (operation,) = [one for one in provider.operations if one.to == person.email]
    url = region.deployment.output(names.OUTPUT_UNSUBSCRIBE_URL)
    assert operation.email.headers["List-Unsubscribe"].startswith(f"<{url}0.{person.customer_id}.digest.email.")
    assert operation.email.headers["List-Unsubscribe-Post"] == ONE_CLICK


def test_stop_ends_every_text(regions: Regions, emulator: Emulator, cloud: Mapping[str, str], tmp_path: Path) -> None:
    region, stella = regions["eu"], WithANumberOfTheirOwn("stop-stella", "eu", digest_channels="sms")
    # Without a digest until she has said so: the planner wakes by itself, too.
    import_people([replace(stella, digest_channels="")], tmp_path, cloud)
    say_stop(region, emulator, stella.phone)
    eventually(lambda: "suppressed" in profile(region, stella), within_s=60, what="the STOP taken")
    assert profile(region, stella)["suppressed"]["sms"]["cause"] == "stop"
    assert {consent(region, stella, topic, Channel.SMS) for topic in Topic} == {"opted_out"}
    import_people([stella], tmp_path, cloud)
    region.wake(names.OUTPUT_PLANNER_SCHEDULE)
    ended = partial(row, region, stella, Channel.SMS, Status.SKIPPED, Status.ACCEPTED)
    assert eventually(ended, waking=region, within_s=60, what="the text skipped").skip_reason is SkipReason.SUPPRESSED
    assert not [one for one in emulator.texts() if one.to == stella.phone]


def test_who_was_erased_and_leaves_by_an_old_mail_stays_left_when_they_are_imported_again(
    regions: Regions, emulator: Emulator, mailboxes: Mailboxes, cloud: Mapping[str, str], tmp_path: Path
) -> None:
    region, greta = regions["eu"], Gone("gone-greta", "eu", digest_channels="email")
    import_people([greta], tmp_path, cloud)
    region.wake(names.OUTPUT_PLANNER_SCHEDULE)
    eventually(
        partial(row, region, greta, Channel.EMAIL, Status.ACCEPTED),
        waking=region,
        within_s=60,
        what="the email accepted",
    )
    (mail,) = mailboxes.of(greta)
    (link,) = set(
        re.findall(r"https?://[^\s\"<>]+/0\.gone-greta\.digest\.email\.[A-Za-z0-9_-]+", mail.html + mail.text)
    )

    erased = digest(["customers", "erase", greta.customer_id, "--yes"], cloud)
    assert (erased.returncode, erased.stderr) == (0, "")
    assert region.deployment.rows.read([(greta.customer_id, PROFILE)]) == {}
    assert rows_of(region, greta)[Channel.EMAIL].provider_reference is None

    assert visit(emulator, link, "POST", ONE_CLICK).status == 200
    say_stop(region, emulator, greta.phone)
    key = next(iter(region.deployment.opt_out_keys))
    remembered = (address_mark(Channel.SMS, greta.phone, key), LEFT)
    eventually(lambda: region.deployment.rows.read([remembered]), within_s=60, what="the STOP remembered")

    import_people([greta], tmp_path, cloud)
    assert consent(region, greta, Topic.DIGEST, Channel.EMAIL) == "opted_out"
    assert consent(region, greta, Topic.REMINDER, Channel.EMAIL) == "opted_in"
    assert profile(region, greta)["suppressed"]["sms"]["cause"] == "stop"
