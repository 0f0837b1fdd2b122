"""The only translation of what AWS and the network say into ``connectd.errors``.

Three sources, one result: exceptions of botocore (control plane), error answers on the wire and
exceptions of aiohttp (data plane). ``translate`` takes any exception, ``translate_fault`` a parsed
error answer; both return the exception to raise, the caller chains the cause.

Codes rule, HTTP statuses only speak where the code is unknown. A test walks every error shape that
botocore models for the services used here and fails on a code that is missing from the table.

Service messages pass through shortened: a refused signature makes AWS print the canonical request,
session token included, and that must not reach a log or a REST answer.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from typing import Any, NoReturn

import aiohttp
import botocore.exceptions as boto
import msgspec
from botocore.parsers import ResponseParserError

from connectd.errors import (
    AccessDeniedError,
    ConfigError,
    ConflictError,
    ConnectdError,
    InvalidRequestError,
    IteratorExpiredError,
    RetriableError,
    StreamGoneError,
    TableGoneError,
    ThrottledError,
    TransientNetworkError,
    TrimmedDataError,
)

# Long enough for an IAM message with two ARNs, short enough for a log line.
_MESSAGE_CHARS_MAX = 600


class Call(msgspec.Struct, frozen=True, gc=False):
    """What was being done: ``action`` as IAM names it, ``resource`` for human eyes.

    Begins every message: "dynamodb:Scan on table orders: ...".
    """

    action: str
    resource: str

    @property
    def shown(self) -> str:
        """What of the resource is for human eyes: all of it."""
        return self.resource

    def __str__(self) -> str:
        return f"{self.action} on {self.shown}"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class ServiceFault:
    """An error answer of a service; ``code`` is empty when the body had none."""

    status: int
    code: str
    message: str
    throttling_reasons: tuple[str, ...] = ()

    @property
    def is_expired_token(self) -> bool:
        """The session token ran out; new credentials may mend it."""
        return self.code in _EXPIRED_TOKEN


_EXPIRED_TOKEN = frozenset({"ExpiredToken", "ExpiredTokenException"})

_CODES_BY_ERROR: dict[type[ConnectdError], str] = {
    ThrottledError: """
        LimitExceededException ProvisionedThroughputExceededException RequestLimitExceeded
        RequestThrottled RequestThrottledException SlowDown ThrottledException Throttling
        ThrottlingException TooManyRequestsException""",
    TransientNetworkError: """
        InternalFailure InternalServerError InternalServerErrorException InternalServiceError
        InternalServiceException RequestTimeout RequestTimeoutException ServiceUnavailable
        ServiceUnavailableException IDPCommunicationError IDPCommunicationErrorException""",
    RetriableError: """
        ConcurrentModificationException PaginationTokenExpiredException
        TransactionConflictException TransactionInProgressException
        ReplicatedWriteConflictException""",
    IteratorExpiredError: "ExpiredIteratorException",
    TrimmedDataError: "TrimmedDataAccessException",
    AccessDeniedError: """
        AccessDenied AccessDeniedException AuthFailure ExpiredToken ExpiredTokenException
        ExpiredTradeInTokenException IDPRejectedClaim IDPRejectedClaimException
        IncompleteSignature IncompleteSignatureException InsufficientSessionLifetime
        InsufficientSessionLifetimeException InvalidAccessKeyId
        InvalidAuthorizationMessageException InvalidClientTokenId InvalidContextAssertion
        InvalidContextAssertionException InvalidIdentityToken InvalidIdentityTokenException
        InvalidSignatureException InvalidSubjectCredentials
        InvalidSubjectCredentialsException KMSAccessDeniedException
        MissingAuthenticationToken MissingAuthenticationTokenException NotAuthorized
        OptInRequired OutboundWebIdentityFederationDisabledException RegionDisabledException
        RequestExpired RequestTimeTooSkewed SessionDurationEscalationException
        SignatureDoesNotMatch UnauthorizedOperation UnrecognizedClientException""",
    ConflictError: """
        BackupInUseException ConditionalCheckFailedException DuplicateItemException
        ExportConflictException GlobalTableAlreadyExistsException ImportConflictException
        ReplicaAlreadyExistsException ResourceInUseException TableAlreadyExistsException
        TableInUseException TransactionCanceledException""",
    TableGoneError: "TableNotFoundException",
    InvalidRequestError: """
        BackupNotFoundException ConstraintViolationException
        ContinuousBackupsUnavailableException ExportNotFoundException
        GlobalTableNotFoundException IdempotentParameterMismatchException
        ImportNotFoundException IndexNotFoundException InvalidAction
        InvalidExportTimeException InvalidParameterCombination InvalidParameterException
        InvalidParameterValue InvalidRestoreTimeException
        ItemCollectionSizeLimitExceededException JWTPayloadSizeExceededException
        MalformedPolicyDocument MalformedPolicyDocumentException MissingAction MissingParameter
        PackedPolicyTooLarge PackedPolicyTooLargeException
        PointInTimeRecoveryUnavailableException PolicyNotFoundException ReplicaNotFoundException
        SerializationException UnknownOperationException ValidationError ValidationException""",
}

# Decided by the operation, not by the code alone.
_GONE = "ResourceNotFoundException"

ERROR_BY_CODE: dict[str, type[ConnectdError]] = {
    code: error for error, codes in _CODES_BY_ERROR.items() for code in codes.split()
}
KNOWN_CODES = frozenset(ERROR_BY_CODE) | {_GONE}

_STREAM_ACTIONS = frozenset(
    {"dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords"}
)

_ADVICE_BY_CODE = {
    "ContinuousBackupsUnavailableException": "switch on point-in-time recovery of the table",
    "PointInTimeRecoveryUnavailableException": (
        "switch on point-in-time recovery of the table (aws dynamodb update-continuous-backups "
        "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true), or choose "
        "another init.sync.engine"
    ),
    "ExpiredToken": "renew the session token, or configure credentials that renew themselves",
    "ExpiredTokenException": "renew the session token, or configure credentials that do so",
    "InvalidClientTokenId": "check aws.access.key.id and the account's region settings",
    "InvalidSignatureException": "check aws.secret.key, and this host's clock against UTC",
    "RequestExpired": "check this host's clock against UTC",
    "RequestTimeTooSkewed": "check this host's clock against UTC",
    "SignatureDoesNotMatch": "check aws.secret.key, and this host's clock against UTC",
    "UnrecognizedClientException": "check aws.access.key.id and the session token",
}

_DENIED_ACTION = re.compile(r"not authorized to perform:? (?P<action>[A-Za-z0-9-]+:[A-Za-z]+)")
_DENIED_RESOURCE = re.compile(r"on resource:? (?P<resource>[^\s,]+)")
_ARN = re.compile(r"arn:aws[a-z-]*:[^\s,]+")
# From here on AWS quotes the request that was to be signed.
_QUOTED_REQUEST = re.compile(r"\s*The Canonical String for this request.*", re.DOTALL)


class _WireFault(msgspec.Struct):
    """The error body of the JSON protocols. AWS writes ``message`` or ``Message``."""

    type: str | None = msgspec.field(name="__type", default=None)
    message: str | None = None
    message_capital: str | None = msgspec.field(name="Message", default=None)
    throttling_reasons: Any = msgspec.field(name="ThrottlingReasons", default=None)


_wire_fault_decoder = msgspec.json.Decoder(_WireFault)


def parse_wire_fault(status: int, body: bytes) -> ServiceFault:
    """Read an error answer of the data plane; any body will do, a proxy's HTML included."""
    try:
        parsed = _wire_fault_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ServiceFault(status, "", f"{len(body)} bytes that are not an AWS error")
    code = (parsed.type or "").rpartition("#")[2].partition(":")[0]
    message = parsed.message or parsed.message_capital or "no message"
    return ServiceFault(status, code, message, _reasons(parsed.throttling_reasons))


