"""The check's steps, one after the other, each with its verdict; and clearing away, whatever ends them.

```
machinery ── alarms ── put customers there ── plan ── sent? ── told of? ── a dead letter, moved and back ── clear away
```
Nothing of it stands on how fast it goes: each step waits for what is to come, and then says what did not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from functions import names
from functions.adapters.dead_letter_queue import Carried, DeadLetterQueue, NoMoveTasksError
from functions.adapters.receipt_tallies import DynamoReceiptTallies
from functions.adapters.smoke_arrivals import SmokeArrivals
from functions.core.bounce_brake import BrakeRule, Tally
from functions.core.delivery import FINISHED, SkipReason, Status
from functions.core.identity import Channel
from functions.core.wording import count_of
from ops.deployment import DeploymentError, RegionDeployment, in_words
from ops.smoke.probes import DELIVERY, EMAILS, Probe, webhook
from ops.smoke.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from functions.core.delivery import Delivery
    from functions.core.ports import Clock

FIRST_LOOK_S: Final = 1.0  # then twice as long each time, up to LAST_LOOKS_S
LAST_LOOKS_S: Final = 20.0
PLANNED_WITHIN: Final = timedelta(minutes=7)  # a wake-up of the planner comes by, should the one asked for be busy
SENT_WITHIN: Final = timedelta(minutes=5)
DEAD_WITHIN: Final = timedelta(minutes=2)
COUNTED_WITHIN: Final = timedelta(minutes=1)  # SQS's counts are about right then
DROPPED_WITHIN: Final = timedelta(minutes=1)  # what was looked at is hidden for as long as half of it
MARK: Final = "smoke"  # the one field of a message that nobody can work on
LOOKS: Final = 3  # short polling asks a part of SQS's servers: one empty answer does not say that there is nothing
HIDDEN_FOR_S: Final = 30
RUNG: Final = "ReceiptsParked"  # an alarm that waits for the morning
RUNG_WITHIN: Final = timedelta(minutes=10)
SETTLES_IN: Final = timedelta(hours=1)  # a new alarm has its first data by then
_SETTLED: Final = FINISHED | {Status.DEAD_LETTER, Status.UNCERTAIN}
_ALARMS: Final = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")


class Verdict(StrEnum):
    """What a step came to."""

    PROVED = "proved"
    FAILED = "failed"
    NOT_PROVED = "not proved"  # not here, or not now: the text says why


@dataclass(frozen=True, slots=True)
class Finding:
    """One step's verdict, in words."""

    step: str
    verdict: Verdict
    told: str


