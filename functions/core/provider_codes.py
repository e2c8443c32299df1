"""What each provider's documented error codes mean. One row a code; a code that nobody has seen has a rule too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions.core.outcome import OutcomeClass

if TYPE_CHECKING:
    from collections.abc import Mapping

# Codes that any AWS API may answer with.
# https://docs.aws.amazon.com/ses/latest/APIReference-V2/CommonErrors.html
AWS_COMMON: Final[Mapping[str, OutcomeClass]] = {
    "AccessDeniedException": OutcomeClass.AUTH,
    "AccessDenied": OutcomeClass.AUTH,
    "AuthorizationError": OutcomeClass.AUTH,
    "ExpiredTokenException": OutcomeClass.AUTH,
    "ExpiredToken": OutcomeClass.AUTH,
    "IncompleteSignature": OutcomeClass.AUTH,
    "InvalidClientTokenId": OutcomeClass.AUTH,
    "InvalidSignatureException": OutcomeClass.AUTH,
    "NotAuthorized": OutcomeClass.AUTH,
    "OptInRequired": OutcomeClass.AUTH,
    "SignatureDoesNotMatch": OutcomeClass.AUTH,
    "UnrecognizedClientException": OutcomeClass.AUTH,
    "UnknownOperationException": OutcomeClass.AUTH,  # not offered in this region: no row's fault
    "InternalFailure": OutcomeClass.UNKNOWN,
    "InternalError": OutcomeClass.UNKNOWN,
    "InternalServiceError": OutcomeClass.UNKNOWN,
    "RequestAbortedException": OutcomeClass.UNKNOWN,
    "RequestTimeout": OutcomeClass.UNKNOWN,
    "RequestTimeoutException": OutcomeClass.UNKNOWN,
    "MalformedHttpRequestException": OutcomeClass.UNAVAILABLE,  # garbled on its way: refused as a whole
    "RequestExpired": OutcomeClass.UNAVAILABLE,  # a clock that is wrong, or a request that took 15 minutes to arrive
    "ServiceUnavailable": OutcomeClass.UNAVAILABLE,
    "RequestEntityTooLargeException": OutcomeClass.REJECTED,
    "Throttling": OutcomeClass.THROTTLED,
    "ThrottlingException": OutcomeClass.THROTTLED,
    "RequestThrottled": OutcomeClass.THROTTLED,
    "TooManyRequestsException": OutcomeClass.THROTTLED,
    "ValidationError": OutcomeClass.REJECTED,
    "ValidationException": OutcomeClass.REJECTED,
}

# https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html#API_SendEmail_Errors
SES: Final[Mapping[str, OutcomeClass]] = {
    **AWS_COMMON,
    "AccountSuspendedException": OutcomeClass.AUTH,
    "BadRequestException": OutcomeClass.REJECTED,
    "LimitExceededException": OutcomeClass.QUOTA,
    "MailFromDomainNotVerifiedException": OutcomeClass.AUTH,
    "MessageRejected": OutcomeClass.REJECTED,
    "NotFoundException": OutcomeClass.AUTH,  # the configuration set or identity is not there: no row's fault
    "SendingPausedException": OutcomeClass.AUTH,
}

# https://docs.aws.amazon.com/sns/latest/api/API_Publish.html#API_Publish_Errors
SNS: Final[Mapping[str, OutcomeClass]] = {
    **AWS_COMMON,
    "EndpointDisabled": OutcomeClass.REJECTED,
    "EndpointDisabledException": OutcomeClass.REJECTED,
    "InvalidParameter": OutcomeClass.REJECTED,
    "InvalidParameterException": OutcomeClass.REJECTED,
    "InvalidSecurity": OutcomeClass.AUTH,
    "KMSAccessDenied": OutcomeClass.AUTH,
    "KMSDisabled": OutcomeClass.AUTH,
    "KMSInvalidState": OutcomeClass.AUTH,
    "KMSNotFound": OutcomeClass.AUTH,
    "KMSOptInRequired": OutcomeClass.AUTH,
    "KMSThrottling": OutcomeClass.THROTTLED,
    "NotFound": OutcomeClass.AUTH,
    "OptedOut": OutcomeClass.REJECTED,
    "ParameterValueInvalid": OutcomeClass.REJECTED,
    "PlatformApplicationDisabled": OutcomeClass.AUTH,
}

# https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_SendTextMessage.html#API_SendTextMessage_Errors
EUM: Final[Mapping[str, OutcomeClass]] = {
    **AWS_COMMON,
    "ConflictException": OutcomeClass.UNAVAILABLE,  # with one of the reasons below, it means something else
    "InternalServerException": OutcomeClass.UNKNOWN,
    "ResourceNotFoundException": OutcomeClass.AUTH,  # the origination identity or configuration set: no row's fault
    "ServiceQuotaExceededException": OutcomeClass.QUOTA,
}
# The reasons that its errors give. What a number's country does not allow is that number's; what our account, pool or
# sender lacks is nobody's in particular.
# https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_ConflictException.html
# https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_ValidationException.html
EUM_REASONS: Final[Mapping[str, OutcomeClass]] = {
    "ACCOUNT_DISABLED": OutcomeClass.AUTH,
    "CHANNEL_NOT_ENABLED": OutcomeClass.AUTH,
    "COUNTRY_CODE_MISMATCH": OutcomeClass.REJECTED,
    "COUNTRY_NOT_ENABLED": OutcomeClass.REJECTED,
    "DESTINATION_COUNTRY_BLOCKED": OutcomeClass.REJECTED,
    "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION": OutcomeClass.REJECTED,
    "DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE": OutcomeClass.REJECTED,
    "DESTINATION_PHONE_NUMBER_NOT_VERIFIED": OutcomeClass.AUTH,  # the account is still in the sandbox
    "DESTINATION_PHONE_NUMBER_OPTED_OUT": OutcomeClass.REJECTED,
    "INSUFFICIENT_ACCOUNT_REPUTATION": OutcomeClass.AUTH,
    "INTERNATIONAL_SENDING_NOT_SUPPORTED": OutcomeClass.REJECTED,
    "INVALID_ARN": OutcomeClass.AUTH,
    "INVALID_IDENTITY_FOR_DESTINATION_COUNTRY": OutcomeClass.REJECTED,
    "MESSAGE_TYPE_MISMATCH": OutcomeClass.AUTH,
    "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT": OutcomeClass.QUOTA,
    "NO_ORIGINATION_IDENTITIES_FOUND": OutcomeClass.REJECTED,  # none in the pool for this country
    "NUMBER_CAPABILITIES_MISMATCH": OutcomeClass.AUTH,
    "PRICE_OVER_THRESHOLD": OutcomeClass.REJECTED,
    "REGISTRATION_NOT_COMPLETE": OutcomeClass.AUTH,
    "RESOURCE_NOT_ACCESSIBLE": OutcomeClass.AUTH,
    "RESOURCE_NOT_ACTIVE": OutcomeClass.AUTH,
    "SENDER_ID_NOT_REGISTERED": OutcomeClass.REJECTED,  # for this country
    "SENDER_ID_NOT_SUPPORTED": OutcomeClass.REJECTED,
    "SENDER_ID_REQUIRES_REGISTRATION": OutcomeClass.REJECTED,
}

# The person has said STOP to the sender, its pool or its account: the provider will not send to them.
OPTED_OUT: Final = frozenset({"DESTINATION_PHONE_NUMBER_OPTED_OUT", "OptedOut"})

# https://resend.com/docs/api-reference/errors
# `validation_error` comes with 400, 401, 403 and 422: a refused key is told by its status before this table is asked.
HTTP_EMAIL: Final[Mapping[str, OutcomeClass]] = {
    "application_error": OutcomeClass.UNKNOWN,
    "concurrent_idempotent_requests": OutcomeClass.RUNNING,
    "daily_quota_exceeded": OutcomeClass.QUOTA,
    "internal_server_error": OutcomeClass.UNKNOWN,
    "invalid_access": OutcomeClass.REJECTED,
    "invalid_api_key": OutcomeClass.AUTH,
    "invalid_attachment": OutcomeClass.REJECTED,
    "invalid_from_address": OutcomeClass.AUTH,  # our sender: no row's fault
    "invalid_idempotency_key": OutcomeClass.REJECTED,
    "invalid_idempotent_request": OutcomeClass.MISMATCH,
    "invalid_parameter": OutcomeClass.REJECTED,
    "invalid_region": OutcomeClass.AUTH,
    "method_not_allowed": OutcomeClass.AUTH,
    "missing_api_key": OutcomeClass.AUTH,
    "missing_required_field": OutcomeClass.REJECTED,
    "missing_required_fields": OutcomeClass.REJECTED,
    "monthly_quota_exceeded": OutcomeClass.QUOTA,
    "not_found": OutcomeClass.AUTH,
    "rate_limit_exceeded": OutcomeClass.THROTTLED,
    "recipient_rate_limited": OutcomeClass.DEFERRED,
    "restricted_api_key": OutcomeClass.AUTH,
    "security_error": OutcomeClass.REJECTED,
    "service_unavailable": OutcomeClass.UNAVAILABLE,
    "validation_error": OutcomeClass.REJECTED,
}

# What happened to a call of a customer's endpoint where no status says it.
WEBHOOK: Final[Mapping[str, OutcomeClass]] = {
    "address_refused": OutcomeClass.REJECTED,  # nothing was called
    "certificate_refused": OutcomeClass.UNAVAILABLE,
    "cut_off": OutcomeClass.UNKNOWN,
    "no_secret": OutcomeClass.REJECTED,
    "not_a_webhook": OutcomeClass.REJECTED,
    "not_connected": OutcomeClass.UNAVAILABLE,
    "not_resolved": OutcomeClass.UNAVAILABLE,
    "timed_out": OutcomeClass.UNKNOWN,
}

_WEBHOOK_BY_STATUS: Final[Mapping[int, OutcomeClass]] = {
    408: OutcomeClass.UNKNOWN,
    425: OutcomeClass.UNAVAILABLE,  # too early: it was not looked at
    429: OutcomeClass.DEFERRED,
    503: OutcomeClass.UNAVAILABLE,
}

_REFUSED: Final = frozenset({401, 403})
_SUCCESSES: Final = range(200, 300)
_CLEAR_REFUSALS: Final = range(300, 500)
_UNAVAILABLE: Final = 503
# What a status means by itself. A timeout may be that of a server between us and the one that did the work; a conflict
# says that something with our key has been there before.
_BY_STATUS: Final[Mapping[int, OutcomeClass]] = {
    408: OutcomeClass.UNKNOWN,
    409: OutcomeClass.RUNNING,
    429: OutcomeClass.THROTTLED,
    503: OutcomeClass.UNAVAILABLE,
}


def meaning(codes: Mapping[str, OutcomeClass], code: str, http_status: int) -> OutcomeClass:
    """Return the class of an error code, or of its HTTP status where nobody has seen the code before.

    An unseen 4xx is tried again within the message's receives and then held as exhausted: it may be the row's fault or
    ours, and neither dropping it nor trying for ever is safe.
    """
    if http_status in _REFUSED:
        return OutcomeClass.AUTH
    if code in codes:
        return codes[code]
    otherwise = OutcomeClass.UNAVAILABLE if http_status in _CLEAR_REFUSALS else OutcomeClass.UNKNOWN
    return _BY_STATUS.get(http_status, otherwise)


def webhook_meaning(http_status: int, *, asked_to_wait: bool) -> OutcomeClass:
    """Return the class of a customer's endpoint's answer. `asked_to_wait`: it came with a Retry-After.

    Nothing that one endpoint says holds anybody else's messages back: not its refusals, which would be ours to mend if
    a provider answered so, nor its limits. Redirects are not followed, and so they are refusals.
    """
    if http_status in _SUCCESSES:
        return OutcomeClass.ACCEPTED
    if http_status == _UNAVAILABLE and asked_to_wait:
        return OutcomeClass.DEFERRED
    otherwise = OutcomeClass.REJECTED if http_status in _CLEAR_REFUSALS else OutcomeClass.UNKNOWN
    return _WEBHOOK_BY_STATUS.get(http_status, otherwise)
