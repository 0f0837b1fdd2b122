"""Signature Version 4 for the one shape of request that the data plane sends.

``POST <path>`` with a JSON 1.0 body and an ``X-Amz-Target`` header. botocore's signer builds and
sorts everything anew for each request; here whatever lasts longer than a request is kept: the
signing key for a day, the header lines of each target for a second. What is hashed over and over
is kept as the state of a hash that has seen it already, and HMAC is written out as the two hashes
that it is (RFC 2104), since the state of one that knows its key can be copied. The result is the
same to the byte (tests/unit/aws/test_signing.py compares the two).

Algorithm: "Create a signed AWS API request" in the AWS IAM user guide.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from connectd.errors import InvariantError

if TYPE_CHECKING:
    from hashlib import _Hash

CONTENT_TYPE = "application/x-amz-json-1.0"

_ALGORITHM = "AWS4-HMAC-SHA256"
# A client calls three operations. A caller that invents targets must not grow the cache.
_FRAMES_MAX = 16

_HASH_BLOCK_BYTES = 64
_INNER_PAD = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD = bytes(byte ^ 0x5C for byte in range(256))
_NOTHING_HASHED = sha256()


@dataclass(frozen=True, slots=True)
class FrozenCredentials:
    """Keys as they stand at one moment. The repr shows none of them."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


class Keys(Protocol):
    """Where those who sign get their credentials (``credentials.CredentialsSource``)."""

    def fresh(self) -> FrozenCredentials | None:
        """Those that ``current`` would return at once, or None if it has to look."""
        ...

    async def current(self) -> FrozenCredentials:
        """The keys to sign with now; the same object as long as they are the same."""
        ...

    async def renew(self, rejected: FrozenCredentials) -> FrozenCredentials:
        """Other keys than the ones that AWS refused, or the same where there are no others."""
        ...


@dataclass(frozen=True, slots=True)
class _Frame:
    """Everything of a request for one target within one second that the body does not change.

    ``lines`` end in the middle of the Authorization header, where the signature belongs. The two
    hashes have seen what comes before the hash of the body, and what comes before the hash of the
    canonical request.
    """

    lines: bytes
    canonical: _Hash
    to_sign: _Hash


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
        self._key = _MacKey(b"")
        self._key_id: tuple[str, str] | None = None

    def sign(
        self, credentials: FrozenCredentials, *, target: str, body: bytes, wall_s: float
    ) -> bytes:
        """All headers of the request as lines that end with CR LF, Authorization among them.

        ``target`` is the operation as ``X-Amz-Target`` wants it, ``wall_s`` the time of the
        request in seconds since the epoch. AWS accepts it within five minutes.

        Raises InvariantError for a value that would bring another header along.
        """
        second = int(wall_s)
        if second != self._second or credentials is not self._credentials:
            self._frames.clear()
            self._second = second
            self._credentials = credentials
        frame = self._frames.get(target)
        if frame is None:
            frame = self._frame(credentials, target, second)
        hashed = _NOTHING_HASHED.copy()
        hashed.update(body)
        canonical = frame.canonical.copy()
        canonical.update(hashed.hexdigest().encode())
        to_sign = frame.to_sign.copy()
        to_sign.update(canonical.hexdigest().encode())
        return b"%b%b\r\n" % (frame.lines, self._key.finish(to_sign).encode())

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
        headers["Authorization"] = (
            f"{_ALGORITHM} Credential={credentials.access_key_id}/{scope}, "
            f"SignedHeaders={signed_headers}, Signature="
        )
        frame = _Frame(
            lines=_lines(headers),
            canonical=sha256(
                f"POST\n{self._path}\n\n{canonical_headers}\n{signed_headers}\n".encode()
            ),
            to_sign=self._key.begin(f"{_ALGORITHM}\n{stamp}\n{scope}\n".encode()),
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
        self._key = _MacKey(key)
        self._key_id = (secret, day)


class _MacKey:
    """HMAC-SHA256 with one key of at most a block, in two steps: begin, then finish a copy."""

    def __init__(self, key: bytes) -> None:
        block = key.ljust(_HASH_BLOCK_BYTES, b"\0")
        self._inner = sha256(block.translate(_INNER_PAD))
        self._outer = sha256(block.translate(_OUTER_PAD))

    def begin(self, message: bytes) -> _Hash:
        """The inner hash, which has seen the key and this much of the message."""
        inner = self._inner.copy()
        inner.update(message)
        return inner

    def finish(self, inner: _Hash) -> str:
        """The authentication code, hexadecimal, of what ``begin`` and its caller have put in."""
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.hexdigest()


def _lines(headers: dict[str, str]) -> bytes:
    """Header lines; the last of them is not ended."""
    text = "\r\n".join(f"{name}: {value}" for name, value in headers.items())
    if text.count("\n") != len(headers) - 1 or text.count("\r") != len(headers) - 1:
        names = [name for name, value in headers.items() if {"\r", "\n"} & set(value)]
        raise InvariantError(f"signing a request: the header {', '.join(names)} has a line break")
    return text.encode("latin-1")
