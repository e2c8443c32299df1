"""Names that the stacks, the functions and the command line must agree on.

Nothing here imports anything, so the stacks may use it without loading the domain.
"""

from __future__ import annotations

from typing import Final

SERVICE: Final = "digest-delivery"
METRICS_NAMESPACE: Final = "DigestDelivery"

# How long a webhook's receiver has to know a `webhook-id` again, in seconds: as docs/webhooks.md asks of it.
WEBHOOK_ID_KNOWN_FOR_S: Final = 24 * 3600

# Languages that customers are written to in. The first one stands in for every other.
LANGUAGES: Final = ("en", "de", "fr", "es")

# Versions of the prompt for a digest's summary, as files in functions/core/prompts.
SUMMARY_PROMPTS: Final = ("weekly-summary-v1",)

# Tables. Attribute names that a key schema, an index or the TTL needs are fixed here.
CUSTOMER_ID: Final = "customer_id"
RECORD: Final = "record"
DELIVERY_ID: Final = "delivery_id"
CONTROL_KEY: Final = "control_key"
TTL: Final = "purge_at"  # seconds since the epoch, in every table

# Customers of the check after a deployment (`digest smoke`): no import may use an id that begins so.
SMOKE_PREFIX: Final = "smoke-"
SMOKE_WEBHOOK_CUSTOMER: Final = "smoke-webhook"

# Index `due` of the customers table: only schedules that will run again are in it.
DUE_INDEX: Final = "due"
DUE_SHARD: Final = "due_shard"
NEXT_RUN_AT: Final = "next_run_at"

# Index `number` of the customers table: profiles by a keyed hash of their phone number: who texted STOP?
NUMBER_INDEX: Final = "number"
NUMBER_HASH: Final = "number_hash"

# Attributes of a profile that say what the person agreed to, when that was withdrawn, and by which way.
CONSENT_ATTRIBUTES: Final = tuple(
    f"consent_{topic}_{channel}{what}"
    for topic in ("digest", "reminder")
    for channel in ("email", "sms", "webhook")
    for what in ("", "_at", "_by")
)

# Attributes of what is remembered of somebody who was erased: since when, and which topics are not wanted.
LEFT_SINCE: Final = "since"
LEFT_OPTED_OUT: Final = "opted_out"
LEFT_ATTRIBUTES: Final = (LEFT_SINCE, LEFT_OPTED_OUT)

# Index `attention` of the deliveries table: open rows, and rows that wait for a person.
ATTENTION_INDEX: Final = "attention"
ATTENTION: Final = "attention"  # "<why>#<channel>#<shard>"
ATTENTION_AT: Final = "attention_at"
PERIOD: Final = "period"  # projected into the index, so that a week's open rows can be counted

# Index `by_period` of the deliveries table: finished rows, written once, at their end.
PERIOD_INDEX: Final = "by_period"
PERIOD_SHARD: Final = "period_shard"  # "<period>#<shard>"
PERIOD_END: Final = "period_end"  # "<end state>#<channel>#<reason>"
# Projected into the index, so that a week's receipts can be counted, and those that are missing.
ACCEPTED_AT: Final = "accepted_at"
RECEIPT_OUTCOME: Final = "receipt_outcome"  # a conclusive receipt's state

