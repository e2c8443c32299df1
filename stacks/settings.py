"""Numbers of every region: what a person decides, read from `cdk.json`, and what follows from it.

A person types each decision once. Numbers that hang together (visibility and function timeout, retries and receives)
are derived here and typed nowhere, so they cannot drift apart. Nothing here needs the CDK: the command line reads the
same settings.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from functions.names import SUMMARY_PROMPTS, WEBHOOK_ID_KNOWN_FOR_S

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

HOUR_S: Final = 3600
DAY_S: Final = 24 * HOUR_S

# SQS keeps a dead letter's first enqueue time, so what a message spent in its queue is taken off its time in the DLQ.
QUEUE_RETENTION_DAYS: Final = 4
DEAD_LETTER_RETENTION_DAYS: Final = 14
# Age in a dead-letter queue at which three days are left to a message that had spent all its time in its queue: SQS
# counts its life from the first sending, and this age from its arrival in the dead-letter queue. See
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html
DEAD_LETTER_ALARM_S: Final = (DEAD_LETTER_RETENTION_DAYS - QUEUE_RETENTION_DAYS - 3) * DAY_S
# Lambda: "at least six times the timeout of your function", plus the batching window.
VISIBILITY_PER_TIMEOUT: Final = 6
# AWS: fewer than five receives send messages to the DLQ when functions are merely throttled.
FEWEST_RECEIVES: Final = 5
LONGEST_VISIBILITY_S: Final = 12 * HOUR_S
LONGEST_FUNCTION_S: Final = 900
# CloudWatch Logs takes these and no others.
LOG_RETENTIONS_DAYS: Final = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827),
    *(2192, 2557, 2922, 3288, 3653),
)  # fmt: skip
# The instructions of every prompt version take less than that in bytes, with a short week's facts; a token is no less.
SHORTEST_PROMPT: Final = 2000
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
# An AWS region that opens with one of these lies there; a data region of that name promises just that.
GEOGRAPHIES: Final = ("af", "ap", "ca", "eu", "il", "me", "mx", "sa", "us")
# How the id of a Bedrock inference profile opens, and where it may have a model run. `global.` may anywhere.
PROFILE_GEOGRAPHIES: Final = {"us": "us", "eu": "eu", "apac": "ap", "jp": "ap", "au": "ap", "ca": "ca"}


class SettingsError(ValueError):
    """Settings do not fit; its text has one line for each wrong entry, with what would be right."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: Final = tuple(problems)
        super().__init__("\n".join(self.problems))


class Target(StrEnum):
    """Where the stacks are deployed to.

    The only switch by which anything differs between AWS and the local emulator: whatever the emulator cannot do has a
    property here, and nothing else in the stacks asks where they will run.
    """

    AWS = "aws"
    EMULATOR = "emulator"

    @property
    def assumes_bootstrap_roles(self) -> bool:
        """Whether the CDK deploys through the roles that `cdk bootstrap` made; the emulator takes the caller's keys."""
        return self is Target.AWS

    @property
    def speaks_tls(self) -> bool:
        """Whether queues and topics can refuse plain HTTP; the emulator listens to nothing else, on loopback."""
        return self is Target.AWS

    @property
    def names_batches_apart(self) -> bool:
        """Whether IAM asks for `sqs:SendMessageBatch`; AWS has no such action, `sqs:SendMessage` covers both."""
        return self is Target.EMULATOR

    @property
    def reaches_plain_http(self) -> bool:
        """Whether an email provider may be this machine, without encryption: the simulator that local runs send to."""
        return self is Target.EMULATOR

    @property
    def combines_metrics(self) -> bool:
        """Whether an alarm may stand on several metrics or on other alarms; the emulator takes one metric for each."""
        return self is Target.AWS

    @property
    def judges_emails_by_sender(self) -> bool:
        """Whether IAM looks at an email's identity and `ses:FromAddress`; the emulator sees only that one is sent."""
        return self is Target.AWS


