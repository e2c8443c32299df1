"""What happens to a message on its way: hidden long enough, held back without loss, and never lost by a setting."""

from __future__ import annotations

from typing import Any

from functions import names
from tests.infrastructure.templates import Template, as_list

DAY_S = 24 * 3600


def arn_of(template: Template, output: str) -> dict[str, Any]:
    return {"Fn::GetAtt": [template.referred(output), "Arn"]}


def test_a_message_in_work_stays_hidden_for_six_times_the_consumer_s_timeout(template: Template, channel: str) -> None:
    window = template.mapping(channel).get("MaximumBatchingWindowInSeconds", 0)
    assert template.queue(channel)["VisibilityTimeout"] >= 6 * template.consumer(channel)["Timeout"] + window


def test_a_busy_channel_waits_in_its_queue_instead_of_running_out_of_receives(template: Template, channel: str) -> None:
    assert template.mapping(channel)["ScalingConfig"]["MaximumConcurrency"] >= 2
    assert "ReservedConcurrentExecutions" not in template.consumer(channel)
    assert template.queue(channel)["RedrivePolicy"]["maxReceiveCount"] >= 5


def test_every_receive_but_the_first_has_its_backoff(template: Template, channel: str) -> None:
    backoff = template.consumer(channel)["Environment"]["Variables"][names.ENV_BACKOFF_S].split(",")
    assert len(backoff) == template.queue(channel)["RedrivePolicy"]["maxReceiveCount"] - 1
    assert all(0 <= int(wait) <= 12 * 3600 for wait in backoff)


def test_one_bad_message_does_not_bring_back_its_whole_batch(template: Template, channel: str) -> None:
    assert template.mapping(channel)["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_no_filter_deletes_a_message_that_it_does_not_know(template: Template) -> None:
    mappings = template.properties("AWS::Lambda::EventSourceMapping").values()
    assert not [mapping for mapping in mappings if "FilterCriteria" in mapping]


def test_each_channel_has_a_queue_and_a_consumer_of_its_own(template: Template) -> None:
    mappings = template.properties("AWS::Lambda::EventSourceMapping").values()
    pairs = {(str(each["EventSourceArn"]), str(each["FunctionName"])) for each in mappings}
    assert len(pairs) == len({queue for queue, _ in pairs}) == len({consumer for _, consumer in pairs}) == len(mappings)
    channels = template.settings.regions[template.data_region].channels.by_name()
    of_channels = {str(arn_of(template, names.queue_output(channel))) for channel in channels}
    assert of_channels <= {queue for queue, _ in pairs}


def test_a_dead_letter_outlives_its_queue_by_ten_days(template: Template, channel: str) -> None:
    kept_s = template.queue(channel)["MessageRetentionPeriod"]
    assert kept_s <= 4 * DAY_S
    assert template.dead_letter_queue(channel)["MessageRetentionPeriod"] == 14 * DAY_S


def test_a_dead_letter_can_be_sent_back_to_its_own_queue_and_comes_from_no_other(
    template: Template, channel: str
) -> None:
    redrive = template.queue(channel)["RedrivePolicy"]
    assert redrive["deadLetterTargetArn"] == arn_of(template, names.dead_letter_queue_output(channel))
    allowed = template.dead_letter_queue(channel)["RedriveAllowPolicy"]
    assert allowed["redrivePermission"] == "byQueue"
    (source,) = allowed["sourceQueueArns"]
    assert source["Fn::Join"][1][-1] == f":{template.queue(channel)['QueueName']}"


def test_nothing_but_sqs_puts_a_message_into_a_dead_letter_queue(template: Template, channel: str) -> None:
    dead_letters = arn_of(template, names.dead_letter_queue_output(channel))
    sending = [each for each in template.role_statements() if "sqs:SendMessage" in as_list(each["Action"])]
    assert sending
    assert not [each for each in sending if dead_letters in as_list(each["Resource"])]
    assert not [each for each in sending if "*" in str(each["Resource"])]


def test_a_channel_s_queues_are_opened_by_no_policy_of_their_own(template: Template, channel: str) -> None:
    ours = {template.referred(one(channel)) for one in (names.queue_output, names.dead_letter_queue_output)}
    statements = [
        statement
        for policy in template.properties("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if {queue["Ref"] for queue in policy["Queues"]} & ours
    ]
    assert {each["Effect"] for each in statements} == {"Deny"}


def test_a_queue_that_a_service_delivers_to_is_open_to_one_source_only(template: Template) -> None:
    statements = [
        statement
        for policy in template.properties("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    assert statements
    for statement in statements:
        assert statement["Action"] == "sqs:SendMessage"
        assert list(statement["Principal"]) == ["Service"]
        assert list(statement["Condition"]) == ["ArnEquals"]
        assert list(statement["Condition"]["ArnEquals"]) == ["aws:SourceArn"]


def test_a_consumer_never_sends_to_a_queue(template: Template, channel: str) -> None:
    statements = template.statements_of(template.consumer(channel))
    assert not [each for each in statements if "sqs:SendMessage" in as_list(each["Action"])]


def test_a_consumer_may_defer_a_message_of_its_own_queue_only(template: Template, channel: str) -> None:
    statements = template.statements_of(template.consumer(channel))
    defers = [each for each in statements if "sqs:ChangeMessageVisibility" in as_list(each["Action"])]
    assert [each["Resource"] for each in defers] == [arn_of(template, names.queue_output(channel))]


def test_every_queue_is_encrypted_with_a_key_that_no_sender_can_lack(template: Template) -> None:
    for queue in template.properties("AWS::SQS::Queue").values():
        assert queue["SqsManagedSseEnabled"] is True
        assert "KmsMasterKeyId" not in queue


def test_every_queue_refuses_plain_http(template: Template) -> None:
    refusing = {
        queue["Ref"]
        for policy in template.properties("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
        for queue in policy["Queues"]
    }
    assert refusing == set(template.of_type("AWS::SQS::Queue"))