# Environment of the functions.
ENV_DATA_REGION: Final = "DATA_REGION"
ENV_CUSTOMERS_TABLE: Final = "CUSTOMERS_TABLE"
ENV_DELIVERIES_TABLE: Final = "DELIVERIES_TABLE"
ENV_CONTROL_TABLE: Final = "CONTROL_TABLE"
ENV_SHARDS: Final = "SHARDS"
ENV_CHANNEL: Final = "CHANNEL"
ENV_PROVIDER: Final = "PROVIDER"
ENV_PROVIDER_OPTIONS: Final = "PROVIDER_OPTIONS"  # JSON; {} for providers that need none
ENV_SENDER: Final = "SENDER"
ENV_QUEUE_URL: Final = "QUEUE_URL"  # a consumer's own queue
ENV_BACKOFF_S: Final = "BACKOFF_S"
ENV_SEND_TIMEOUT_S: Final = "SEND_TIMEOUT_S"
ENV_RATE_PER_SECOND: Final = "RATE_PER_SECOND"
ENV_SMS_SEGMENTS: Final = "SMS_SEGMENTS"  # that a text message may take
ENV_INTERVAL_S: Final = "INTERVAL_S"  # between two wake-ups of the reconciler
ENV_SITE_URL: Final = "SITE_URL"
ENV_UNSUBSCRIBE_URL: Final = "UNSUBSCRIBE_URL"
ENV_UNSUBSCRIBE_KEYS: Final = "UNSUBSCRIBE_KEYS"  # names a secret: the key ring that signs unsubscribe links
ENV_NUMBER_KEYS: Final = "NUMBER_KEYS"  # names a secret: the key ring that hashes phone numbers
ENV_OPT_OUT_KEYS: Final = "OPT_OUT_KEYS"  # names a secret: the key ring that opt-outs are remembered under
ENV_QUIET_HOURS: Final = "QUIET_HOURS"  # "21:00-08:00" in the customer's zone; empty for a channel without
ENV_RECIPIENTS: Final = "RECIPIENTS"  # JSON: null for everybody, or the addresses that may be written to
ENV_SUMMARY: Final = "SUMMARY"  # JSON: how digests are summarised; not set where they are not
ENV_ATTENTION_AFTER_S: Final = "ATTENTION_AFTER_S"
ENV_SILENCE_AFTER_S: Final = "SILENCE_AFTER_S"
ENV_EXPIRES_AFTER_S: Final = "EXPIRES_AFTER_S"
ENV_MAX_LATENESS_S: Final = "MAX_LATENESS_S"
ENV_KEEP_DELIVERIES_DAYS: Final = "KEEP_DELIVERIES_DAYS"
ENV_RECEIPTS_QUEUE_URL: Final = "RECEIPTS_QUEUE_URL"
ENV_SOFT_BOUNCES: Final = "SOFT_BOUNCES"
ENV_SOFT_BOUNCE_WINDOW_S: Final = "SOFT_BOUNCE_WINDOW_S"
ENV_SURGE_FACTOR: Final = "SURGE_FACTOR"
ENV_SURGE_FLOOR: Final = "SURGE_FLOOR"
ENV_BRAKE_AFTER: Final = "BRAKE_AFTER"
ENV_BRAKE_BOUNCES_PERCENT: Final = "BRAKE_BOUNCES_PERCENT"
ENV_BRAKE_COMPLAINTS_PERCENT: Final = "BRAKE_COMPLAINTS_PERCENT"
ENV_WEBHOOK_SECRET: Final = "WEBHOOK_SECRET"  # noqa: S105 - the name of one, in Secrets Manager
ENV_SIGNING_SECRET: Final = "SIGNING_SECRET"  # noqa: S105 - the name of one: jobs pushed to a worker are signed with it
ENV_DISABLE_AFTER_S: Final = "DISABLE_AFTER_S"  # of failures only, until a customer's endpoint is called no more
ENV_RECEIPT_CHANNELS: Final = "RECEIPT_CHANNELS"  # channels whose provider tells what became of messages: "email,sms"
ENV_RECEIPT_SILENCE_S: Final = "RECEIPT_SILENCE_S"

ENV_OPERATE_FUNCTION: Final = "OPERATE_FUNCTION"  # ARN of the function that the widgets' buttons call
ENV_WIDGETS_FUNCTION: Final = "WIDGETS_FUNCTION"  # ARN of the function that draws them


def queue_url_env(channel: str) -> str:
    """Name of the variable that holds a channel's queue URL: `EMAIL_QUEUE_URL`."""
    return f"{channel.upper()}_QUEUE_URL"


def dead_letter_queue_url_env(channel: str) -> str:
    """Name of the variable that holds a channel's dead-letter queue URL: `EMAIL_DEAD_LETTER_QUEUE_URL`."""
    return f"{channel.upper()}_DEAD_LETTER_QUEUE_URL"


def provider_env(channel: str) -> str:
    """Name of the variable that tells the reconciler a channel's provider: `EMAIL_PROVIDER`."""
    return f"{channel.upper()}_PROVIDER"


def provider_options_env(channel: str) -> str:
    """Name of the variable that tells the reconciler a channel's provider options: `EMAIL_PROVIDER_OPTIONS`."""
    return f"{channel.upper()}_PROVIDER_OPTIONS"


def rate_env(channel: str) -> str:
    """Name of the variable that tells the reconciler, and the widgets, a channel's rate: `EMAIL_RATE_PER_SECOND`."""
    return f"{channel.upper()}_RATE_PER_SECOND"


# Custom widgets, as a dashboard names them in the parameter of that name.
WIDGET: Final = "widget"
WIDGET_DUE: Final = "due"
WIDGET_ATTENTION: Final = "attention"
WIDGET_STORY: Final = "story"
WIDGET_DEAD_LETTERS: Final = "dead-letters"
WIDGET_CHANNELS: Final = "channels"

