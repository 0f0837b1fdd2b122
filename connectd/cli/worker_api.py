"""A worker's REST API, as commands ask it: one JSON object for one request."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Final

from connectd.errors import ConfigError, ConnectdError, NotFoundError, TransientNetworkError

DEFAULT_URL: Final = "http://localhost:8083"

_DEADLINE_S: Final = 95.0
"""A worker answers within 90 s, if only to say what it waits for."""

_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024


class WorkerApi:
    """Asks the worker at a URL; name and password may stand in it."""

    def __init__(self, url: str) -> None:
        """Raises ``ConfigError`` for what is no URL of a worker."""
        parts = urllib.parse.urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if parts.scheme not in ("http", "https") or not host:
            raise ConfigError(
                f"the URL of the worker begins with {parts.scheme or 'no scheme'!r}, expected "
                "http://host:port or https://host:port"
            )
        name = f"[{host}]" if ":" in host else host
        netloc = name if port is None else f"{name}:{port}"
        self._root = f"{parts.scheme}://{netloc}{parts.path.rstrip('/')}"
        self._headers = {"Content-Type": "application/json"}
        if parts.username is not None:
            unquote = urllib.parse.unquote
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"

    def connector(self, method: str, connector: str, part: str, body: object) -> dict[str, Any]:
        """The JSON object that the worker answers about a part (``offsets``) of a connector.

        Raises:
            NotFoundError, ConnectdError: it refuses, with its own words; or what answers is no
                worker.
            TransientNetworkError: nobody answers.
        """
        path = f"/connectors/{urllib.parse.quote(connector, safe='')}/{part}"
        request = urllib.request.Request(  # noqa: S310  http or https, see __init__
            f"{self._root}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers=self._headers,
        )
        try:
            with urllib.request.urlopen(request, timeout=_DEADLINE_S) as answer:  # noqa: S310
                document = _json(answer.read(_ANSWER_BYTES_MAX))
        except urllib.error.HTTPError as refusal:
            with refusal:
                told = _json(refusal.read(_ANSWER_BYTES_MAX))
            text = told.get("message") if isinstance(told, dict) else None
            kind = NotFoundError if refusal.code == 404 else ConnectdError
            raise kind(text or f"{self._root} answers {refusal.code} to {path}") from None
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise TransientNetworkError(
                f"no worker answers at {self._root}: {reason}; name another with --url"
            ) from error
        if not isinstance(document, dict):
            raise ConnectdError(f"{self._root} is not a Connect worker: it answers no JSON object")
        return document


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
