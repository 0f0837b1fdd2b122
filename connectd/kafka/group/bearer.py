"""OAUTHBEARER (RFC 7628, KIP-255): a login with a token, which an issuer gives for a client's
secret (RFC 6749 section 4.4, KIP-768).

The settings are librdkafka's, so that a worker's other clients log in with the same ones. A token
is used for most of the time that it is good for; one that a broker has refused is not shown again.
The secret and the token are in memory only, and in no message; they follow no redirection.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from connectd.aio import threads
from connectd.aio.clock import Clock, LoopClock
from connectd.errors import AccessDeniedError, ConfigError, ConnectdError, TransientNetworkError

MECHANISM: Final = "OAUTHBEARER"

_GRANT: Final = "client_credentials"
_SEPARATOR: Final = "\x01"
_ANSWER_BYTES_MAX: Final = 1 << 20
_USED_FOR: Final = 0.8
"""The part of a token's life for which it is shown to brokers, as in Java's client."""

_PREFIX: Final = "sasl.oauthbearer."


@dataclass(frozen=True)
class Issuer:
    """Who gives tokens, and what is shown there."""

    url: str
    client_id: str
    secret: str = field(repr=False)
    scope: str = ""
    tls: ssl.SSLContext | None = None
    answer_s: float = 10.0

    def ask(self) -> Mapping[str, Any]:
        """Its answer to a client's credentials; blocks.

        Raises:
            AccessDeniedError: it does not give us a token.
            TransientNetworkError: it does not answer, or in a way that may pass.
        """
        form = {"grant_type": _GRANT, **({"scope": self.scope} if self.scope else {})}
        # As it is, not form-encoded: so librdkafka does, and Java's client unless told otherwise.
        login = base64.b64encode(f"{self.client_id}:{self.secret}".encode()).decode("ascii")
        request = urllib.request.Request(  # noqa: S310  http or https, see ``read``
            self.url,
            data=urllib.parse.urlencode(form).encode(),
            headers={"Authorization": f"Basic {login}", "Accept": "application/json"},
        )
        try:
            with self._opener().open(request, timeout=self.answer_s) as answer:
                return _object_in(answer.read(_ANSWER_BYTES_MAX))
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error.code, error.read(_ANSWER_BYTES_MAX)) from error
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            raise TransientNetworkError(f"asking {self.url} for a token: {reason}") from error

    def _opener(self) -> urllib.request.OpenerDirector:
        return urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=self.tls), _NoRedirection()
        )

    def _refused(self, status: int, content: bytes) -> ConnectdError:
        said = _object_in(content)
        words = [str(said[key])[:200] for key in ("error", "error_description") if key in said]
        text = f"asking {self.url} for a token: status {status}: {': '.join(words) or 'no reason'}"
        if status >= 500 or status == 429:
            return TransientNetworkError(text)
        return AccessDeniedError(
            f"{text}; check sasl.oauthbearer.client.id, .client.secret and .scope"
        )


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    """An answer that leads elsewhere is an error: the secret is for the issuer alone."""

    def redirect_request(self, *_: object) -> None:
        """Nowhere."""


class BearerLogin:
    """The token of a worker, asked for when it is needed and kept while it is good."""

    mechanism: Final = MECHANISM

    def __init__(
        self, issuer: Issuer, extensions: Mapping[str, str], clock: Clock | None = None
    ) -> None:
        self.issuer = issuer
        self.extensions = dict(extensions)
        self._clock = clock or LoopClock()
        self._token = ""
        self._until_s = 0.0

    async def first(self) -> bytes:
        """What is said to a broker.

        Raises:
            AccessDeniedError, TransientNetworkError: see ``Issuer.ask``; there is no token.
        """
        if not self._token or self._clock.monotonic() >= self._until_s:
            await self._renew()
        said = [f"auth=Bearer {self._token}", *(f"{k}={v}" for k, v in self.extensions.items())]
        return f"n,,{_SEPARATOR}{_SEPARATOR.join(said)}{_SEPARATOR}{_SEPARATOR}".encode()

    async def _renew(self) -> None:
        self.forget()
        asked_s = self._clock.monotonic()
        asking: Callable[[], Mapping[str, Any]] = self.issuer.ask
        answer = await asyncio.wrap_future(threads.started(asking, name="kafka-token"))
        token = answer.get("access_token")
        if not isinstance(token, str) or not token.isprintable() or not token:
            raise AccessDeniedError(
                f"asking {self.issuer.url} for a token: found no access_token in the answer; check "
                "that sasl.oauthbearer.token.endpoint.url is the issuer's endpoint for tokens"
            )
        life_s = _life_s(answer, token)
        self._token, self._until_s = token, asked_s + _USED_FOR * life_s

    def forget(self) -> None:
        """Do not show this token again."""
        self._token = ""


LAST_WORD: Final = b"\x01"
"""What a client says to a refusal, to hear its reason (RFC 7628 section 3.2.3)."""


def read(conf: Mapping[str, str]) -> BearerLogin:
    """From the settings of librdkafka.

    Raises:
        ConfigError: something is missing, or is asked for that is not spoken here.
    """
    method = conf.get(f"{_PREFIX}method", "default").strip().lower()
    grant = conf.get(f"{_PREFIX}grant.type", _GRANT).strip()
    if method != "oidc" or grant != _GRANT:
        raise ConfigError(
            f"sasl.mechanism is {MECHANISM}: found sasl.oauthbearer.method={method} with grant "
            f"type {grant}, expected oidc and {_GRANT}: a worker joins its group with a client of "
            "its own, which gets its token for a client's secret"
        )
    url = conf.get(f"{_PREFIX}token.endpoint.url", "")
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise ConfigError(
            "sasl.oauthbearer.token.endpoint.url: found no URL, expected one that begins with "
            "https://"
        )
    issuer = Issuer(
        url,
        _one_of(conf, "client.credentials.client.id", "client.id"),
        _one_of(conf, "client.credentials.client.secret", "client.secret"),
        conf.get(f"{_PREFIX}scope", ""),
        _tls(conf),
    )
    return BearerLogin(issuer, _extensions(conf.get(f"{_PREFIX}extensions", "")))


def _one_of(conf: Mapping[str, str], *names: str) -> str:
    for name in names:
        if value := conf.get(_PREFIX + name):
            return value
    raise ConfigError(f"{_PREFIX}{names[-1]}: found nothing, expected what the issuer knows")


def _extensions(text: str) -> dict[str, str]:
    pairs = [each.partition("=") for each in text.split(",") if each.strip()]
    found = {key.strip(): value.strip() for key, _, value in pairs}
    if not all(key.isalpha() and key != "auth" and value for key, value in found.items()):
        raise ConfigError("sasl.oauthbearer.extensions: expected name=value,name=value of letters")
    return found


def _tls(conf: Mapping[str, str]) -> ssl.SSLContext | None:
    location, text = conf.get("https.ca.location"), conf.get("https.ca.pem")
    if not location and not text:
        return None
    try:
        return ssl.create_default_context(cafile=location or None, cadata=text or None)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or error
        raise ConfigError(f"https.ca.location: cannot be used: {reason}; expected PEM") from error


def _object_in(content: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _life_s(answer: Mapping[str, Any], token: str) -> float:
    """How long a token is good; 0: nobody says so, and it is for one login."""
    said = answer.get("expires_in")
    if isinstance(said, int | float) and not isinstance(said, bool):
        return max(0.0, float(said))
    claims = _claims(token)
    begins, ends = claims.get("iat"), claims.get("exp")
    if isinstance(begins, int | float) and isinstance(ends, int | float):
        return max(0.0, float(ends - begins))
    return 0.0


def _claims(token: str) -> Mapping[str, Any]:
    payload = [*token.split("."), ""][1]
    try:
        return _object_in(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (binascii.Error, ValueError):
        return {}