# Outputs of a stack: all that the command line needs to find its way.
OUTPUT_CUSTOMERS_TABLE: Final = "CustomersTable"
OUTPUT_DELIVERIES_TABLE: Final = "DeliveriesTable"
OUTPUT_CONTROL_TABLE: Final = "ControlTable"
OUTPUT_PLANNER_FUNCTION: Final = "PlannerFunction"
OUTPUT_RECONCILER_FUNCTION: Final = "ReconcilerFunction"
OUTPUT_PLANNER_SCHEDULE: Final = "PlannerSchedule"
OUTPUT_RECONCILER_SCHEDULE: Final = "ReconcilerSchedule"
OUTPUT_SERVICE_DASHBOARD: Final = "ServiceDashboard"
OUTPUT_MACHINERY_DASHBOARD: Final = "MachineryDashboard"
OUTPUT_ALARM_TOPIC: Final = "AlarmTopic"
OUTPUT_PAGING_TOPIC: Final = "PagingTopic"
OUTPUT_SHARDS: Final = "Shards"
OUTPUT_UNSUBSCRIBE_FUNCTION: Final = "UnsubscribeFunction"
OUTPUT_UNSUBSCRIBE_URL: Final = "UnsubscribeUrl"
OUTPUT_UNSUBSCRIBE_KEYS: Final = "UnsubscribeKeys"
OUTPUT_NUMBER_KEYS: Final = "NumberKeys"
OUTPUT_OPT_OUT_KEYS: Final = "OptOutKeys"
OUTPUT_INBOUND_TOPIC: Final = "InboundTopic"
OUTPUT_INBOUND_FUNCTION: Final = "InboundFunction"
OUTPUT_INBOUND_QUEUE: Final = "InboundQueue"
OUTPUT_INBOUND_DEAD_LETTER_QUEUE: Final = "InboundDeadLetterQueue"
OUTPUT_RECEIPTS_QUEUE: Final = "ReceiptsQueue"
OUTPUT_RECEIPTS_DEAD_LETTER_QUEUE: Final = "ReceiptsDeadLetterQueue"
OUTPUT_RECEIPTS_FUNCTION: Final = "ReceiptsFunction"
OUTPUT_RECEIPT_INTAKE_FUNCTION: Final = "ReceiptIntakeFunction"
OUTPUT_RECEIPT_INTAKE_URL: Final = "ReceiptIntakeUrl"
OUTPUT_SMOKE_ENDPOINT_FUNCTION: Final = "SmokeEndpointFunction"
OUTPUT_SMOKE_ENDPOINT_URL: Final = "SmokeEndpointUrl"
OUTPUT_WIDGETS_FUNCTION: Final = "WidgetsFunction"  # draws the dashboards' custom widgets, and only reads
OUTPUT_OPERATE_FUNCTION: Final = "OperateFunction"  # does what their buttons say
OUTPUT_READERS_POLICY: Final = "ReadersPolicy"  # ARN of a managed policy: may invoke the first of them
OUTPUT_OPERATORS_POLICY: Final = "OperatorsPolicy"  # ARN of a managed policy: may invoke both


def queue_output(channel: str) -> str:
    """Output with a channel's queue URL: `EmailQueue`."""
    return f"{channel.capitalize()}Queue"


def dead_letter_queue_output(channel: str) -> str:
    """Output with a channel's dead-letter queue URL: `EmailDeadLetterQueue`."""
    return f"{channel.capitalize()}DeadLetterQueue"


def consumer_output(channel: str) -> str:
    """Output with a channel's consumer function name: `EmailConsumer`."""
    return f"{channel.capitalize()}Consumer"


def worker_output(channel: str) -> str:
    """Output with the name of a channel's worker function: `EmailWorker`."""
    return f"{channel.capitalize()}Worker"


def worker_url_output(channel: str) -> str:
    """Output with the address at which a channel's worker takes jobs: `EmailWorkerUrl`."""
    return f"{channel.capitalize()}WorkerUrl"


def stack_name(data_region: str) -> str:
    """CloudFormation stack of a data region: `DigestDelivery-us`."""
    return f"DigestDelivery-{data_region}"


PAGING_ALARM: Final = "Paging"  # up while any alarm is that cannot wait for the morning


def alarm_name(data_region: str, alarm_id: str) -> str:
    """CloudWatch alarm of a data region: `DigestDelivery-us-EmailDeadLetters`."""
    return f"{stack_name(data_region)}-{alarm_id}"


# The dashboards of a region: for whoever answers for the service, and for whoever mends the machinery.
SERVICE_DASHBOARD: Final = "service"
MACHINERY_DASHBOARD: Final = "machinery"

