"""Signature Version 4 for the one shape of request that the data plane sends.

``POST <path>`` with a JSON 1.0 body and an ``X-Amz-Target`` header. botocore's signer builds and
sorts everything anew for each request; here whatever lasts longer than a request is kept: the
signing key for a day, the scope and the canonical prefix of each target for a second. The result
is the same to the byte (tests/unit/aws/test_signing.py compares the two).

Algorithm: "Create a signed AWS API request" in the AWS IAM user guide.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote

CONTENT_TYPE = "application/x-amz-json-1.0"

_ALGORITHM = "AWS4-HMAC-SHA256"
# A client calls three operations. A caller that invents targets must not grow the cache.
_FRAMES_MAX = 16


@dataclass(frozen=True, slots=True)
class FrozenCredentials:
    """Keys as they stand at one moment. The repr shows none of them."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


class Keys(Protocol):
    """Where those who sign get their credentials (``credentials.CredentialsSource``)."""

    async def current(self) -> FrozenCredentials:
        """The keys to sign with now; the same object as long as they are the same."""
        ...

    async def renew(self, rejected: FrozenCredentials) -> FrozenCredentials:
        """Other keys than the ones that AWS refused, or the same where there are no others."""
        ...


@dataclass(frozen=True, slots=True)
class _Frame:
    """Everything of a request for one target within one second that the body does not change."""

    headers: dict[str, str]
    canonical_prefix: bytes
    string_to_sign_prefix: bytes
    authorization_prefix: str


class RequestSigner:
    """Signs requests for one service at one URL.

    ``host`` is the value of the Host header (with the port where it is not the scheme's own),
    ``path`` the unquoted path. Owned by one event loop.
    """

    def __init__(self, *, service: str, region: str, host: str, path: str = "/") -> None:
        self._service = service
        self._region = region
        self._host = host
        self._path = quote(path, safe="/~")
        self._frames: dict[str, _Frame] = {}
        self._second = -1
        self._credentials: FrozenCredentials | None = None
        self._key = b""
        self._key_id: tuple[str, str] | None = None

    def sign(
        self, credentials: FrozenCredentials, *, target: str, body: bytes, wall_s: float
    ) -> dict[str, str]:
        """All headers of the request, the Authorization header among them.

        ``target`` is the operation as ``X-Amz-Target`` wants it, ``wall_s`` the time of the
        request in seconds since the epoch. AWS accepts it within five minutes.
        """
        second = int(wall_s)
        if second != self._second or credentials is not self._credentials:
            self._frames.clear()
            self._second = second
            self._credentials = credentials
        frame = self._frames.get(target)
        if frame is None:
            frame = self._frame(credentials, target, second)
        canonical = frame.canonical_prefix + sha256(body).hexdigest().encode()
        to_sign = frame.string_to_sign_prefix + sha256(canonical).hexdigest().encode()
        signature = hmac.digest(self._key, to_sign, "sha256").hex()
        headers = frame.headers.copy()
        headers["Authorization"] = frame.authorization_prefix + signature
        return headers

    def _frame(self, credentials: FrozenCredentials, target: str, second: int) -> _Frame:
        stamp = datetime.fromtimestamp(second, UTC).strftime("%Y%m%dT%H%M%SZ")
        day = stamp[:8]
        self._derive_key(credentials.secret_access_key, day)
        headers = {
            "Content-Type": CONTENT_TYPE,
            "Host": self._host,
            "X-Amz-Date": stamp,
        }
        if credentials.session_token is not None:
            headers["X-Amz-Security-Token"] = credentials.session_token
        headers["X-Amz-Target"] = target
        # The order above is that of the lower-case names, as the canonical form demands.
        canonical_headers = "".join(f"{name.lower()}:{v}\n" for name, v in headers.items())
        signed_headers = ";".join(name.lower() for name in headers)
        scope = f"{day}/{self._region}/{self._service}/aws4_request"
        frame = _Frame(
            headers=headers,
            canonical_prefix=(
                f"POST\n{self._path}\n\n{canonical_headers}\n{signed_headers}\n".encode()
            ),
            string_to_sign_prefix=f"{_ALGORITHM}\n{stamp}\n{scope}\n".encode(),
            authorization_prefix=(
                f"{_ALGORITHM} Credential={credentials.access_key_id}/{scope}, "
                f"SignedHeaders={signed_headers}, Signature="
            ),
        )
        if len(self._frames) >= _FRAMES_MAX:
            self._frames.clear()
        self._frames[target] = frame
        return frame

    def _derive_key(self, secret: str, day: str) -> None:
        if self._key_id == (secret, day):
            return
        key = f"AWS4{secret}".encode()
        for part in (day, self._region, self._service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        self._key = key
        self._key_id = (secret, day)