def parse_client_error(error: boto.ClientError) -> ServiceFault:
    """The same from botocore's exception."""
    answer: dict[str, Any] = {**error.response}
    details = answer.get("Error", {})
    return ServiceFault(
        status=int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)),
        code=str(details.get("Code", "")),
        message=str(details.get("Message") or "no message"),
        throttling_reasons=_reasons(answer.get("ThrottlingReasons")),
    )


def _reasons(found: Any) -> tuple[str, ...]:
    """The names in ``ThrottlingReasons``: which limit of which table or index was hit."""
    if not isinstance(found, list):
        return ()
    return tuple(
        str(each["reason"]) for each in found if isinstance(each, dict) and each.get("reason")
    )


def translate_fault(fault: ServiceFault, call: Call) -> ConnectdError:
    """The exception that an error answer means, for the caller to raise."""
    kind = _kind(fault, call)
    message = _QUOTED_REQUEST.sub("", fault.message)[:_MESSAGE_CHARS_MAX]
    label = fault.code or f"HTTP {fault.status}"
    text = f"{call}: {label}: {message}"
    if fault.throttling_reasons:
        text += f" ({', '.join(fault.throttling_reasons)})"
    advice = _ADVICE_BY_CODE.get(fault.code)
    if kind is AccessDeniedError and advice is None:
        advice = _grant_advice(message, call)
    return kind(f"{text}; {advice}" if advice else text)


def refused_anew(refusal: ConnectdError) -> RetriableError:
    """What it means that credentials which were renewed a moment ago have run out too.

    They come and go, so the next ones may be good. Those that cannot be renewed are not told of so.
    """
    return RetriableError(f"{refusal} (they were renewed just before, and are once more)")