# Metrics that alarms stand on, in METRICS_NAMESPACE with the dimension `service` = SERVICE.
METRIC_PLANNER_RUNS: Final = "PlannerRuns"
METRIC_PLANNED: Final = "DeliveriesPlanned"
METRIC_ALREADY_PLANNED: Final = "AlreadyPlanned"
METRIC_OLDEST_SCHEDULE_AGE: Final = "OldestScheduleAge"  # seconds since the first fell due that a run has left
METRIC_SCHEDULES_FAILED: Final = "SchedulesFailed"  # that are due and could not be planned
METRIC_ENQUEUED: Final = "DeliveriesEnqueued"  # for the first time
METRIC_PLANNER_LAG: Final = "PlannerLag"
METRIC_ATTEMPTS: Final = "Attempts"
METRIC_LATENCY: Final = "DueToAccepted"
METRIC_MESSAGES: Final = "Messages"  # messages that made no attempt, by what happened to them
METRIC_NOT_SENT: Final = "NotSent"  # deliveries that ended without a send, by why: skipped, expired
METRIC_SEGMENTS: Final = "Segments"  # of texts that were accepted, as networks count and bill them
METRIC_RECOVERED: Final = "Recovered"
METRIC_CHANNELS_HALTED: Final = "ChannelsHalted"
METRIC_OLDEST_DUE_AGE: Final = "OldestDueAge"
METRIC_LEASES_RAN_OUT: Final = "LeasesRanOut"
METRIC_ENQUEUE_GAP: Final = "EnqueueGap"  # seconds that the longest planned of all waits for a queue to take it
METRIC_PERIODS_OVERDUE: Final = "PeriodsOverdue"  # weeks that are open although all of their deliveries have expired
METRIC_PROVIDER_DUPLICATES: Final = "ProviderDuplicates"
METRIC_OPT_OUTS: Final = "OptOuts"  # by the way that they were made: link, stop
METRIC_INBOUND_TEXTS: Final = "InboundTexts"  # by what they ask for
METRIC_UNCERTAIN: Final = "Uncertain"  # deliveries that became so
METRIC_UNCERTAIN_ROWS: Final = "UncertainRows"  # deliveries that are so
METRIC_DEAD_LETTERS: Final = "DeadLetters"
METRIC_NOT_ENQUEUED: Final = "NotEnqueued"
METRIC_RECEIPTS: Final = "Receipts"  # by what became of the message: delivered, bounced, complained, ...
METRIC_RECEIPT_EVENTS: Final = "ReceiptEvents"  # events that told nothing new, by what happened to them
METRIC_RECEIPTS_PARKED: Final = "ReceiptsParked"  # events given up, to the receipts' dead-letter queue
METRIC_SUPPRESSIONS: Final = "Suppressions"  # by cause
METRIC_SHARDS_HELD: Final = "ShardsHeld"  # of which far more is due than usual: not planned until somebody agrees
METRIC_BOUNCE_RATE: Final = "BounceRate"  # percent of a day's deliveries, by channel
METRIC_COMPLAINT_RATE: Final = "ComplaintRate"
METRIC_BRAKED: Final = "ChannelsBraked"  # halted for what their receipts say, by cause
METRIC_CONFIRMED: Final = "ConfirmedByReceipt"  # deliveries whose acceptance was known by an event first
METRIC_SECOND_SENDS: Final = "SecondSends"  # deliveries that the provider accepted under two references
METRIC_ENDPOINTS_DISABLED: Final = "EndpointsDisabled"  # by cause: gone, failing
METRIC_SUMMARIES: Final = "Summaries"  # digests that were to have one, by what became of it: written, or why not
# By the dimension `prompt_version`, and by no channel or outcome.
METRIC_SUMMARY_INPUT_TOKENS: Final = "SummaryInputTokens"
METRIC_SUMMARY_OUTPUT_TOKENS: Final = "SummaryOutputTokens"
METRIC_NO_RECEIPT: Final = "AcceptedWithoutReceipt"  # deliveries that are so, after the time allowed

# Counts that are written for the region as a whole, too: an alarm cannot add up outcomes that nobody knows beforehand.
TOTALLED: Final = (METRIC_NOT_SENT, METRIC_DEAD_LETTERS, METRIC_LEASES_RAN_OUT, METRIC_SECOND_SENDS)

# Outcomes of an attempt, as the dimension `outcome` has them: those after which it comes again, and the other ones.
OUTCOMES_RETRIED: Final = ("throttled", "deferred", "quota", "unavailable", "unknown", "running")
OUTCOMES_FINAL: Final = ("accepted", "rejected")
DEAD_LETTERS_COUNTED: Final = ("rejected", "exhausted")  # classes of a dead letter that has a row