# --- one entry -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    """What one entry must be, as a check and in words, so that an error always says what would be right."""

    expected: str
    fits: Callable[[Any], bool]

    def __call__(self, value: object) -> object:
        if not self.fits(value):
            raise PydanticCustomError("does_not_fit", "{expected}", {"expected": self.expected})
        return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(low: int, high: int, why: str) -> BeforeValidator:
    def fits(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return BeforeValidator(_Rule(f"must be from {low} to {high} ({why})", fits))


def _number(low: float, high: float, why: str) -> BeforeValidator:
    return BeforeValidator(
        _Rule(f"must be from {low:g} to {high:g} ({why})", lambda value: _is_number(value) and low <= value <= high)
    )


def _one_of(choices: Iterable[object], why: str) -> BeforeValidator:
    known = tuple(choices)
    named = ", ".join(json.dumps(choice) for choice in known)
    expected = f"must be {'one of ' if len(known) > 1 else ''}{named} ({why})"

    # `True == 1` in Python, and not in JSON.
    return BeforeValidator(_Rule(expected, lambda value: any(value is c or repr(value) == repr(c) for c in known)))


def _text(pattern: str, expected: str) -> BeforeValidator:
    matcher = re.compile(pattern)
    return BeforeValidator(_Rule(expected, lambda value: isinstance(value, str) and bool(matcher.fullmatch(value))))


def _text_or_null(pattern: str, expected: str) -> BeforeValidator:
    matcher = re.compile(pattern)
    return BeforeValidator(
        _Rule(expected, lambda value: value is None or (isinstance(value, str) and bool(matcher.fullmatch(value))))
    )


def _is_site(value: object) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme == "https" and bool(parts.hostname) and not (parts.query or parts.fragment or value[-1] == "/")


def _is_provider_url(value: object) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    speaks = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    return speaks and bool(parts.hostname) and not (parts.query or parts.fragment or parts.username or value[-1] == "/")


def _is_quiet_hours(value: object) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, dict)
        and set(value) == {"from", "until"}
        and all(isinstance(each, str) and bool(re.fullmatch(_LOCAL_TIME, each)) for each in value.values())
    )


def _is_recipients(value: object) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, str) and bool(re.fullmatch(_RECIPIENT, each)) for each in value)
    )


def _is_hosts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and bool(re.fullmatch(_HOST, each)) for each in value)


def _is_backoff(value: object) -> bool:
    return (
        isinstance(value, list)
        and FEWEST_RECEIVES - 1 <= len(value) <= 100  # noqa: PLR2004 - ends a typing error, nothing else
        and all(isinstance(wait, int) and not isinstance(wait, bool) for wait in value)
        and all(0 <= wait <= LONGEST_VISIBILITY_S for wait in value)
    )


# Not one that ends in a hyphen and six characters, which Secrets Manager takes for the end of an ARN.
_NAME_OF_SECRET: Final = r"(?!.*-[A-Za-z0-9]{6}$)[A-Za-z0-9/_+=.@-]{1,256}"  # noqa: S105 - the form of a name
_EMAIL_ADDRESS: Final = r"[^@\s\"<>]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+"
_HOST: Final = r"[a-z0-9-]+(\.[a-z0-9-]+)*"
_LOCAL_TIME: Final = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_WEBHOOK: Final = r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(:8443)?/[!-)+-~]*\*?"
_PEOPLE: Final = rf"{_EMAIL_ADDRESS}|\*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|\+[1-9][0-9]{{6,14}}|\+[1-9][0-9]{{3,13}}\*"
_RECIPIENT: Final = rf"{_PEOPLE}|{_WEBHOOK}"
# In the customer's own zone. US law lets marketing texts be sent from 8 in the morning until 9 in the evening.
_NIGHT: Final[Mapping[str, str]] = {"from": "21:00", "until": "08:00"}
_QuietHours = Annotated[
    Mapping[str, str] | None,
    BeforeValidator(
        _Rule(
            'must be null, or local times of the customer such as {"from": "21:00", "until": "08:00"} (nothing is sent '
            "from the one until the other; never quiet if they are the same)",
            _is_quiet_hours,
        )
    ),
]
_Interval = Annotated[
    int, _one_of((1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60), "minutes that divide an hour, so that wake-ups are even")
]
_EmailAddress = _text(_EMAIL_ADDRESS, "must be one email address, such as digest@example.com")


