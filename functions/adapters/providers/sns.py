"""Text messages through Amazon SNS. It has no idempotency key: two calls are two texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.providers.aws import UNREADABLE, acceptance, failure, one_attempt
from functions.core.envelope import TextEnvelope
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.core.provider_codes import SNS

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope


# The attribute that names the sender, which an error about it repeats.
_SENDER_ID: Final = "AWS.SNS.SMS.SenderID"
_ORIGINATION_NUMBER: Final = "AWS.MM.SMS.OriginationNumber"


class SnsProvider:
    """`Provider` on SNS SMS."""

    name = "sns"
    guarantee = Guarantee(Dedupe.NONE)

    def __init__(self, client: SNSClient) -> None:
        self._client = client

    @classmethod
    def with_timeout(cls, timeout_s: float) -> Self:
        """Return a provider whose client gives up after that many seconds without an answer."""
        return cls(boto3.client("sns", config=one_attempt(timeout_s)))

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:  # noqa: ARG002 - SNS SMS takes no reference of ours
        """Send one text message. A message id means that SNS took it, not that it reached a phone."""
        if not isinstance(envelope, TextEnvelope):
            return Outcome(OutcomeClass.REJECTED, "NotAText")
        sender = _ORIGINATION_NUMBER if envelope.sender.startswith("+") else _SENDER_ID
        try:
            answer = self._client.publish(
                PhoneNumber=envelope.to,
                Message=envelope.body,
                MessageAttributes={
                    sender: {"DataType": "String", "StringValue": envelope.sender},
                    # Promotional is the cheap class; these are messages that a customer waits for.
                    "AWS.SNS.SMS.SMSType": {"DataType": "String", "StringValue": "Transactional"},
                },
            )
        except ClientError as error:
            return _read(error)
        except BotoCoreError as error:
            return failure(error, SNS)
        except Exception:  # noqa: BLE001 - the SDK's parsers trip over odd answers in ways of their own
            return Outcome(OutcomeClass.UNKNOWN, UNREADABLE)
        return acceptance(answer)


def _read(error: ClientError) -> Outcome:
    outcome = failure(error, SNS)
    text = error.response["Error"].get("Message", "")
    if outcome.outcome is OutcomeClass.REJECTED and (_SENDER_ID in text or _ORIGINATION_NUMBER in text):
        return Outcome(OutcomeClass.AUTH, "SenderRefused")  # whoever it goes to
    return outcome
