"""The key with which workers sign their requests to each other (spec kafka-connect A.1.6, C.5.6).

The leader makes it and writes it to the config topic, where every worker reads it: who may read
that topic belongs to the cluster. It is replaced when there is none, when it has reached its age,
and when the worker is configured for another algorithm or size. Nobody keeps it here: the newest
picture of the config topic is asked each time.

The secret is registered with the logs' redaction before it is used, and no message carries it.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from connectd.aio import clock as clocks
from connectd.aio.jobs import JobGroup
from connectd.configdef.session_key_settings import DIGEST_BY_MAC, SessionKeySettings
from connectd.errors import ConfigError, ConnectdError, RetriableError
from connectd.model.cluster import ClusterConfigState, SessionKey
from connectd.observe import redaction
from connectd.stores import protocols

_log = structlog.get_logger(__name__)

_ROTATION = "session key"
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/=")


class NoSessionKeyError(RetriableError):
    """This worker has read no key yet; it cannot tell friend from foe."""


class InvalidSignatureError(ConnectdError):
    """A request claims to come from a worker of this cluster and does not."""


@dataclass(frozen=True)
class Signature:
    """How a request was signed: the algorithm in Java's words, and the signature in Base64."""

    algorithm: str
    text: str = field(repr=False)


class SessionKeys:
    """Makes, replaces and uses the key.

    Requests need no signature where ``settings`` are None, nor while the group speaks a protocol
    that does not sign: ``is_agreed`` says whether it does. One member that cannot sign is enough
    for that; the others still sign, since there is a key, and what is signed is checked.
    """

    def __init__(
        self,
        settings: SessionKeySettings | None,
        configs: protocols.ConfigStore,
        jobs: JobGroup,
        clock: clocks.Clock,
        *,
        is_agreed: Callable[[], bool] = lambda: True,
    ) -> None:
        self._settings = settings
        self._configs = configs
        self._jobs = jobs
        self._clock = clock
        self._is_agreed = is_agreed
        self._hidden: SessionKey | None = None

    @property
    def are_agreed(self) -> bool:
        """Whether every request between workers has to be signed."""
        return self._is_agreed()

    def rotate_if_due(self, snapshot: ClusterConfigState) -> None:
        """Begin to write a new key if one is due; the leader's tick asks. Never waits."""
        self._hide(snapshot.session_key)
        if self._settings is None or not self._is_agreed():
            return
        if not self._is_due(self._settings, snapshot.session_key):
            return
        if not self._jobs.is_running(_ROTATION):
            self._jobs.spawn(_ROTATION, self._rotate(self._settings))

    def _is_due(self, settings: SessionKeySettings, key: SessionKey | None) -> bool:
        if key is None or key.algorithm != settings.key_algorithm:
            return True
        if len(key.key) != settings.key_bytes:
            return True
        now_ms = clocks.wall_ms(self._clock)
        return settings.ttl_ms > 0 and key.created_ms + settings.ttl_ms <= now_ms

    async def _rotate(self, settings: SessionKeySettings) -> None:
        key = SessionKey(
            key=secrets.token_bytes(settings.key_bytes),
            algorithm=settings.key_algorithm,
            created_ms=clocks.wall_ms(self._clock),
        )
        self._hide(key)
        try:
            await self._configs.put_session_key(key)
        except RetriableError as error:
            _log.warning("session key not written, the next tick tries again", error=str(error))

    def _hide(self, key: SessionKey | None) -> None:
        if key is not None and key != self._hidden:
            redaction.register_secret(base64.b64encode(key.key).decode("ascii"))
            self._hidden = key

    def sign(self, body: bytes) -> Signature | None:
        """The signature of a request of ours; None: it needs none, and can have none.

        Raises:
            NoSessionKeyError: there is no key yet.
        """
        if self._settings is None:
            return None
        if not self._is_agreed() and self._configs.snapshot().session_key is None:
            return None
        algorithm = self._settings.signature_algorithm
        return Signature(algorithm, base64.b64encode(self._mac(algorithm, body)).decode("ascii"))

    def check(self, signature: Signature | None, body: bytes) -> None:
        """Let only requests of this cluster's workers pass; unsigned ones where none need be.

        Raises:
            ConfigError: there is no signature, or none that could be understood.
            NoSessionKeyError: there is no key yet.
            InvalidSignatureError: it was not made with the cluster's key.
        """
        if self._settings is None:
            return
        if signature is None:
            if not self._is_agreed():
                return
            raise ConfigError("Internal request missing required signature")
        claimed = _understood(signature)
        if signature.algorithm not in self._settings.verification_algorithms:
            accepted = ", ".join(self._settings.verification_algorithms)
            raise ConfigError(
                f"This worker does not support the '{signature.algorithm}' key signing algorithm "
                "used by other workers. This worker is currently configured to use: "
                f"[{accepted}]. Check that all workers' configuration files permit the same set of "
                "signature algorithms, and correct any misconfigured worker and restart it."
            )
        if not hmac.compare_digest(claimed, self._mac(signature.algorithm, body)):
            raise InvalidSignatureError("Internal request contained invalid signature.")

    def _mac(self, algorithm: str, body: bytes) -> bytes:
        key = self._configs.snapshot().session_key
        if key is None:
            raise NoSessionKeyError(
                "This worker is still starting up and has not been able to read a session key from "
                "the config topic yet"
            )
        return hmac.new(key.key, body, DIGEST_BY_MAC[algorithm]).digest()


def _understood(signature: Signature) -> bytes:
    """The signature's bytes, once its algorithm is known to exist (Java knows them in any case)."""
    if signature.algorithm.lower() not in {name.lower() for name in DIGEST_BY_MAC}:
        raise ConfigError(f"Algorithm {signature.algorithm} not available")
    try:
        return base64.b64decode(signature.text, validate=True)
    except (binascii.Error, ValueError):
        odd = next((each for each in signature.text if each not in _BASE64), None)
        if odd is not None:
            raise ConfigError(f"Illegal base64 character {ord(odd):x}") from None
        raise ConfigError("The signature of the internal request is not Base64") from None
