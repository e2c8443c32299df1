"""What providers say afterwards reaches the queue, from our own sends only, and without anybody's address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions import names
from functions.core.delivery import ReceiptState
from functions.core.identity import Channel
from functions.core.instants import from_text, to_text
from functions.core.receipt_codes import SES
from functions.core.receipt_messages import ReceiptMessage, read_receipt
from stacks.settings import Target
from tests.fakes.event_bridge import matches, transformed
from tests.fakes.examples import a_delivery
from tests.infrastructure.alarm_causes import by_function
from tests.infrastructure.alarm_course import alarms_of, comes_and_goes
from tests.infrastructure.templates import Template, as_list, context, synthesise

RULE = "AWS::Events::Rule"
SECRET = "mail-provider-signing"
# Fields of an event that hold an address, a number, or words of somebody's.
PERSONAL = ("destination", "emailAddress", "headers", "subject", "diagnosticCode", "PhoneNumber", "StatusDescription")


def rule_of(template: Template, source: str) -> Mapping[str, Any]:
    rules = template.properties(RULE).values()
    (found,) = [each for each in rules if each["EventPattern"]["source"] == [source]]
    return found


def transformer(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    (target,) = rule["Targets"]
    transformed: Mapping[str, Any] = target["InputTransformer"]
    return transformed


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Template]:
    """Both regions, as they would be with the other provider of each channel."""
    folder: Path = tmp_path_factory.mktemp("others")
    regions = {
        name: {
            "allowed_hosts": ["api.mail.example"],
            "receipts": {"webhook_secret": SECRET},
            "channels": {
                "email": {
                    "provider": "http",
                    "provider_options": {
                        "url": "https://api.mail.example",
                        "api_key_secret": "mail-provider-key",
                        "key_window_s": 24 * 3600,
                        "lookup_window_s": 0,
                    },
                },
                "sms": {"provider": "eum", "provider_options": {"origination_identity": "pool/pool-0a1b2c"}},
            },
        }
        for name in context()["regions"]
    }
    overrides = folder / "overrides.json"
    overrides.write_text(json.dumps({"regions": regions}), encoding="utf-8")
    return synthesise(Target.AWS, folder / "out", overrides=overrides)


@pytest.fixture(params=["us", "eu"])
def other(request: pytest.FixtureRequest, others: Mapping[str, Template]) -> Template:
    return others[request.param]


def test_emails_are_sent_with_the_configuration_set_whose_events_we_listen_to(template: Template) -> None:
    (configuration_set,) = template.properties("AWS::SES::ConfigurationSet").values()
    (set_id,) = template.of_type("AWS::SES::ConfigurationSet")
    options = template.consumer("email")["Environment"]["Variables"][names.ENV_PROVIDER_OPTIONS]
    assert options["Fn::Join"][1] == ['{"configuration_set":"', {"Ref": set_id}, '"}']
    listened_to = rule_of(template, "aws.ses")["EventPattern"]["detail"]["mail"]["tags"]["ses:configuration-set"]
    assert listened_to == [configuration_set["Name"]] == [names.stack_name(template.data_region)]


def test_ses_tells_the_bus_that_the_rule_is_on_of_all_that_can_become_of_an_email(template: Template) -> None:
    (destination,) = template.properties("AWS::SES::ConfigurationSetEventDestination").values()
    told = destination["EventDestination"]
    assert told["Enabled"] is True
    assert told["EventBridgeDestination"]["EventBusArn"]["Fn::Join"][1][-1] == ":event-bus/default"
    assert "EventBusName" not in rule_of(template, "aws.ses")
    assert set(told["MatchingEventTypes"]) == {"bounce", "complaint", "delivery", "deliveryDelay", "reject"}


def test_another_account_s_events_are_not_listened_to(template: Template, other: Template) -> None:
    for rule in (rule_of(template, "aws.ses"), rule_of(other, "aws.sms-voice")):
        assert rule["EventPattern"]["account"] == [{"Ref": "AWS::AccountId"}]


def test_texts_of_other_applications_are_not_listened_to(other: Template) -> None:
    origin = rule_of(other, "aws.sms-voice")["EventPattern"]["detail"]["context"]["origin"]
    options = json.loads(
        "".join(
            part if isinstance(part, str) else "-"
            for part in other.consumer("sms")["Environment"]["Variables"][names.ENV_PROVIDER_OPTIONS]["Fn::Join"][1]
        )
    )
    assert origin == [options["origin"]] == [names.stack_name(other.data_region)]


def test_no_address_number_or_word_of_an_event_is_put_on_the_queue(template: Template, other: Template) -> None:
    for rule in (rule_of(template, "aws.ses"), rule_of(other, "aws.sms-voice")):
        paths = transformer(rule)["InputPathsMap"].values()
        assert not [path for path in paths for field in PERSONAL if field in path]
        assert not set(paths) & {"$", "$.detail", "$.detail.mail", "$.detail.bounce", "$.detail.complaint"}
        assert "aws.events.event>" not in transformer(rule)["InputTemplate"]
        assert "aws.events.event.json" not in transformer(rule)["InputTemplate"]


def test_what_the_rules_write_is_what_the_function_reads(template: Template, other: Template) -> None:
    for rule in (rule_of(template, "aws.ses"), rule_of(other, "aws.sms-voice")):
        written = transformer(rule)["InputTemplate"].replace("<tags>", "{}")
        assert set(json.loads(written)) <= set(ReceiptMessage.model_fields)
        for path_name in transformer(rule)["InputPathsMap"]:
            assert f"<{path_name}>" in transformer(rule)["InputTemplate"]


def test_every_kind_of_event_that_is_asked_for_has_its_meaning(template: Template) -> None:
    (destination,) = template.properties("AWS::SES::ConfigurationSetEventDestination").values()
    meant = {state for state in SES.values() if state not in {None, ReceiptState.SENT}}
    assert len(destination["EventDestination"]["MatchingEventTypes"]) == len(meant)


def test_a_rule_may_put_its_events_on_the_queue(template: Template, other: Template) -> None:
    for each in (template, other):
        queue = each.referred(names.OUTPUT_RECEIPTS_QUEUE)
        (policy,) = [
            policy
            for policy in each.properties("AWS::SQS::QueuePolicy").values()
            if policy["Queues"] == [{"Ref": queue}]
        ]
        admitted = {
            statement["Condition"]["ArnEquals"]["aws:SourceArn"]["Fn::GetAtt"][0]
            for statement in policy["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Allow" and statement["Principal"] == {"Service": "events.amazonaws.com"}
        }
        assert admitted == set(each.of_type(RULE))


def test_the_receipts_function_changes_rows_and_profiles_and_sends_nothing(template: Template) -> None:
    statements = template.statements_of(template.function(names.OUTPUT_RECEIPTS_FUNCTION))
    actions = {action for each in statements for action in as_list(each["Action"])}
    assert {action for action in actions if action.startswith("dynamodb:")} == {
        "dynamodb:BatchGetItem",
        "dynamodb:GetItem",
        "dynamodb:UpdateItem",
    }
    assert not [action for action in actions if action.startswith(("ses:", "sns:", "sms-voice:", "secretsmanager:"))]
    assert "sqs:SendMessage" not in actions


def test_every_receive_of_an_event_but_the_first_has_its_pause(template: Template) -> None:
    function = template.function(names.OUTPUT_RECEIPTS_FUNCTION)
    queue = template.properties("AWS::SQS::Queue")[template.referred(names.OUTPUT_RECEIPTS_QUEUE)]
    pauses = function["Environment"]["Variables"][names.ENV_BACKOFF_S].split(",")
    assert len(pauses) == queue["RedrivePolicy"]["maxReceiveCount"] - 1
    assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]
    assert sum(int(pause) for pause in pauses) < queue["MessageRetentionPeriod"]


def test_webhooks_have_no_way_in_where_no_provider_sends_any(template: Template) -> None:
    (url,) = template.properties("AWS::Lambda::Url").values()
    assert url["TargetFunctionArn"]["Fn::GetAtt"][0] == template.referred(names.OUTPUT_UNSUBSCRIBE_FUNCTION)
    assert not [key for key in template.body["Outputs"] if key.startswith("ReceiptIntake")]


def test_anybody_may_knock_at_the_intake_and_it_may_do_nothing_but_store(other: Template) -> None:
    function_id = other.referred(names.OUTPUT_RECEIPT_INTAKE_FUNCTION)
    (url,) = [
        each
        for each in other.properties("AWS::Lambda::Url").values()
        if each["TargetFunctionArn"] == {"Fn::GetAtt": [function_id, "Arn"]}
    ]
    assert url["AuthType"] == "NONE"
    assert "Cors" not in url
    statements = other.statements_of(other.function(names.OUTPUT_RECEIPT_INTAKE_FUNCTION))
    allowed = {action: each["Resource"] for each in statements for action in as_list(each["Action"])}
    assert set(allowed) == {
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "sqs:SendMessage",
        "secretsmanager:GetSecretValue",
    }
    assert allowed["sqs:SendMessage"] == {"Fn::GetAtt": [other.referred(names.OUTPUT_RECEIPTS_QUEUE), "Arn"]}
    assert allowed["secretsmanager:GetSecretValue"]["Fn::Join"][1][-1] == f":secret:{SECRET}-??????"


def test_texts_may_be_sent_from_our_own_number_and_from_no_other(other: Template) -> None:
    statements = other.statements_of(other.consumer("sms"))
    (sends,) = [each for each in statements if "sms-voice:SendTextMessage" in as_list(each["Action"])]
    assert sends["Resource"]["Fn::Join"][1][-1] == ":pool/pool-0a1b2c"
    assert not [each for each in statements if "sns:Publish" in as_list(each["Action"])]


def test_only_channels_whose_provider_tells_are_waited_for(template: Template, other: Template) -> None:
    told = {
        key: each.function(names.OUTPUT_RECONCILER_FUNCTION)["Environment"]["Variables"][names.ENV_RECEIPT_CHANNELS]
        for key, each in {"ses and sns": template, "http and eum": other}.items()
    }
    assert told == {"ses and sns": "email", "http and eum": "email,sms"}


def test_parked_events_are_noticed(template: Template) -> None:
    parked = template.referred(names.OUTPUT_RECEIPTS_DEAD_LETTER_QUEUE)
    alarms = template.properties("AWS::CloudWatch::Alarm").values()
    watched = [
        each["MetricName"]
        for each in alarms
        if {"Fn::GetAtt": [parked, "QueueName"]} in [one["Value"] for one in each.get("Dimensions", ())]
    ]
    assert sorted(watched) == ["ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"]


@pytest.mark.parametrize("metric", ["Errors", "Throttles"])
def test_the_alarms_of_the_intake_come_and_go(other: Template, metric: str) -> None:
    alarm = alarms_of(other)[f"ReceiptIntake{metric}"]
    sent = by_function(metric, names.OUTPUT_RECEIPT_INTAKE_FUNCTION)
    comes_and_goes(alarm, sent.while_wrong(other), sent.once_mended(other))


EITHER = frozenset({("channel", "email"), ("channel", "sms")})


@pytest.mark.parametrize("what", ["BounceRate", "ComplaintRate", "ReceiptsSilent"])
def test_each_channel_whose_provider_tells_has_its_rates_watched(other: Template, what: str) -> None:
    alarms = alarms_of(other)
    email, sms = (alarms[f"{channel}{what}"].series for channel in ("Email", "Sms"))
    assert {replace(each, dimensions=each.dimensions ^ EITHER) for each in email} == sms
    assert f"Webhook{what}" not in alarms


# --- what arrives, event by event ---

PERSON = "canary.person@example.com"
NUMBER = "+15550104170"
INGESTED_AT = "2026-11-22T20:05:00Z"
ID = a_delivery().delivery_id
TEXT_ID = a_delivery(channel=Channel.SMS).delivery_id


def ses_event(data_region: str, detail_type: str, **what: Any) -> dict[str, Any]:
    """As SES puts it on the bus, with all that it says of a person."""
    tags = {"ses:configuration-set": [names.stack_name(data_region)], "ses:source-ip": ["192.0.2.1"]}
    return {
        "version": "0",
        "id": "b1c8-event",
        "detail-type": detail_type,
        "source": "aws.ses",
        "account": "111122223333",
        "time": "2026-11-22T20:04:59Z",
        "region": "us-east-1",
        "resources": ["arn:aws:ses:us-east-1:111122223333:configuration-set/DigestDelivery-us"],
        "detail": {
            "eventType": "-",
            "mail": {
                "timestamp": "2026-11-22T20:00:00.123Z",
                "source": "Shop <digest@example.com>",
                "messageId": "ses-1",
                "destination": [PERSON],
                "headers": [{"name": "Subject", "value": "Canary subject"}],
                "commonHeaders": {"to": [PERSON], "subject": "Canary subject"},
                "tags": {**tags, **{part: [text] for part, text in ID.as_tags().items()}},
            },
            **what,
        },
    }


EMAIL_EVENTS: list[tuple[str, dict[str, Any], ReceiptState, str, str]] = [
    (
        "Email Delivered",
        {
            "delivery": {
                "timestamp": "2026-11-22T20:00:02.500Z",
                "recipients": [PERSON],
                "smtpResponse": f"250 {PERSON}",
            }
        },
        ReceiptState.DELIVERED,
        "Email Delivered",
        "2026-11-22T20:00:02.500Z",
    ),
    (
        "Email Bounced",
        {
            "bounce": {
                "bounceType": "Permanent",
                "bounceSubType": "General",
                "bouncedRecipients": [
                    {
                        "emailAddress": PERSON,
                        "action": "failed",
                        "status": "5.1.1",
                        "diagnosticCode": f"smtp; 550 5.1.1 {PERSON} unknown",
                    }
                ],
                "timestamp": "2026-11-22T20:00:03.000Z",
                "feedbackId": "feedback-1",
            }
        },
        ReceiptState.BOUNCED,
        "Permanent/General/5.1.1",
        "2026-11-22T20:00:03.000Z",
    ),
    (
        "Email Bounced",
        {
            "bounce": {
                "bounceType": "Permanent",
                "bounceSubType": "OnAccountSuppressionList",
                "bouncedRecipients": [{"emailAddress": PERSON}],
                "timestamp": "2026-11-22T20:00:03.000Z",
            }
        },
        ReceiptState.BOUNCED,
        "Permanent/OnAccountSuppressionList",
        "2026-11-22T20:00:03.000Z",
    ),
    (
        "Email Bounced",
        {
            "bounce": {
                "bounceType": "Transient",
                "bounceSubType": "General",
                "bouncedRecipients": [{"emailAddress": PERSON, "status": "5.4.4"}],
                "timestamp": "2026-11-22T20:00:03.000Z",
            }
        },
        ReceiptState.BOUNCED,
        "Transient/General/5.4.4",
        "2026-11-22T20:00:03.000Z",
    ),
    (
        "Email Complaint Received",
        {
            "complaint": {
                "complainedRecipients": [{"emailAddress": PERSON}],
                "timestamp": "2026-11-22T20:03:00.000Z",
                "complaintFeedbackType": "abuse",
            }
        },
        ReceiptState.COMPLAINED,
        "abuse",
        "2026-11-22T20:03:00.000Z",
    ),
    (
        "Email Delivery Delayed",
        {
            "deliveryDelay": {
                "timestamp": "2026-11-22T20:04:00.000Z",
                "delayType": "MailboxFull",
                "delayedRecipients": [{"emailAddress": PERSON, "diagnosticCode": f"452 {PERSON}"}],
            }
        },
        ReceiptState.DELAYED,
        "MailboxFull",
        "2026-11-22T20:04:00.000Z",
    ),
    (
        "Email Rejected",
        {"reject": {"reason": "Bad content"}},
        ReceiptState.FAILED,
        "Email Rejected",
        "2026-11-22T20:04:59.000Z",
    ),
]


@pytest.mark.parametrize(
    ("detail_type", "what", "state", "code", "at"), EMAIL_EVENTS, ids=[one[3].replace("/", " ") for one in EMAIL_EVENTS]
)
def test_what_ses_says_arrives_without_the_person_it_is_about(
    template: Template, detail_type: str, what: dict[str, Any], state: ReceiptState, code: str, at: str
) -> None:
    event = ses_event(template.data_region, detail_type, **what)
    body = transformed(transformer(rule_of(template, "aws.ses")), event, ingested_at=INGESTED_AT)
    assert not [word for word in (PERSON, "Canary", "digest@example.com") if word in body]
    read = read_receipt(body, queued_at=from_text(INGESTED_AT))
    assert (read.provider, read.event_id, read.reference, read.delivery_id) == ("ses", "b1c8-event", "ses-1", ID)
    assert (read.state, read.code, to_text(read.at)) == (state, code, at)
    assert to_text(read.arrived_at) == "2026-11-22T20:05:00.000Z"


def test_emails_that_others_send_are_not_listened_to(template: Template) -> None:
    pattern = {**rule_of(template, "aws.ses")["EventPattern"], "account": ["111122223333"]}
    ours = ses_event(template.data_region, "Email Delivered")
    assert matches(pattern, ours)
    assert not matches(pattern, {**ours, "account": "999999999999"})
    assert not matches(pattern, ses_event("somebody-else", "Email Delivered"))


def eum_event(data_region: str, event_type: str, status: str) -> dict[str, Any]:
    return {
        "version": "0",
        "id": "5c0f-event",
        "detail-type": "Text Message Delivery Status Updated",
        "source": "aws.sms-voice",
        "account": "111122223333",
        "time": "2026-11-22T20:04:59Z",
        "detail": {
            "eventType": event_type,
            "eventTimestamp": 1795377602500,
            "isFinal": True,
            "originationPhoneNumber": "+15550100000",
            "destinationPhoneNumber": NUMBER,
            "messageId": "eum-1",
            "messageStatus": status,
            "messageStatusDescription": f"{NUMBER} does not answer",
            "context": {**TEXT_ID.as_tags(), "origin": names.stack_name(data_region)},
        },
    }


def test_what_end_user_messaging_says_arrives_without_the_number_it_is_about(other: Template) -> None:
    rule = rule_of(other, "aws.sms-voice")
    event = eum_event(other.data_region, "TEXT_CARRIER_UNREACHABLE", "CARRIER_UNREACHABLE")
    assert matches({**rule["EventPattern"], "account": ["111122223333"]}, event)
    body = transformed(transformer(rule), event, ingested_at=INGESTED_AT)
    assert NUMBER not in body
    assert "answer" not in body
    read = read_receipt(body, queued_at=from_text(INGESTED_AT))
    assert (read.provider, read.event_id, read.reference, read.delivery_id) == ("eum", "5c0f-event", "eum-1", TEXT_ID)
    assert (read.state, read.code) == (ReceiptState.SOFT_BOUNCED, "CARRIER_UNREACHABLE")
    assert to_text(read.at) == "2026-11-22T20:00:02.500Z"
