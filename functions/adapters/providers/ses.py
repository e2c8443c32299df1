"""Email through Amazon SES v2. It has no idempotency key: two calls are two emails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, ConfigDict

from functions.adapters.providers.aws import UNREADABLE, acceptance, failure, one_attempt
from functions.core.envelope import EmailEnvelope
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.core.provider_codes import SES

if TYPE_CHECKING:
    from mypy_boto3_sesv2 import SESV2Client

    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope

# One error code, two meanings, told apart by their text only; SES drops the mail in either case.
# https://docs.aws.amazon.com/ses/latest/dg/manage-sending-quotas-errors.html
_DAILY_QUOTA: Final = "daily message quota"
_SENDING_RATE: Final = "sending rate"
_NOT_VERIFIED: Final = "not verified"


class SesOptions(BaseModel):
    """How SES is used: the configuration set decides where its events go."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    configuration_set: str | None = None


_PLAIN: Final = SesOptions()


class SesProvider:
    """`Provider` on SES v2."""

    name = "ses"
    guarantee = Guarantee(Dedupe.NONE)

    def __init__(self, client: SESV2Client, options: SesOptions = _PLAIN) -> None:
        self._client = client
        # Without one, SES tells of nothing that happens afterwards.
        self._with_events: Any = (
            {} if options.configuration_set is None else {"ConfigurationSetName": options.configuration_set}
        )

    @classmethod
    def with_timeout(cls, timeout_s: float, options: SesOptions = _PLAIN) -> Self:
        """Return a provider whose client gives up after that many seconds without an answer."""
        return cls(boto3.client("sesv2", config=one_attempt(timeout_s)), options)

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:
        """Send one email with our id as tags, by which SES's events will name it."""
        if not isinstance(envelope, EmailEnvelope):
            return Outcome(OutcomeClass.REJECTED, "NotAnEmail")
        try:
            answer = self._client.send_email(
                FromEmailAddress=envelope.sender,
                Destination={"ToAddresses": [envelope.to]},
                Content={
                    "Simple": {
                        "Subject": {"Data": envelope.subject, "Charset": "UTF-8"},
                        "Body": {
                            "Text": {"Data": envelope.text, "Charset": "UTF-8"},
                            "Html": {"Data": envelope.html, "Charset": "UTF-8"},
                        },
                        "Headers": [{"Name": name, "Value": value} for name, value in envelope.headers],
                    }
                },
                EmailTags=[{"Name": part, "Value": text} for part, text in delivery.delivery_id.as_tags().items()],
                **self._with_events,
            )
        except ClientError as error:
            return _read(error)
        except BotoCoreError as error:
            return failure(error, SES)
        except Exception:  # noqa: BLE001 - the SDK's parsers trip over odd answers in ways of their own
            return Outcome(OutcomeClass.UNKNOWN, UNREADABLE)
        return acceptance(answer)


def _read(error: ClientError) -> Outcome:
    text = error.response["Error"].get("Message", "").lower()
    outcome = failure(error, SES)
    if outcome.outcome in {OutcomeClass.THROTTLED, OutcomeClass.QUOTA}:
        if _DAILY_QUOTA in text:
            return Outcome(OutcomeClass.QUOTA, outcome.code)
        if _SENDING_RATE in text:
            return Outcome(OutcomeClass.THROTTLED, outcome.code)
    if outcome.code == "MessageRejected" and _NOT_VERIFIED in text:
        return Outcome(OutcomeClass.AUTH, "NotVerified")  # sender not verified, or the account still in the sandbox
    return outcome
