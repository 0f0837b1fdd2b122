"""SCRAM (RFC 5802): a login that proves a password without sending it, in both directions.

Pure: what the broker says goes in, what is to be said comes out. Kafka normalises neither names
nor passwords, so neither does this.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Final

from connectd.errors import AccessDeniedError

DIGEST_BY_MECHANISM: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

ITERATIONS_MIN: Final = 4096
"""What Kafka itself asks for at least: fewer would make the proof cheap to guess from."""

ITERATIONS_MAX: Final = 1_000_000
"""More would keep the worker's event loop busy for a second."""

_NO_CHANNEL_BINDING: Final = "n,,"


class ScramLogin:
    """One login; ``first``, ``final`` and ``check`` are called in this order."""

    def __init__(self, mechanism: str, user: str, password: str, nonce: str) -> None:
        """``nonce`` is random text of this login alone, without a comma."""
        self._digest = DIGEST_BY_MECHANISM[mechanism]
        self._password = password.encode()
        self._nonce = nonce
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={name},r={nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        """Who wants to log in."""
        return f"{_NO_CHANNEL_BINDING}{self._first_bare}".encode()

    def final(self, challenge: bytes) -> bytes:
        """The proof that answers the broker's challenge.

        Raises:
            AccessDeniedError: the challenge is not one, or is answered by who does not know us.
        """
        said = _attributes(challenge)
        nonce, iterations = said.get("r", ""), said.get("i", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise _refused("the broker's nonce does not continue ours")
        if not iterations.isdigit() or not ITERATIONS_MIN <= int(iterations) <= ITERATIONS_MAX:
            raise _refused(f"the broker asks for {iterations[:20]!r} iterations")
        salt = _decoded(said.get("s", ""))
        salted = hashlib.pbkdf2_hmac(self._digest, self._password, salt, int(iterations))
        client_key = self._mac(salted, b"Client Key")
        binding = base64.b64encode(_NO_CHANNEL_BINDING.encode()).decode("ascii")
        without_proof = f"c={binding},r={nonce}"
        signed = ",".join((self._first_bare, challenge.decode(), without_proof)).encode()
        signature = self._mac(hashlib.new(self._digest, client_key).digest(), signed)
        proof = bytes(key ^ mark for key, mark in zip(client_key, signature, strict=True))
        self._server_signature = self._mac(self._mac(salted, b"Server Key"), signed)
        return f"{without_proof},p={base64.b64encode(proof).decode('ascii')}".encode()

    def check(self, verdict: bytes) -> None:
        """See that the broker knows the password too.

        Raises:
            AccessDeniedError: it does not, or refuses us.
        """
        said = _attributes(verdict)
        if "e" in said:
            raise _refused(f"the broker answers {said['e'][:100]!r}")
        if not hmac.compare_digest(_decoded(said.get("v", "")), self._server_signature):
            raise _refused("the broker does not prove that it knows the password")

    def _mac(self, key: bytes, content: bytes) -> bytes:
        return hmac.new(key, content, self._digest).digest()


def _attributes(message: bytes) -> dict[str, str]:
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError as error:
        raise _refused("the broker's message is not text") from error
    return {
        name: value for name, equals, value in (part.partition("=") for part in parts) if equals
    }


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refused("the broker's message has no Base64 where it should") from error


def _refused(reason: str) -> AccessDeniedError:
    return AccessDeniedError(
        f"logging in to Kafka by SCRAM: {reason}; check user name, password and sasl.mechanism"
    )