@dataclass
class Check:
    """One run against one region.

    Args:
        plan: runs the region's planner once and returns what it says.
        tell: hears of each finding at once.
        patience: how long a provider's events are waited for.
        simulated: the endpoint is an emulator, which sends no events and calls nobody.
        ring: have an alarm ring that calls nobody at night, and see that it is over by itself.
    """

    region: RegionDeployment
    stage: Stage
    clock: Clock
    sleep: Callable[[float], None]
    plan: Callable[[], dict[str, Any]]
    tell: Callable[[Finding], None]
    patience: timedelta
    simulated: bool = False
    ring: bool = False
    findings: list[Finding] = field(default_factory=list)

    def run(self) -> None:
        """Go through all steps. What the check has put there is cleared away, also when it is interrupted."""
        try:
            self._step("what was left", self._clear)
            self._step("machinery", self._machinery)
            self._step("alarms", self._alarms)
            if self.ring:
                self._step("alarm that rings", self._ring)
            self._step("deliveries", self._deliveries)
            self._step("dead letters", self._dead_letters)
        finally:
            self._step("clearing away", self.clear)

    def clear(self) -> None:
        """Take away what this run, and any before it, has left."""
        rows, messages = self._clear()
        told = f"{count_of(rows, 'row')} of the check's customers and {count_of(messages, 'message')}"
        self._proved("clearing away", f"{told}; deliveries that were accepted end by themselves in a day")

    def _clear(self) -> tuple[int, int]:
        return self.stage.clear(self._wait_until), drop_messages(self.region)

    @property
    def failed(self) -> bool:
        """Whether something is not as it should be."""
        return any(finding.verdict is Verdict.FAILED for finding in self.findings)

    def _step(self, name: str, act: Callable[[], object]) -> None:
        try:
            act()
        except (ClientError, BotoCoreError) as error:
            self._failed(name, in_words(error))
        except DeploymentError as error:
            self._failed(name, str(error))

    # --- machinery ----------------------------------------------------------------------------------------------------

    def _machinery(self) -> None:
        stopped = [f"schedule {name} is {state}" for name, state in self._schedules() if state != "ENABLED"]
        stopped += [
            f"the queue of {name} is not polled ({state})" for name, state in self._mappings() if state != "Enabled"
        ]
        if stopped:
            self._failed("machinery", "; ".join(stopped))
        else:
            self._proved("machinery", "the schedules are enabled, and the queues are polled")

    def _schedules(self) -> Iterator[tuple[str, str]]:
        for output in (names.OUTPUT_PLANNER_SCHEDULE, names.OUTPUT_RECONCILER_SCHEDULE):
            for name in self.region.schedules(output):
                yield name, str(self.region.scheduler.get_schedule(Name=name)["State"])

    def _mappings(self) -> Iterator[tuple[str, str]]:
        functions = [*(names.consumer_output(channel) for channel in Channel), names.OUTPUT_RECEIPTS_FUNCTION]
        for output in (*functions, names.OUTPUT_INBOUND_FUNCTION):
            name = self.region.output(output)
            for one in self.region.functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]:
                yield name, str(one["State"])

    # --- alarms -------------------------------------------------------------------------------------------------------

    def _alarms(self) -> None:
        expected = set(self._stack_alarms())
        found = {str(one["AlarmName"]): one for one in self._described()}
        faults = [f"{name} is gone" for name in sorted(expected - set(found))]
        for name in sorted(expected & set(found)):
            faults.extend(f"{name} {what}" for what in self._faults_of(found[name]))
        unheard = self._unheard()
        if faults:
            self._failed("alarms", "; ".join(faults))
        elif unheard:
            self._failed("alarms", unheard)
        else:
            self._proved(
                "alarms", f"{count_of(len(expected), 'alarm')}, switched on, and somebody has subscribed to them"
            )

    def _ring(self) -> None:
        """CloudWatch looks at an alarm that was set by hand like at any other, and ends it at its next look."""
        name = names.alarm_name(self.region.data_region, RUNG)
        if self._state_of(name) != "OK":
            self._not_proved("alarm that rings", f"{name} is {self._state_of(name)}, and is not touched")
            return
        self.region.cloudwatch.set_alarm_state(
            AlarmName=name, StateValue="ALARM", StateReason="Set by digest smoke: nothing is wrong"
        )
        if self._until(lambda: self._state_of(name) == "OK", RUNG_WITHIN):
            self._proved("alarm that rings", f"{name} rang and is over; its two mails are yours to look for")
        else:
            self._failed("alarm that rings", f"{name} was set, and CloudWatch has not ended it")

    def _state_of(self, name: str) -> str:
        found = self.region.cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
        return str(found[0]["StateValue"]) if found else "gone"

    def _stack_alarms(self) -> Iterator[str]:
        pages = self.region.cloudformation.get_paginator("list_stack_resources").paginate(
            StackName=self.region.stack_name
        )
        for page in pages:
            for one in page["StackResourceSummaries"]:
                if one["ResourceType"] in _ALARMS:
                    yield one["PhysicalResourceId"].rpartition(":alarm:")[2]

    def _described(self) -> Iterator[Any]:
        pages = self.region.cloudwatch.get_paginator("describe_alarms").paginate(
            AlarmNamePrefix=f"{self.region.stack_name}-", AlarmTypes=["MetricAlarm", "CompositeAlarm"]
        )
        for page in pages:
            yield from page.get("MetricAlarms", [])
            yield from page.get("CompositeAlarms", [])

    def _faults_of(self, alarm: Any) -> Iterator[str]:  # noqa: ANN401 - an entry of the client
        if not alarm["ActionsEnabled"]:
            yield "is switched off"
        if not alarm.get("AlarmActions"):
            yield "tells nobody"
        changed = alarm.get("AlarmConfigurationUpdatedTimestamp", self.clock())
        if alarm["StateValue"] == "INSUFFICIENT_DATA" and self.clock() - changed > SETTLES_IN:
            yield "has had no data for an hour"

    def _unheard(self) -> str | None:
        topic = self.region.output(names.OUTPUT_ALARM_TOPIC)
        held = self.region.sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
        if not held:
            return "nobody has subscribed to the topic of the output AlarmTopic: set `alarm_email`"
        if all(one["SubscriptionArn"] == "PendingConfirmation" for one in held):
            return "nobody has confirmed the subscription to the alarms yet: there is a mail with a link"
        return None

    # --- deliveries ---------------------------------------------------------------------------------------------------

    def _deliveries(self) -> None:
        probes = [*self._emails(), *self._webhooks()]
        if not probes:
            return
        for probe in probes:
            self.stage.set(probe)
        report = self.plan()
        if report["held"]:
            self._failed("planning", "planning is held: see `digest surge show`")
            return
        if not self._until(lambda: len(self.stage.rows(probes)) == len(probes), PLANNED_WITHIN):
            self._failed("planning", f"not planned within {PLANNED_WITHIN.seconds // 60} minutes of being due")
            return
        self._proved("planning", f"{count_of(len(probes), 'reminder')} due, planned and enqueued")
        self._until(lambda: all(row.status in _SETTLED for row in self.stage.rows(probes).values()), SENT_WITHIN)
        rows = self.stage.rows(probes)
        accepted = [probe for probe in probes if self._was_accepted(probe, rows[probe])]
        self._receipts([probe for probe in accepted if probe.becomes is not None])
        for probe in accepted:
            if probe.channel is Channel.WEBHOOK:
                self._arrival(probe)

    def _emails(self) -> Sequence[Probe]:
        provider = self.region.consumer_variables(Channel.EMAIL).get(names.ENV_PROVIDER)
        if provider != "ses":
            self._not_proved("email", "email goes through an HTTP provider, and the mailbox simulator is SES's")
            return ()
        if not self._brake_allows():
            self._not_proved("bounce", "the channel is so close to its brake today that one bounce might halt it")
            return (DELIVERY,)
        return EMAILS

    def _brake_allows(self) -> bool:
        name = self.region.output(names.OUTPUT_RECEIPTS_FUNCTION)
        held = self.region.functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        rule = BrakeRule(
            after=int(held[names.ENV_BRAKE_AFTER]),
            bounces_percent=float(held[names.ENV_BRAKE_BOUNCES_PERCENT]),
            complaints_percent=float(held[names.ENV_BRAKE_COMPLAINTS_PERCENT]),
        )
        tallies = DynamoReceiptTallies(self.region.dynamodb, self.region.control_table)
        # Adding nothing is how the day's tally is read.
        today = tallies.add(Channel.EMAIL, Tally(), day=self.clock().date())
        after = today + Tally(delivered=2, bounced=1, complained=1)
        # What else comes today may be the one too many: twice as much must be allowed, too.
        return all(rule.broken_by(one) is None for one in (after, after + Tally(bounced=1, complained=1)))

    def _webhooks(self) -> Sequence[Probe]:
        url = self.region.outputs.get(names.OUTPUT_SMOKE_ENDPOINT_URL)
        if url is None:
            self._not_proved("webhook", "there is no endpoint to call: set `smoke_endpoint` in this region's settings")
            return ()
        if self.simulated:
            self._not_proved(
                "webhook", "an emulator's endpoint is on this machine, and webhooks go to public ones only"
            )
            return ()
        return (webhook(url),)

    def _was_accepted(self, probe: Probe, row: Delivery) -> bool:
        step = f"{probe.channel} to {probe.name}"
        if row.status is Status.ACCEPTED:
            self._proved(step, f"accepted by the provider, attempt {row.attempt}")
            return True
        if row.skip_reason is SkipReason.NOT_ON_ALLOW_LIST:
            self._not_proved(step, "this deployment writes to its `recipients` only, and the address is none of them")
        else:
            why = "" if row.failure is None else f": {row.failure.failure_class} ({row.failure.code})"
            self._failed(step, f"{str(row.status).replace('_', ' ')}{why}; see `digest show {row.delivery_id}`")
        return False

    def _receipts(self, probes: Sequence[Probe]) -> None:
        if self.simulated and probes:
            self._not_proved("receipts", "an emulator sends no events about emails")
            return
        self._until(lambda: all(self._told_of(probe) for probe in probes), self.patience)
        for probe in probes:
            step = f"receipt of {probe.name}"
            if self._told_of(probe):
                closed = f", and the channel is closed to them ({probe.closes})" if probe.closes else ""
                self._proved(step, f"{probe.becomes}{closed}")
            else:
                minutes = self.patience.total_seconds() / 60
                self._failed(step, f"nothing was heard in {minutes:g} minutes: docs/receipts.md, What is missing")

    def _told_of(self, probe: Probe) -> bool:
        row = self.stage.rows([probe]).get(probe)
        heard = row is not None and row.receipt is not None and row.receipt.state is probe.becomes
        return heard and (probe.closes is None or self.stage.suppressed(probe) == probe.closes)

    def _arrival(self, probe: Probe) -> None:
        times = SmokeArrivals(self.region.dynamodb, self.region.control_table).count(str(self.stage.delivery_id(probe)))
        if times == 1:
            self._proved("webhook's signature", "arrived once, and the signature holds")
        else:
            self._failed("webhook's signature", f"arrived {times} times")

    # --- dead letters -------------------------------------------------------------------------------------------------

    def _dead_letters(self) -> None:
        """Have SQS give a message up that nobody can work on, and move it back: it comes again, and nothing is sent."""
        queue = self.region.dead_letter_queue(Channel.EMAIL)
        if any(queue.counts()):
            told = "messages lie in the email dead-letter queue already, and a move knows no filter"
            self._not_proved("dead letters", f"{told}: moving them is yours to say (`digest dlq peek email`)")
            return
        body = json.dumps({MARK: self.stage.run})
        self.region.sqs.send_message(QueueUrl=self.region.queue_url(Channel.EMAIL), MessageBody=body)
        try:
            if self._is_dead(queue, body):
                self._proved("dead letters", "a message that nobody can work on is there within minutes, by SQS alone")
                self._redrive(queue, body)
            else:
                self._failed("dead letters", "a message that nobody can work on is not in the dead-letter queue")
        finally:
            if not self._until(lambda: drop_messages(self.region) > 0, DROPPED_WITHIN):
                told = (
                    f"its message is on its way still: `digest smoke --region {self.region.data_region} --clean` later"
                )
                self._failed("clearing away", told)

    def _redrive(self, queue: DeadLetterQueue, body: str) -> None:
        if not self._until(lambda: sum(queue.counts()) <= 1, COUNTED_WITHIN):
            told = "more than its message lies there by now, and a move knows no filter"
            self._not_proved("redrive", f"{told}: `digest dlq peek email`")
            return
        try:
            queue.move(1)
        except NoMoveTasksError:
            queue.carry(1, rate_per_second=1, sleep=self.sleep, carried=Carried())
            self._is_dead(queue, body)
            self._not_proved("redrive", "this endpoint has no StartMessageMoveTask; the message was carried by hand")
            return
        self._until(lambda: not queue.tasks()[0].running, DEAD_WITHIN)
        task = queue.tasks()[0]
        if task.status != "COMPLETED":
            self._failed("redrive", f"the move is {task.status.lower()} ({task.failure or 'no reason given'})")
        elif not self._is_dead(queue, body):
            self._failed("redrive", "the message was moved back and never seen again")
        else:
            self._proved("redrive", "moved to its queue by SQS, refused again, and back: nothing was sent for it")

    def _is_dead(self, queue: DeadLetterQueue, body: str) -> bool:
        return self._until(
            lambda: any(one.body == body for one in queue.look(10, until=lambda one: one.body == body)), DEAD_WITHIN
        )

    # --- waiting, and saying ------------------------------------------------------------------------------------------

    def _until(self, has_come: Callable[[], bool], within: timedelta) -> bool:
        ends, pause_s = self.clock() + within, FIRST_LOOK_S
        while not has_come():
            if self.clock() >= ends:
                return False
            self.sleep(pause_s)
            pause_s = min(2 * pause_s, LAST_LOOKS_S)
        return True

    def _wait_until(self, instant: datetime) -> None:
        self.sleep(max(1.0, (instant - self.clock()).total_seconds()))

    def _proved(self, step: str, told: str) -> None:
        self._say(Finding(step, Verdict.PROVED, told))

    def _not_proved(self, step: str, told: str) -> None:
        self._say(Finding(step, Verdict.NOT_PROVED, told))

    def _failed(self, step: str, told: str) -> None:
        self._say(Finding(step, Verdict.FAILED, told))

    def _say(self, finding: Finding) -> None:
        self.findings.append(finding)
        self.tell(finding)


def drop_messages(region: RegionDeployment) -> int:
    """Delete the check's messages from the dead-letter queue; what was received with them is given back."""
    url, others, dropped = region.dead_letter_queue_url(Channel.EMAIL), [], 0
    for _ in range(LOOKS):
        answer = region.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=HIDDEN_FOR_S)
        for one in answer.get("Messages", []):
            if is_ours(one["Body"]):
                region.sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
                dropped += 1
            else:
                others.append(one["ReceiptHandle"])
    for handle in others:
        region.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
    return dropped


def is_ours(body: str) -> bool:
    """Whether a message is one of the check's: nothing but its mark."""
    try:
        held = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(held, dict) and set(held) == {MARK}