class _Entries(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


# --- one region ------------------------------------------------------------------------------------------------------


class Planner(_Entries):
    interval_minutes: _Interval
    shards: Annotated[
        int, _whole(1, 100, "partitions of every index; may grow, but rows in a shard that is gone are seen by nobody")
    ]
    max_lateness_hours: Annotated[int, _whole(1, 167, "an older wake-up is refused; the next one plans what is due")]
    surge_factor: Annotated[
        float, _number(1, 1000, "times what was planned on this day last week, above which planning waits for a person")
    ]
    surge_floor: Annotated[
        int, _whole(1, 100_000_000, "schedules that may run in a day in any case, as in the first week")
    ]
    parallel: Annotated[int, _whole(1, 100, "wake-ups at once, each with its share of the shards: more plan faster")]

    @property
    def shares(self) -> list[list[int]]:
        """The shards of each wake-up: every shard is in exactly one of them."""
        return [list(range(first, self.shards, self.parallel)) for first in range(self.parallel)]

    @property
    def interval_s(self) -> int:
        return self.interval_minutes * 60

    @property
    def timeout_s(self) -> int:
        return _timeout_between_wakeups(self.interval_s)


class Reconciler(_Entries):
    interval_minutes: _Interval

    @property
    def interval_s(self) -> int:
        return self.interval_minutes * 60

    @property
    def timeout_s(self) -> int:
        return _timeout_between_wakeups(self.interval_s)


def _timeout_between_wakeups(interval_s: int) -> int:
    """Seconds that a wake-up may take: it ends before the next one starts, and within Lambda's 15 minutes."""
    return min(LONGEST_FUNCTION_S, interval_s - max(10, interval_s // 10))


class HttpWorker(_Entries):
    """A function URL at which a managed HTTP queue pushes a channel's jobs."""

    auth: Annotated[
        Literal["iam", "signature"],
        _one_of(["iam", "signature"], "who may push jobs: whom AWS IAM lets in, or whoever signs them"),
    ]
    signing_secret: Annotated[
        str | None,
        _text_or_null(
            _NAME_OF_SECRET,
            "must be null, or the name of a secret in this region's Secrets Manager (its text is what jobs are signed "
            "with, `whsec_` and base64, or two with a space between them while it is being rotated)",
        ),
    ] = None
    instead_of_queue: Annotated[
        bool, _one_of([True, False], "true leaves the channel's queue to you: no consumer takes anything off it")
    ] = False


class _Channel(_Entries):
    """Queue, dead-letter queue and consumer of one channel, and the worker beside it or in its place."""

    rate_per_second: Annotated[
        float, _number(0.01, 10_000, "sends a second: our share of what the provider allows the account")
    ]
    concurrency: Annotated[
        int, _whole(2, 1000, "Lambda's limits for the maximum concurrency of a queue; one channel's consumers at once")
    ]
    batch_size: Annotated[
        int, _whole(1, 10, "messages a consumer is handed at once; more would need a batching window")
    ]
    timeout_s: Annotated[int, _whole(2, LONGEST_FUNCTION_S, "seconds that one batch may take; Lambda's limit")]
    send_timeout_s: Annotated[
        int, _whole(1, LONGEST_FUNCTION_S, "seconds that the provider may take to answer one send")
    ]
    memory_mb: Annotated[int, _whole(128, 10_240, "Lambda's limits; a full CPU comes with 1769")]
    backoff_s: Annotated[
        tuple[int, ...],
        BeforeValidator(
            _Rule(
                f"must list at least {FEWEST_RECEIVES - 1} whole numbers from 0 to {LONGEST_VISIBILITY_S} (seconds "
                "before each further receive; SQS hides a message for 12 hours at most)",
                _is_backoff,
            )
        ),
    ]

    quiet_hours: _QuietHours = None
    http_worker: HttpWorker | None = None

    @property
    def quiet_hours_text(self) -> str:
        """`21:00-08:00`; empty where the channel has none."""
        return "" if self.quiet_hours is None else f"{self.quiet_hours['from']}-{self.quiet_hours['until']}"

    @property
    def max_receive_count(self) -> int:
        """Receives before SQS moves a message to the DLQ: the first one, and one after each backoff."""
        return len(self.backoff_s) + 1

    @property
    def batching_window_s(self) -> int:
        """Seconds that Lambda gathers a batch: none, a message goes to a consumer as soon as there is one."""
        return 0

    @property
    def visibility_timeout_s(self) -> int:
        """Seconds that a message stays hidden while a consumer has it."""
        return VISIBILITY_PER_TIMEOUT * self.timeout_s + self.batching_window_s


class HttpProviderOptions(_Entries):
    """An email provider that is reached over HTTPS and honours idempotency keys."""

    url: Annotated[
        str,
        BeforeValidator(
            _Rule("must be an https address without a slash at its end, as https://api.mail.example", _is_provider_url)
        ),
    ]
    api_key_secret: Annotated[
        str,
        _text(
            _NAME_OF_SECRET,
            "must be the name of a secret in this region's Secrets Manager (its text is the provider's API key), but "
            "not one that ends in a hyphen and six characters, which Secrets Manager takes for the end of an ARN",
        ),
    ]
    key_window_s: Annotated[
        int,
        _whole(60, 30 * DAY_S, "seconds that the provider remembers an idempotency key: what it documents, no more"),
    ]
    lookup_window_s: Annotated[
        int, _whole(0, 365 * DAY_S, "seconds that the provider can be asked what became of a key; 0 if it cannot be")
    ]

    @property
    def can_be_asked(self) -> bool:
        """Whether the provider says what became of a key."""
        return self.lookup_window_s > 0


class EumProviderOptions(_Entries):
    """Text messages through AWS End User Messaging SMS."""

    origination_identity: Annotated[
        str,
        _text(
            r"(pool|phone-number)/[A-Za-z0-9_-]{1,128}|sender-id/[A-Za-z0-9_-]{1,11}/[A-Z]{2}",
            "must name who texts come from as its ARN ends: pool/pool-0a1b2c, phone-number/phone-0a1b2c or "
            "sender-id/SHOP/DE",
        ),
    ]
    configuration_set: Annotated[
        str | None,
        _text_or_null(
            r"[A-Za-z0-9_-]{1,64}",
            "must be null, or the name of a configuration set of this region (its protection, its opt-out list)",
        ),
    ] = None
    max_price: Annotated[
        str | None,
        _text_or_null(
            r"[0-9]{1,2}\.[0-9]{1,5}",
            'must be null, or US dollars as text such as "0.50" (a text that would cost more is not sent)',
        ),
    ] = None


class EmailChannel(_Channel):
    provider: Annotated[Literal["ses", "http"], _one_of(["ses", "http"], "the email providers that there are")]
    provider_options: HttpProviderOptions | None = None  # of provider http, and of no other
    sender: Annotated[str, _EmailAddress]

    @property
    def sender_identities(self) -> tuple[str, str]:
        """SES identities that allow the sender: the address itself, and its domain."""
        return self.sender, self.sender.rpartition("@")[2]


class SmsChannel(_Channel):
    max_segments: Annotated[
        int, _whole(1, 10, "each is billed; a longer text is cut; SNS takes 1,600 characters at most")
    ] = 2
    provider: Annotated[Literal["sns", "eum"], _one_of(["sns", "eum"], "the SMS providers that there are")]
    provider_options: EumProviderOptions | None = None  # of provider eum, and of no other
    quiet_hours: _QuietHours = _NIGHT
    sender: Annotated[
        str,
        _text(
            r"(?=.*[A-Za-z])[A-Za-z0-9]{1,11}|\+[1-9][0-9]{6,14}",
            "must be a sender id (1 to 11 letters and digits, at least one letter) or a number such as +15550100000",
        ),
    ]


class WebhookChannel(_Channel):
    provider: Annotated[Literal["webhook"], _one_of(["webhook"], "each customer's own endpoint")]
    provider_options: Annotated[None, _one_of([None], "provider webhook has none")] = None
    disable_after_days: Annotated[
        int, _whole(1, 30, "days of failures only, after which a customer's endpoint is called no more")
    ] = 5

    @property
    def sender(self) -> str:
        """Nobody: who sent a webhook is told by its signature."""
        return ""

    @property
    def disable_after_s(self) -> int:
        return self.disable_after_days * DAY_S


Channel: TypeAlias = EmailChannel | SmsChannel | WebhookChannel
# The provider of a kind of channel that has options, and what they are.
_WITH_OPTIONS: Final[Mapping[type[Channel], tuple[str, type[_Entries]]]] = {
    EmailChannel: ("http", HttpProviderOptions),
    SmsChannel: ("eum", EumProviderOptions),
}


class Channels(_Entries):
    email: EmailChannel
    sms: SmsChannel
    webhook: WebhookChannel

    def by_name(self) -> dict[str, Channel]:
        """Each channel under its name, in the order of the fields."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class Receipts(_Entries):
    """What is done about what providers say afterwards."""

    silence_after_hours: Annotated[
        int, _whole(1, 168, "hours until an accepted delivery without a receipt is counted; carriers take up to 72")
    ]
    soft_bounces: Annotated[
        int, _whole(2, 10, "deliveries that come back for passing reasons, after which the channel is suppressed")
    ]
    soft_bounce_window_days: Annotated[int, _whole(7, 365, "days within which they count")]
    brake_after: Annotated[int, _whole(20, 1_000_000, "deliveries of a day with a receipt, before they say anything")]
    brake_bounces_percent: Annotated[
        float, _number(0.1, 100, "of them that come back for good, above which the channel is halted; SES allows 10")
    ]
    brake_complaints_percent: Annotated[
        float, _number(0.01, 100, "of them that are complained about, above which it is halted; SES allows 0.5")
    ]
    webhook_secret: Annotated[
        str | None,
        _text_or_null(
            _NAME_OF_SECRET,
            "must be null, or the name of a secret in this region's Secrets Manager (its text is the provider's "
            "signing secret, or two with a space between them while it is being rotated)",
        ),
    ] = None

    @property
    def silence_after_s(self) -> int:
        return self.silence_after_hours * HOUR_S

    @property
    def soft_bounce_window_s(self) -> int:
        return self.soft_bounce_window_days * DAY_S

    @property
    def bounces_alarm_percent(self) -> float:
        """Bounces that a person should hear of long before the brake acts; 2 percent as delivered, SES's limit is 5."""
        return self.brake_bounces_percent / 4

    @property
    def complaints_alarm_percent(self) -> float:
        """Complaints that a person should hear of; 0.1 percent as delivered, at which SES puts an account on review."""
        return self.brake_complaints_percent / 4


class Summary(_Entries):
    """Summaries of emailed digests by a model on Amazon Bedrock."""

    model_id: Annotated[
        str,
        _text(
            rf"(?!global\.)(({'|'.join(PROFILE_GEOGRAPHIES)})\.)?[a-z0-9-]+\.[a-z0-9][a-z0-9.:-]{{0,127}}",
            "must be the id of a model that runs in this region, such as amazon.nova-lite-v1:0, or of an inference "
            "profile that stays in its geography, such as eu.amazon.nova-lite-v1:0 (global. ones do not)",
        ),
    ]
    prompt_version: Annotated[str, _one_of(SUMMARY_PROMPTS, "the prompts that this release has")]
    tokens_per_digest: Annotated[int, _whole(1000, 100_000, "tokens that one digest may take, in and out")]
    tokens_per_period: Annotated[
        int, _whole(1000, 10**12, "tokens that all digests of a week may take in this region; then they go out plain")
    ]
    max_output_tokens: Annotated[int, _whole(50, 2000, "tokens of an answer; a longer one is not printed")] = 300
    temperature: Annotated[
        float | None,
        BeforeValidator(
            _Rule(
                "must be null (the model's own; some models take no other), or from 0 to 1",
                lambda value: value is None or (_is_number(value) and 0 <= value <= 1),
            )
        ),
    ] = None
    timeout_s: Annotated[int, _whole(1, 60, "seconds that the model may take before a digest goes out plain")] = 4

    @property
    def geography(self) -> str | None:
        """How the AWS regions begin that an inference profile may have its model run in; None for a model itself."""
        return PROFILE_GEOGRAPHIES.get(self.model_id.partition(".")[0])


class Retention(_Entries):
    logs_days: Annotated[int, _one_of(LOG_RETENTIONS_DAYS, "days; CloudWatch Logs knows no others")]
    deliveries_days: Annotated[
        int, _whole(30, 3650, "a dead letter may be redriven two weeks later, and must still find its delivery")
    ]


class Region(_Entries):
    """All that is decided about one data region; nothing in it refers to another region."""

    region: Annotated[str, _text(r"[a-z]{2}(-[a-z]+)+-[0-9]", "must be an AWS region, such as us-east-1")]
    site_url: Annotated[
        str,
        BeforeValidator(
            _Rule("must be an https address without a slash at its end, as https://shop.example.com", _is_site)
        ),
    ]
    planner: Planner
    reconciler: Reconciler
    channels: Channels
    receipts: Receipts
    expires_after_hours: Annotated[
        int, _whole(1, 167, "nothing is sent later; less than a week: the next digest comes")
    ]
    attention_after_s: Annotated[int, _whole(1, DAY_S, "seconds until the reconciler looks at an open delivery")]
    retention: Retention
    deletion_protection: Annotated[
        bool, _one_of([True, False], "true keeps tables when the stack goes; false deletes them with it")
    ]
    alarm_email: Annotated[
        str | None, _text_or_null(_EMAIL_ADDRESS, "must be null, or the email address that alarms go to")
    ] = None
    paging_email: Annotated[
        str | None,
        _text_or_null(
            _EMAIL_ADDRESS,
            "must be null, or the email address of whoever is on call, for what cannot wait till morning",
        ),
    ] = None

    allowed_hosts: Annotated[
        tuple[str, ...],
        BeforeValidator(
            _Rule("must be a list of hosts, such as api.mail.example: where this region's data may go", _is_hosts)
        ),
    ] = ()

    recipients: Annotated[
        tuple[str, ...] | None,
        BeforeValidator(
            _Rule(
                "must be null (production: everybody), or a list of at least one address or number that may be written "
                "to, whole or as *@example.com, +1202555* or https://hooks.example.com/* (anybody else is skipped)",
                _is_recipients,
            )
        ),
    ] = None

    smoke_endpoint: Annotated[
        bool, _one_of([True, False], "true deploys an endpoint of our own that `digest smoke` sends a webhook to")
    ] = False

    summary: Summary | None = None  # digests have none where it is left out

    @property
    def expires_after_s(self) -> int:
        return self.expires_after_hours * HOUR_S

    @property
    def max_lateness_s(self) -> int:
        return self.planner.max_lateness_hours * HOUR_S

    @property
    def silence_after_s(self) -> int:
        """Seconds after which a queued row that nothing was heard of is published again.

        By then the slowest channel would have handed its message out again, and the reconciler looked once more.
        """
        slowest = max(channel.visibility_timeout_s for channel in self.channels.by_name().values())
        return slowest + self.reconciler.interval_s

    @property
    def receipt_channels(self) -> tuple[str, ...]:
        """Channels whose provider tells what becomes of messages. SNS does not: it writes delivery logs, for people."""
        tells = {
            "email": self.channels.email.provider == "ses" or self.receipts.webhook_secret is not None,
            "sms": self.channels.sms.provider == "eum",
        }
        return tuple(name for name, told in tells.items() if told)

    @property
    def backlog_alarm_s(self) -> int:
        """Age in seconds of a queue's oldest message that a person should hear of: a quarter of its time is gone."""
        return self.expires_after_s // 4

    @property
    def enqueue_gap_alarm_s(self) -> int:
        """Seconds that a planned delivery may wait for a queue: the reconciler has tried three times by then."""
        return max(900, self.attention_after_s + 3 * self.reconciler.interval_s)

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        misfits = [
            misfit for name, channel in self.channels.by_name().items() for misfit in _misfits(name, channel, self)
        ]
        if self.planner.parallel > self.planner.shards:
            expected = f"must be at most planner.shards, {self.planner.shards} (each wake-up plans one shard or more)"
            misfits.append(("planner.parallel", self.planner.parallel, expected))
        if self.receipts.webhook_secret is not None and self.channels.email.provider != "http":
            expected = f"must be null (webhooks are sent by provider http; email has {self.channels.email.provider})"
            misfits.append(("receipts.webhook_secret", self.receipts.webhook_secret, expected))
        if self.summary is not None:
            misfits.extend(_summary_misfits(self.summary, self))
        if misfits:
            raise PydanticCustomError(
                "do_not_fit_together", "{count} misfits", {"count": len(misfits), "misfits": misfits}
            )
        return self


def _misfits(name: str, channel: Channel, region: Region) -> Iterator[tuple[str, object, str]]:
    """Entries of a channel that contradict others: (path within the region, value, what would be right)."""
    if channel.send_timeout_s >= channel.timeout_s:
        yield (
            f"channels.{name}.send_timeout_s",
            channel.send_timeout_s,
            f"must be below timeout_s, {channel.timeout_s} (a send cut off with its function says nothing)",
        )
    longest_s = min(region.expires_after_s, QUEUE_RETENTION_DAYS * DAY_S)
    if sum(channel.backoff_s) >= longest_s:
        yield (
            f"channels.{name}.backoff_s",
            list(channel.backoff_s),
            f"must add up to less than {longest_s} (seconds; later, the queue or expires_after_hours has ended it)",
        )
    if channel.http_worker is not None:
        yield from _worker_misfits(f"channels.{name}.http_worker", channel.http_worker)
    if not isinstance(channel, WebhookChannel):
        yield from _provider_misfits(f"channels.{name}", channel)
    elif sum(channel.backoff_s) >= WEBHOOK_ID_KNOWN_FOR_S:
        yield (
            f"channels.{name}.backoff_s",
            list(channel.backoff_s),
            f"must add up to less than {WEBHOOK_ID_KNOWN_FOR_S} (seconds that receivers have to know a webhook-id for)",
        )


def _worker_misfits(path: str, worker: HttpWorker) -> Iterator[tuple[str, object, str]]:
    if worker.auth == "signature" and worker.signing_secret is None:
        yield f"{path}.signing_secret", None, "must name the secret that jobs are signed with (auth is signature)"
    if worker.auth == "iam" and worker.signing_secret is not None:
        yield f"{path}.signing_secret", worker.signing_secret, "must be left out (auth is iam: nothing is signed)"


def _summary_misfits(summary: Summary, region: Region) -> Iterator[tuple[str, object, str]]:
    if summary.geography is not None and not region.region.startswith(f"{summary.geography}-"):
        yield (
            "summary.model_id",
            summary.model_id,
            f"must be a model or an inference profile of {region.region} (its customers' data stays there)",
        )
    least = summary.max_output_tokens + SHORTEST_PROMPT
    if summary.tokens_per_digest < least:
        yield (
            "summary.tokens_per_digest",
            summary.tokens_per_digest,
            f"must be at least {least} (max_output_tokens, and {SHORTEST_PROMPT} for a week in which little happened)",
        )
    if summary.tokens_per_period < summary.tokens_per_digest:
        yield (
            "summary.tokens_per_period",
            summary.tokens_per_period,
            f"must be at least tokens_per_digest, {summary.tokens_per_digest} (or no digest ever has a summary)",
        )
    email = region.channels.email
    longest_s = email.batch_size * summary.timeout_s + email.send_timeout_s
    if longest_s >= email.timeout_s:
        yield (
            "channels.email.timeout_s",
            email.timeout_s,
            f"must be above {longest_s} (seconds: batch_size times summary.timeout_s, and send_timeout_s)",
        )


def _provider_misfits(path: str, channel: Channel) -> Iterator[tuple[str, object, str]]:
    options = channel.provider_options
    provider, entries = _WITH_OPTIONS[type(channel)]
    if channel.provider == provider and options is None:
        yield f"{path}.provider_options", None, f"must be an object with {', '.join(entries.model_fields)}"
    if channel.provider != provider and options is not None:
        yield (
            f"{path}.provider_options",
            options.model_dump(),
            f"must be left out (they are those of provider {provider}; this one is {channel.provider})",
        )
    if isinstance(options, HttpProviderOptions) and sum(channel.backoff_s) >= options.key_window_s:
        yield (
            f"{path}.backoff_s",
            list(channel.backoff_s),
            f"must add up to less than provider_options.key_window_s, {options.key_window_s} (later ones are unsafe)",
        )


# --- all of them -----------------------------------------------------------------------------------------------------

DataRegion = Annotated[str, _text(r"[a-z]{2,8}", "must be a short name of 2 to 8 letters from a to z, such as us")]


class Settings(_Entries):
    """Everything that `cdk.json` decides."""

    target: Annotated[Target, _one_of([str(target) for target in Target], "where the stacks are deployed to")]
    regions: Annotated[
        Mapping[DataRegion, Region],
        BeforeValidator(_Rule("must name at least one data region", bool)),
    ]

    @model_validator(mode="after")
    def _emails_leave_encrypted(self) -> Self:
        urls = {
            name: region.channels.email.provider_options.url
            for name, region in self.regions.items()
            if region.channels.email.provider_options is not None
        }
        misfits = [
            (
                f"regions.{name}.channels.email.provider_options.url",
                url,
                "must be an https address (plain http reaches this machine only, and only target emulator may use it)",
            )
            for name, url in urls.items()
            if not url.startswith("https:") and not self.target.reaches_plain_http
        ]
        if misfits:
            raise PydanticCustomError(
                "do_not_fit_together", "{count} misfits", {"count": len(misfits), "misfits": misfits}
            )
        return self

    @model_validator(mode="after")
    def _data_goes_to_known_hosts_only(self) -> Self:
        misfits = [
            (
                f"regions.{name}.channels.email.provider_options.url",
                options.url,
                f"must lead to one of the region's allowed_hosts: {', '.join(region.allowed_hosts) or 'none so far'}",
            )
            for name, region in self.regions.items()
            if (options := region.channels.email.provider_options) is not None
            and not self._may_go_to(urlsplit(options.url).hostname or "", region)
        ]
        if misfits:
            raise PydanticCustomError(
                "do_not_fit_together", "{count} misfits", {"count": len(misfits), "misfits": misfits}
            )
        return self

    def _may_go_to(self, host: str, region: Region) -> bool:
        on_this_machine = host in LOOPBACK and self.target.reaches_plain_http
        return on_this_machine or host in region.allowed_hosts

    @model_validator(mode="after")
    def _customers_stay_where_their_data_region_says(self) -> Self:
        misfits = [
            (
                f"regions.{name}.region",
                region.region,
                f"must start with {name}- (data region `{name}` promises to stay there)",
            )
            for name, region in self.regions.items()
            if name in GEOGRAPHIES and not region.region.startswith(f"{name}-")
        ]
        if misfits:
            raise PydanticCustomError(
                "do_not_fit_together", "{count} misfits", {"count": len(misfits), "misfits": misfits}
            )
        return self


_OURS: Final = (*Settings.model_fields, "overrides")


def load_settings(context: Mapping[str, Any]) -> Settings:
    """Settings from the CDK's context: its entries `target` and `regions`, and the file that `overrides` names.

    The context holds keys of the CDK too, which are left alone; a key that is nearly one of ours is taken for a slip.

    Raises:
        SettingsError: lists every entry that is wrong, unknown or missing.
    """
    _refuse_slips(context)
    ours = {key: context[key] for key in Settings.model_fields if key in context}
    overrides = context.get("overrides")
    if overrides is not None:
        ours = _merged(ours, _read_overrides(overrides))
    try:
        return Settings.model_validate(ours)
    except ValidationError as error:
        problems = (line for detail in error.errors() for line in _lines(detail))
        raise SettingsError(sorted(problems)) from None


def read_cdk_json(path: Path | str, overrides: Path | str | None = None) -> Settings:
    """Settings as the CDK would see them, read from its file; `overrides` is what `-c overrides=FILE` gives it.

    Raises:
        SettingsError: the file cannot be read, or does not fit.
    """
    context = _read_object(Path(path), "settings").get("context")
    if not isinstance(context, dict):
        raise SettingsError([f"{path}: has no `context`; the settings `target` and `regions` belong in it"])
    return load_settings(context if overrides is None else {**context, "overrides": str(overrides)})


def _refuse_slips(context: Mapping[str, Any]) -> None:
    slips = [
        f"{key}: is unknown; did you mean `{meant[0]}`?"
        for key in context
        if key not in _OURS and (meant := difflib.get_close_matches(key, _OURS, n=1, cutoff=0.8))
    ]
    if slips:
        raise SettingsError(slips)


def _read_overrides(named: object) -> dict[str, Any]:
    if not isinstance(named, str | Path):
        raise SettingsError([f"overrides: is {_shown(named)}; must be the path of a JSON file"])
    entries = _read_object(Path(named), "overrides")
    unknown = [key for key in entries if key not in Settings.model_fields]
    if unknown:
        raise SettingsError(
            f"{named}: {key}: is unknown; known here: {', '.join(Settings.model_fields)}" for key in unknown
        )
    return entries


def _read_object(path: Path, what: str) -> dict[str, Any]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError([f"{what}: cannot read {path}: {error.strerror}"]) from None
    except ValueError as error:
        raise SettingsError([f"{what}: {path} is not JSON: {error}"]) from None
    if not isinstance(entries, dict):
        raise SettingsError([f"{what}: {path} must hold one JSON object"])
    return entries


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both, and what stands in `above` where they differ; lists are replaced as a whole."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = _merged(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return merged


# --- what is wrong, in words -----------------------------------------------------------------------------------------


def _lines(detail: ErrorDetails) -> Iterator[str]:
    """The lines that pydantic's account of one error comes to."""
    path = tuple(str(step) for step in detail["loc"] if step != "[key]")
    if detail["type"] == "do_not_fit_together":
        for within, value, expected in detail["ctx"]["misfits"]:
            yield f"{'.'.join([*path, within])}: is {_shown(value)}; {expected}"
    elif detail["type"] == "extra_forbidden":
        yield f"{'.'.join(path)}: is unknown; {_known_instead(path)}"
    elif detail["type"] == "missing":
        yield f"{'.'.join(path)}: is missing; {_expected(path)}"
    elif detail["type"] == "does_not_fit":
        yield f"{'.'.join(path)}: is {_shown(detail['input'])}; {detail['msg']}"
    else:
        yield f"{'.'.join(path)}: is {_shown(detail['input'])}; {_expected(path)}"


def _shown(value: object) -> str:
    return json.dumps(value, default=str)


def _known_instead(path: tuple[str, ...]) -> str:
    entries = _model_at(path[:-1])
    known = [] if entries is None else list(entries.model_fields)
    closest = difflib.get_close_matches(path[-1], known, n=len(known), cutoff=0)
    return f"known here, closest first: {', '.join(closest)}"


def _expected(path: tuple[str, ...]) -> str:
    entries = _model_at(path)
    if entries is not None:
        return f"must be an object with {', '.join(entries.model_fields)}"
    above = _model_at(path[:-1])
    field = above.model_fields.get(path[-1]) if above else None
    rules = [each.func for each in field.metadata if isinstance(each, BeforeValidator)] if field else []
    return next((rule.expected for rule in rules if isinstance(rule, _Rule)), "must be an object")


def _model_at(path: tuple[str, ...]) -> type[_Entries] | None:
    """The model whose entries stand at this path, or None for a single value."""
    model: type[_Entries] = Settings
    steps = iter(path)
    for step in steps:
        if model is Settings and step == "regions":
            if next(steps, None) is None:
                return None
            model = Region
            continue
        field = model.model_fields.get(step)
        entries = None if field is None else _entries_of(field.annotation)
        if entries is None:
            return None
        model = entries
    return model


def _entries_of(annotation: object) -> type[_Entries] | None:
    """The model that a field holds, which may be left out; None for a field that holds a value."""
    candidates = (annotation, *get_args(annotation))
    return next((one for one in candidates if isinstance(one, type) and issubclass(one, _Entries)), None)
