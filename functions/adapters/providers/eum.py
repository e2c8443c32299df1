"""Text messages through AWS End User Messaging SMS. It has no idempotency key: two calls are two texts.

What it tells afterwards comes by EventBridge, with our id as the message's context.
https://docs.aws.amazon.com/sms-voice/latest/userguide/monitor-event-bridge.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, ConfigDict, Field

from functions.adapters.providers.aws import UNREADABLE, acceptance, failure, one_attempt
from functions.core.envelope import TextEnvelope
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.core.provider_codes import EUM, EUM_REASONS

if TYPE_CHECKING:
    from mypy_boto3_pinpoint_sms_voice_v2 import PinpointSMSVoiceV2Client

    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.ports import Clock

# Seconds that a text may be on its way; "by default this is 72 hours".
# https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_SendTextMessage.html
SHORTEST_LIFE_S: Final = 5
LONGEST_LIFE_S: Final = 259_200
ORIGIN: Final = "origin"  # beside the four parts of our id; a context holds five entries at most


class EumOptions(BaseModel):
    """Who texts come from, and what tells our events from those of others in the account."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    origination_identity: str = Field(min_length=1)  # ARN of a pool, a phone number or a sender id
    origin: str = Field(min_length=1)
    configuration_set: str | None = None
    max_price: str | None = None  # US dollars for one text


class EumProvider:
    """`Provider` on End User Messaging SMS."""

    name = "eum"
    guarantee = Guarantee(Dedupe.NONE)

    def __init__(self, client: PinpointSMSVoiceV2Client, options: EumOptions, *, clock: Clock) -> None:
        self._client = client
        self._origin = options.origin
        self._clock = clock
        given = {
            "OriginationIdentity": options.origination_identity,
            "ConfigurationSetName": options.configuration_set,
            "MaxPrice": options.max_price,
        }
        self._options: Any = {name: value for name, value in given.items() if value is not None}

    @classmethod
    def with_timeout(cls, timeout_s: float, options: EumOptions, *, clock: Clock) -> Self:
        """Return a provider whose client gives up after that many seconds without an answer."""
        return cls(boto3.client("pinpoint-sms-voice-v2", config=one_attempt(timeout_s)), options, clock=clock)

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:
        """Send one text message, which dies on its way when the delivery expires."""
        if not isinstance(envelope, TextEnvelope):
            return Outcome(OutcomeClass.REJECTED, "NotAText")
        try:
            answer = self._client.send_text_message(
                DestinationPhoneNumber=envelope.to,
                MessageBody=envelope.body,
                MessageType="TRANSACTIONAL",
                TimeToLive=self._life_s(delivery),
                Context={**delivery.delivery_id.as_tags(), ORIGIN: self._origin},
                **self._options,
            )
        except ClientError as error:
            return _read(error)
        except BotoCoreError as error:
            return failure(error, EUM)
        except Exception:  # noqa: BLE001 - the SDK's parsers trip over odd answers in ways of their own
            return Outcome(OutcomeClass.UNKNOWN, UNREADABLE)
        return acceptance(answer)

    def _life_s(self, delivery: Delivery) -> int:
        left_s = int((delivery.expires_at - self._clock()).total_seconds())
        return min(max(left_s, SHORTEST_LIFE_S), LONGEST_LIFE_S)


def _read(error: ClientError) -> Outcome:
    """Read an error by its reason, where it gives one that says more than its code."""
    outcome = failure(error, EUM)
    answer: Any = error.response
    reason = str(answer.get("Reason", ""))
    if reason not in EUM_REASONS or outcome.code not in EUM:
        return outcome
    return Outcome(EUM_REASONS[reason], reason)
