"""STS over the query protocol: AssumeRole and GetCallerIdentity, in XML."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from xml.sax.saxutils import escape

from tests.fakes.account import Account
from tests.fakes.identity import SESSION_LIFETIME_S, Identities
from tests.fakes.wire import AwsError

_NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/"

Parameters = dict[str, str]

# STS names the errors of the access check differently from the JSON services.
STS_CODES = {
    "AccessDeniedException": "AccessDenied",
    "ExpiredTokenException": "ExpiredToken",
    "InvalidSignatureException": "SignatureDoesNotMatch",
    "MissingAuthenticationTokenException": "AccessDenied",
    "ThrottlingException": "Throttling",
    "UnrecognizedClientException": "InvalidClientTokenId",
}


class SecurityTokenService:
    """The two operations that a connector needs."""

    def __init__(self, account: Account, identities: Identities) -> None:
        self._account = account
        self._identities = identities
        self._operations: dict[str, Callable[[str, Parameters], str]] = {
            "AssumeRole": self._assume_role,
            "GetCallerIdentity": self._get_caller_identity,
        }

    def run(self, operation: str, caller: str, parameters: Parameters, request_id: str) -> bytes:
        """Perform an operation; the XML of its answer."""
        perform = self._operations.get(operation)
        if perform is None:
            raise AwsError("InvalidAction", f"Could not find operation {operation}")
        result = perform(caller, parameters)
        return (
            f'<{operation}Response xmlns="{_NAMESPACE}"><{operation}Result>{result}'
            f"</{operation}Result><ResponseMetadata><RequestId>{request_id}</RequestId>"
            f"</ResponseMetadata></{operation}Response>"
        ).encode()

    def _assume_role(self, caller: str, parameters: Parameters) -> str:
        session = self._identities.assume(
            caller,
            parameters.get("RoleArn", ""),
            parameters.get("RoleSessionName", ""),
            parameters.get("ExternalId"),
            int(parameters.get("DurationSeconds", SESSION_LIFETIME_S)),
        )
        expiration = datetime.fromtimestamp(session.expires_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return (
            f"<AssumedRoleUser><Arn>{escape(session.principal)}</Arn>"
            f"<AssumedRoleId>{escape(session.role_id)}</AssumedRoleId></AssumedRoleUser>"
            f"<Credentials><AccessKeyId>{session.access_key_id}</AccessKeyId>"
            f"<SecretAccessKey>{session.secret}</SecretAccessKey>"
            f"<SessionToken>{session.token}</SessionToken>"
            f"<Expiration>{expiration}</Expiration></Credentials>"
        )

    def _get_caller_identity(self, caller: str, parameters: Parameters) -> str:
        return (
            f"<Arn>{escape(caller)}</Arn><UserId>AIDACKCEVSQ6C2EXAMPLE</UserId>"
            f"<Account>{self._account.account_id}</Account>"
        )


def xml_error(error: AwsError, request_id: str) -> tuple[int, bytes]:
    """HTTP status and XML of an error."""
    sts_error = AwsError(STS_CODES.get(error.code, error.code), error.message)
    return sts_error.status, (
        f'<ErrorResponse xmlns="{_NAMESPACE}"><Error><Type>Sender</Type>'
        f"<Code>{sts_error.code}</Code><Message>{escape(error.message)}</Message></Error>"
        f"<RequestId>{request_id}</RequestId></ErrorResponse>"
    ).encode()
