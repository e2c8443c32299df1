"""The environment that the stacks give to each function, as the tests set it."""

from __future__ import annotations

import json
from typing import Final

from functions import names
from functions.core.identity import Channel

REGION: Final = "us-east-1"
ACCOUNT: Final = "123456789012"
CUSTOMERS, DELIVERIES, CONTROL = "customers", "deliveries", "control"
SENDERS: Final = {Channel.EMAIL: "digest@example.com", Channel.SMS: "DIGEST", Channel.WEBHOOK: ""}
PROVIDERS: Final = {Channel.EMAIL: "ses", Channel.SMS: "sns", Channel.WEBHOOK: "webhook"}
BACKOFF_S: Final = (30, 120, 600, 1800, 3600)
VISIBILITY_S: Final = 180
SHARDS: Final = 2
UNSUBSCRIBE_KEYS, NUMBER_KEYS, OPT_OUT_KEYS = "unsubscribe-keys", "number-keys", "opt-out-keys"  # secrets
WIDGETS_FUNCTION: Final = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:widgets"
OPERATE_FUNCTION: Final = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:operate"
UNSUBSCRIBE_URL: Final = "https://leave.example.com/"
KEY_RINGS: Final = {
    UNSUBSCRIBE_KEYS: json.dumps({"0": "canary-unsubscribe-key-" + "1" * 32}),
    NUMBER_KEYS: json.dumps({"0": "canary-number-key-" + "2" * 32}),
    OPT_OUT_KEYS: json.dumps({"0": "canary-opt-out-key-" + "3" * 32}),
}


def queue_url(queue: Channel | str, aws_region: str = REGION) -> str:
    return f"https://sqs.{aws_region}.amazonaws.com/{ACCOUNT}/{queue}"


def dead_letter_url(queue: Channel | str, aws_region: str = REGION) -> str:
    return queue_url(queue, aws_region) + "-dead-letters"


ENVIRONMENT: Final = {
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_EC2_METADATA_DISABLED": "true",
    "POWERTOOLS_LOG_LEVEL": "DEBUG",  # the canary must not be seen at any level
    names.ENV_DATA_REGION: "us",
    names.ENV_CUSTOMERS_TABLE: CUSTOMERS,
    names.ENV_DELIVERIES_TABLE: DELIVERIES,
    names.ENV_CONTROL_TABLE: CONTROL,
    names.ENV_SHARDS: str(SHARDS),
    names.ENV_KEEP_DELIVERIES_DAYS: "90",
    names.ENV_ATTENTION_AFTER_S: "300",
    names.ENV_SILENCE_AFTER_S: "240",
    names.ENV_INTERVAL_S: "60",
    names.ENV_EXPIRES_AFTER_S: str(72 * 3600),
    names.ENV_MAX_LATENESS_S: str(24 * 3600),
    names.ENV_SITE_URL: "https://shop.example.com",
    names.ENV_BACKOFF_S: ",".join(str(pause) for pause in BACKOFF_S),
    names.ENV_SEND_TIMEOUT_S: "5",
    names.ENV_RATE_PER_SECOND: "1000",
    names.ENV_SURGE_FACTOR: "3",
    names.ENV_SURGE_FLOOR: "1000",
    names.ENV_BRAKE_AFTER: "20",
    names.ENV_BRAKE_BOUNCES_PERCENT: "8",
    names.ENV_BRAKE_COMPLAINTS_PERCENT: "0.4",
    names.ENV_WIDGETS_FUNCTION: WIDGETS_FUNCTION,
    names.ENV_OPERATE_FUNCTION: OPERATE_FUNCTION,
    **{names.queue_url_env(channel): queue_url(channel) for channel in Channel},
    **{names.dead_letter_queue_url_env(channel): dead_letter_url(channel) for channel in Channel},
    **{names.provider_env(channel): PROVIDERS[channel] for channel in Channel},
    **{names.rate_env(channel): "1000" for channel in Channel},
}


def unsubscribe_environment() -> dict[str, str]:
    return {
        names.ENV_UNSUBSCRIBE_URL: UNSUBSCRIBE_URL,
        names.ENV_UNSUBSCRIBE_KEYS: UNSUBSCRIBE_KEYS,
        names.ENV_OPT_OUT_KEYS: OPT_OUT_KEYS,
    }


def channel_environment(channel: Channel) -> dict[str, str]:
    return {
        names.ENV_CHANNEL: str(channel),
        names.ENV_PROVIDER: PROVIDERS[channel],
        names.ENV_SENDER: SENDERS[channel],
        names.ENV_QUEUE_URL: queue_url(channel),
    }