def _kind(fault: ServiceFault, call: Call) -> type[ConnectdError]:
    if fault.code == _GONE:
        return StreamGoneError if call.action in _STREAM_ACTIONS else TableGoneError
    known = ERROR_BY_CODE.get(fault.code)
    if known is not None:
        return known
    if fault.status == 429:
        return ThrottledError
    if fault.status >= 500 or fault.status == 408:
        return TransientNetworkError
    if fault.status in {401, 403}:
        return AccessDeniedError
    return InvalidRequestError


def _grant_advice(message: str, call: Call) -> str:
    """Name the permission that is missing (spec field-cases D13)."""
    action = _DENIED_ACTION.search(message)
    resource = _DENIED_RESOURCE.search(message)
    wanted = action["action"] if action else call.action
    tried = _ARN.search(call.shown)  # policies name resources by ARN, whatever was asked of it
    where = resource["resource"] if resource else tried[0] if tried else call.shown
    return f"allow the action {wanted} on {where} to these credentials"


# First match wins, so the narrow ones come first.
_BOTO_ERRORS: tuple[tuple[type[Exception], type[ConnectdError], str], ...] = (
    (
        boto.NoCredentialsError,
        AccessDeniedError,
        "set aws.access.key.id and aws.secret.key, or give the process credentials of its own",
    ),
    (boto.PartialCredentialsError, AccessDeniedError, "complete the credentials named"),
    (boto.CredentialRetrievalError, AccessDeniedError, "check the source of the credentials"),
    (boto.MetadataRetrievalError, TransientNetworkError, ""),
    (boto.TokenRetrievalError, AccessDeniedError, "log in again"),
    (boto.SSOError, AccessDeniedError, "log in again"),
    (boto.NoAuthTokenError, AccessDeniedError, "log in again"),
    (boto.LoginError, AccessDeniedError, "log in again"),
    (boto.RefreshWithMFAUnsupportedError, AccessDeniedError, "use a profile without MFA"),
    (boto.MissingDependencyException, ConfigError, "install what is named"),
    (boto.InfiniteLoopConfigError, ConfigError, "mend the AWS profile"),
    (boto.ProfileNotFound, ConfigError, "mend AWS_PROFILE or the AWS configuration file"),
    (boto.ConfigNotFound, ConfigError, "mend AWS_CONFIG_FILE"),
    (boto.ConfigParseError, ConfigError, "mend the AWS configuration file"),
    (boto.InvalidConfigError, ConfigError, "mend the AWS configuration"),
    (boto.InvalidRegionError, ConfigError, "check aws.region"),
    (boto.NoRegionError, ConfigError, "set aws.region"),
    (boto.UnknownEndpointError, ConfigError, "check aws.region"),
    (boto.EndpointProviderError, ConfigError, "check aws.region and the endpoint settings"),
    (boto.InvalidEndpointConfigurationError, ConfigError, "check the endpoint settings"),
    (boto.SSLError, TransientNetworkError, "if this lasts, check AWS_CA_BUNDLE"),
    (boto.HTTPClientError, TransientNetworkError, ""),
    (boto.ConnectionError, TransientNetworkError, ""),
    (boto.ParamValidationError, InvalidRequestError, ""),
    (boto.IncompleteReadError, TransientNetworkError, ""),
    (ResponseParserError, TransientNetworkError, ""),
    (boto.BotoCoreError, InvalidRequestError, ""),
)

_NETWORK_ERRORS: tuple[tuple[type[Exception], type[ConnectdError], str], ...] = (
    (
        aiohttp.ClientConnectorCertificateError,
        ConfigError,
        "the certificate is not trusted here: set AWS_CA_BUNDLE",
    ),
    (ssl.SSLCertVerificationError, ConfigError, "set AWS_CA_BUNDLE"),
    (aiohttp.InvalidURL, ConfigError, "check the endpoint settings"),
    (aiohttp.ClientError, TransientNetworkError, ""),
    (TimeoutError, TransientNetworkError, ""),
    (OSError, TransientNetworkError, ""),
)


def translate(error: Exception, call: Call) -> ConnectdError | None:
    """The exception that a foreign one means; None for one that is no business of this room.

    The caller raises the result ``from`` the error, or re-raises the error itself on None.
    """
    if isinstance(error, ConnectdError):
        return error
    if isinstance(error, boto.ClientError):
        return translate_fault(parse_client_error(error), call)
    for foreign, ours, advice in _BOTO_ERRORS + _NETWORK_ERRORS:
        if isinstance(error, foreign):
            finding = str(error).strip() or type(error).__name__
            text = f"{call}: {finding[:_MESSAGE_CHARS_MAX]}"
            return ours(f"{text}; {advice}" if advice else text)
    return None


def raise_translated(error: Exception, call: Call) -> NoReturn:
    """Raise what ``translate`` makes of an error, from it; or the error itself on None.

    Nothing that the traceback leads to holds the exception: in such a cycle it would keep what its
    request had received until the garbage collector comes by, which is seldom (``app.tuning``).
    """
    translated = translate(error, call)
    try:
        if translated is None or translated is error:
            raise error
        raise translated from error
    finally:
        del error, translated
