"""Who calls: credentials, roles and sessions.

Any key is welcome until ``require`` names the keys that are; then others are refused as AWS
refuses them. Keys that STS handed out are always checked: with their session token, and until
they expire on the fake's clock. ``verify_signatures`` makes every signature of a known key be
recomputed (``signature``), which finds a signer that is wrong.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.fakes.clock import FakeClock
from tests.fakes.signature import CREDENTIAL, signature_of
from tests.fakes.wire import AwsError

SESSION_LIFETIME_S = 3600.0
SESSION_SECONDS = range(900, 43_201)
_ROLE_ARN = re.compile(r"arn:aws:iam::(\d{12}):role/(?:[\w+=,.@/-]*/)?([\w+=,.@-]+)")


@dataclass(frozen=True, slots=True)
class Role:
    """A role that may be assumed, and the external id that its trust policy asks for."""

    arn: str
    external_id: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """Temporary credentials."""

    access_key_id: str
    secret: str
    token: str
    principal: str
    role_id: str
    expires_s: float


class Identities:
    """Credentials and roles of the account."""

    def __init__(self, clock: FakeClock, account_id: str) -> None:
        self._clock = clock
        self._account_id = account_id
        self._secrets: dict[str, str] = {}
        self._roles: dict[str, Role] = {}
        self._sessions: dict[str, Session] = {}
        self.is_closed = False
        self.verifies_signatures = False
        self.session_lifetime_s: float | None = None
        self.user = f"arn:aws:iam::{account_id}:user/connect"

    def require(self, access_key_id: str, secret: str) -> None:
        """Accept this long-lived key, and from now on only keys that are known."""
        self._secrets[access_key_id] = secret
        self.is_closed = True

    def forget(self, access_key_id: str) -> None:
        """Refuse a long-lived key from now on, as when it is deactivated."""
        self._secrets.pop(access_key_id, None)

    def add_role(self, role: Role) -> None:
        """Add a role; while none was added, every role may be assumed."""
        self._roles[role.arn] = role

    def expire_sessions(self) -> None:
        """Let all temporary credentials expire now."""
        now_s = self._clock.now_s()
        self._sessions = {
            key: Session(s.access_key_id, s.secret, s.token, s.principal, s.role_id, now_s)
            for key, s in self._sessions.items()
        }

    def principal_of(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> str:
        """The ARN of the caller of a request.

        Raises:
            AwsError: UnrecognizedClientException, ExpiredTokenException,
                MissingAuthenticationTokenException, InvalidSignatureException.
        """
        authorization = headers.get("authorization", "")
        match = CREDENTIAL.search(authorization)
        if match is None:
            if self.is_closed or self.verifies_signatures:
                raise AwsError("MissingAuthenticationTokenException")
            return self.user
        key = match["key"]
        session = self._sessions.get(key)
        secret = session.secret if session else self._secrets.get(key)
        if session is not None:
            if headers.get("x-amz-security-token") != session.token:
                raise AwsError("UnrecognizedClientException")
            if self._clock.now_s() >= session.expires_s:
                raise AwsError("ExpiredTokenException")
        elif secret is None and (self.is_closed or key.startswith("ASIA")):
            raise AwsError("UnrecognizedClientException")
        if (
            self.verifies_signatures
            and secret is not None
            and not authorization.endswith(
                f"Signature={signature_of(method, path, headers, body, secret)}"
            )
        ):
            raise AwsError("InvalidSignatureException")
        return session.principal if session else self.user

    def assume(
        self, caller: str, role_arn: str, session_name: str, external_id: str | None, wanted_s: int
    ) -> Session:
        """Hand out temporary credentials for a role.

        Raises:
            AwsError: AccessDenied when the role or its external id does not fit, ValidationError.
        """
        match = _ROLE_ARN.fullmatch(role_arn)
        if match is None:
            raise AwsError("ValidationError", f"{role_arn} is invalid")
        if wanted_s not in SESSION_SECONDS:
            raise AwsError(
                "ValidationError",
                f"1 validation error detected: Value '{wanted_s}' at 'durationSeconds' failed to "
                "satisfy constraint: Member must have value between 900 and 43200",
            )
        role = self._roles.get(role_arn, None if self._roles else Role(role_arn))
        if role is None or role.external_id not in (None, external_id):
            raise AwsError(
                "AccessDenied",
                f"User: {caller} is not authorized to perform: sts:AssumeRole on resource: "
                f"{role_arn}",
            )
        digest = hashlib.sha256(f"{role_arn}#{len(self._sessions)}".encode()).hexdigest().upper()
        lifetime_s = wanted_s if self.session_lifetime_s is None else self.session_lifetime_s
        session = Session(
            access_key_id=f"ASIA{digest[:16]}",
            secret=digest[16:56].lower(),
            token=f"FwoGZXIvYXdzE{digest}",
            principal=f"arn:aws:sts::{match[1]}:assumed-role/{match[2]}/{session_name}",
            role_id=f"AROA{digest[40:56]}:{session_name}",
            expires_s=self._clock.now_s() + lifetime_s,
        )
        self._sessions[session.access_key_id] = session
        return session
