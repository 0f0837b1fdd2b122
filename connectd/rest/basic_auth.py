"""Basic authentication: who may use the API (spec kafka-connect A.1.7).

As the Java worker's extension: users and passwords are read once, at the start; requests between
workers are exempt, since they are signed; unknown paths are 404 for everybody. Four things differ
on purpose. Requests between workers that are not signed, because a member of the group cannot, need
a login as all others do: Java's lets everybody write task sets then. An answer of 401 has
``WWW-Authenticate`` and the error body, so that browsers ask and clients can read it. A CORS
preflight needs no login, because browsers send none with it. A file without users is refused at the
start: for the extension it means that everybody may come in.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import Response

from connectd.configdef import properties, rest_login
from connectd.configdef.rest_login import BasicAuthSettings
from connectd.errors import ConfigError
from connectd.observe import redaction
from connectd.rest import cors, internal, probes
from connectd.rest.errors import error_response

_log = structlog.get_logger(__name__)

_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="Kafka Connect", charset="UTF-8"'}


class BasicAuth:
    """A guard (``resource.Guard``) that lets those pass who know a password."""

    def __init__(
        self,
        password_by_user: Mapping[str, str],
        public_paths: Collection[str],
        group_signs: Callable[[], bool],
    ) -> None:
        self._group_signs = group_signs
        self._has_warned = False
        self._digest_by_user = {
            user: _digest(password) for user, password in password_by_user.items()
        }
        self._public_paths = probes.PATHS.union(public_paths)

    def __call__(self, request: Request) -> Response | None:
        if request.scope["path"] in self._public_paths:
            return None
        is_internal = internal.is_internal(request)
        if is_internal and (self._group_signs() or internal.is_signed(request)):
            return None
        if cors.is_preflight(request) or self._knows(request.headers.get("authorization", "")):
            return None
        if is_internal:
            self._warn()
        return error_response(
            HTTPStatus.UNAUTHORIZED, "User cannot access the resource.", _CHALLENGE
        )

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "refused an unsigned request of another worker: a member of the group does not "
                "sign; set connect.protocol=sessioned everywhere"
            )

    def _knows(self, authorization: str) -> bool:
        scheme, _, encoded = authorization.partition(" ")
        if scheme.lower() != "basic":
            return False
        try:
            user, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            return False
        expected = self._digest_by_user.get(user)
        # The time that this takes does not depend on how much of the password is right, nor on
        # whether there is such a user.
        is_right = hmac.compare_digest(_digest(password), expected or _digest(""))
        return bool(colon) and expected is not None and is_right


def _digest(password: str) -> bytes:
    return hashlib.sha256(password.encode()).digest()


def load(settings: BasicAuthSettings, group_signs: Callable[[], bool]) -> BasicAuth:
    """The guard that the settings ask for; passwords are registered to stay out of logs.

    ``group_signs`` tells whether requests between workers have to be signed now.

    Raises:
        ConfigError: a file cannot be read, or nobody stands in it.
    """
    path = settings.credentials_file
    if path is None:
        jaas_file = settings.jaas_file or ""
        text = properties.read_text(jaas_file)
        path = rest_login.credentials_file_of(text, source=jaas_file)
    password_by_user = properties.load(path)
    if not password_by_user:
        raise ConfigError(
            f"{path} names no user; write lines of user=password into it, or remove Basic "
            "authentication: an empty file does not mean that everybody may come in"
        )
    for password in password_by_user.values():
        redaction.register_secret(password)
    return BasicAuth(password_by_user, settings.public_paths, group_signs)
