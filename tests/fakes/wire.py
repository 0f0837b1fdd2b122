"""The AWS JSON wire: requests, answers and errors in the form that AWS sends them.

An operation returns a ``Reply`` (a JSON body and what it cost) or raises ``AwsError``; the
dispatcher in ``fake`` turns either into an ``Answer``, which the HTTP server writes out.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

Payload = dict[str, Any]
"""A request's parameters: checked by the operation that reads them."""

DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
SERVICE = "com.amazon.coral.service#"
VALIDATE = "com.amazon.coral.validate#"
AVAILABILITY = "com.amazon.coral.availability#"

_THROTTLED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)

# code: (namespace of ``__type``, HTTP status, message when the script gives none)
_CATALOGUE: dict[str, tuple[str, int, str]] = {
    "AccessDeniedException": (SERVICE, 400, "User is not authorized to perform this action"),
    "ExpiredIteratorException": (DYNAMODB, 400, "Iterator expired"),
    "ExpiredTokenException": (
        SERVICE,
        400,
        "The security token included in the request is expired",
    ),
    "FakeNotImplemented": ("", 501, "the scripted fake does not implement this"),
    "InternalServerError": (DYNAMODB, 500, "Internal server error"),
    "InternalServiceException": ("", 500, "Internal service error"),
    "InvalidParameterException": ("", 400, "Invalid parameter"),
    "InvalidSignatureException": (
        SERVICE,
        400,
        "The request signature we calculated does not match the signature you provided.",
    ),
    "LimitExceededException": (DYNAMODB, 400, "Rate exceeded"),
    "MissingAuthenticationTokenException": (SERVICE, 400, "Missing Authentication Token"),
    "PaginationTokenExpiredException": ("", 400, "Pagination token is expired or invalid"),
    "ProvisionedThroughputExceededException": (DYNAMODB, 400, _THROTTLED),
    "RequestLimitExceeded": (
        DYNAMODB,
        400,
        "Throughput exceeds the current throughput limit for your account.",
    ),
    "ResourceInUseException": (DYNAMODB, 400, "The resource is in use"),
    "ResourceNotFoundException": (DYNAMODB, 400, "Requested resource not found"),
    "SerializationException": (SERVICE, 400, "Start of structure or map found where not expected"),
    "ServiceUnavailable": ("", 503, "Service is temporarily unavailable"),
    "ThrottledException": ("", 400, "Rate exceeded"),
    "ThrottlingException": (AVAILABILITY, 400, "Rate exceeded"),
    "TransactionConflictException": (DYNAMODB, 400, "Transaction is ongoing for the item"),
    "TrimmedDataAccessException": (
        DYNAMODB,
        400,
        "The operation attempted to read past the oldest stream record in a shard",
    ),
    "UnknownOperationException": (SERVICE, 400, ""),
    "UnrecognizedClientException": (
        SERVICE,
        400,
        "The security token included in the request is invalid.",
    ),
    "ValidationException": (VALIDATE, 400, "The request is not valid"),
    # STS speaks the query protocol: XML, and no suffix on the code
    "AccessDenied": ("", 403, "User is not authorized to perform this action"),
    "ExpiredToken": ("", 403, "The security token included in the request is expired"),
    "InvalidClientTokenId": ("", 403, "The security token included in the request is invalid."),
    "SignatureDoesNotMatch": (
        "",
        403,
        "The request signature we calculated does not match the signature you provided.",
    ),
    "Throttling": ("", 400, "Rate exceeded"),
    "ValidationError": ("", 400, "The request is not valid"),
}

_CAPITAL_MESSAGE = (SERVICE,)
"""Namespaces whose errors carry their text under ``Message`` instead of ``message``."""


class AwsError(Exception):
    """An error answer of AWS, by its code; unknown codes get HTTP 400 and no namespace."""

    def __init__(self, code: str, message: str | None = None, **extra: object) -> None:
        namespace, status, default = _CATALOGUE.get(code, ("", 400, code))
        self.code = code
        self.status = status
        self.message = default if message is None else message
        self._namespace = namespace
        self.extra = extra
        super().__init__(f"{code}: {self.message}")

    def json_body(self) -> bytes:
        """The body as JSON protocols send it."""
        text = "Message" if self._namespace in _CAPITAL_MESSAGE else "message"
        return orjson.dumps(
            {"__type": self._namespace + self.code, text: self.message, **self.extra}
        )


def is_known_error(code: str) -> bool:
    """Whether a code is in the catalogue."""
    return code in _CATALOGUE


def validation(message: str) -> AwsError:
    """The error for a malformed or senseless request."""
    return AwsError("ValidationException", message)


def not_implemented(what: str) -> AwsError:
    """The error for what real AWS has and this fake has not."""
    return AwsError("FakeNotImplemented", f"the scripted fake does not implement {what}")


class Ending(enum.Enum):
    """What happens to the connection with or after an answer."""

    KEEP = "keep"
    RESET = "reset"  # no answer: the connection is dropped
    TRUNCATED = "truncated"  # half of the body, then the connection is dropped
    HANG = "hang"  # no answer, ever


@dataclass(frozen=True, slots=True)
class Reply:
    """What an operation gives back: a JSON body, the items or records in it, the units it cost."""

    body: bytes
    count: int = 0
    units: float = 0.0

    @classmethod
    def of(cls, value: object, *, count: int = 0, units: float = 0.0) -> Reply:
        """Encode a value as the body."""
        return cls(orjson.dumps(value), count, units)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, to be sent ``delay_s`` seconds after the request came."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    ending: Ending = Ending.KEEP


Operation = Callable[[Payload], Reply]


def refuse_unknown(operation: str, payload: Payload, known: frozenset[str]) -> None:
    """Refuse parameters that the fake would otherwise ignore in silence."""
    unknown = sorted(payload.keys() - known)
    if unknown:
        raise not_implemented(f"{operation} with {', '.join(unknown)}")


def aws_seconds(at_s: float) -> bytes:
    """A timestamp as the DynamoDB services write it: a JSON number in Java's ``Double`` form.

    ``1767225600.0`` becomes ``1.7672256E9``, as in the samples of the GetRecords reference page.
    """
    digits, point, fraction = repr(at_s).partition(".")
    if not point or len(digits) < 8 or "e" in fraction:
        return repr(at_s).encode()
    mantissa = (digits[1:] + fraction).rstrip("0") or "0"
    return f"{digits[0]}.{mantissa}E{len(digits) - 1}".encode()
