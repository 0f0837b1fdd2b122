"""A worker's REST API, as commands ask it.

The login stands in the URL, or in ``CONNECTD_USER`` and ``CONNECTD_PASSWORD``, where no list of
processes shows it. A worker of the same machine is called directly; to any other the proxy of
``http_proxy`` or ``https_proxy`` leads, as in other programs, unless ``no_proxy`` names it.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import functools
import http.client
import ipaddress
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connectd.aio import threads
from connectd.errors import ConfigError, ConnectdError, NotFoundError, TransientNetworkError

DEFAULT_URL: Final = "http://localhost:8083"

WAIT_MAX_S: Final = 86_400.0
"""The longest that a command waits for a worker: a day."""

USER_VARIABLE: Final = "CONNECTD_USER"
PASSWORD_VARIABLE: Final = "CONNECTD_PASSWORD"  # noqa: S105  the name of a variable

_DEADLINE_S: Final = 95.0
"""A worker answers within 90 s, if only to say what it waits for."""

_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024

_URL_PATH: Final = re.compile(r"[!-~]*")
"""What may stand in the first line of a request; anything else is written with %."""


@dataclass(frozen=True)
class Answer:
    """A status and what came with it: JSON, or None where that was none."""

    status: int
    document: Any

    @property
    def words(self) -> str:
        """What the worker says of a refusal."""
        told = self.document if isinstance(self.document, dict) else {}
        return str(told.get("message") or f"the worker answers {self.status}")


class WorkerApi:
    """Asks the worker at a URL."""

    def __init__(self, url: str, environ: Mapping[str, str] = os.environ) -> None:
        """Raises ``ConfigError`` for what is no URL of a worker."""
        parts = urllib.parse.urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
            (host or "").encode("idna")
        except ValueError:
            host, port = None, None
        if parts.scheme not in ("http", "https") or not host:
            raise ConfigError(
                f"the URL of the worker begins with {parts.scheme or 'no scheme'!r}, expected "
                "http://host:port or https://host:port"
            )
        if not _URL_PATH.fullmatch(host + parts.path):
            raise ConfigError(
                "the URL of the worker has a blank or a letter beyond ASCII, expected "
                "http://host:port/path with those written as %20 and the like"
            )
        name = f"[{host}]" if ":" in host else host
        netloc = name if port is None else f"{name}:{port}"
        self._root = f"{parts.scheme}://{netloc}{parts.path.rstrip('/')}"
        self._proxy = None if _is_here(host) else _proxy(parts.scheme, netloc)
        proxies = {} if self._proxy is None else {parts.scheme: self._proxy}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
        self._headers = {"Content-Type": "application/json"}
        unquote = urllib.parse.unquote
        user, password = environ.get(USER_VARIABLE), environ.get(PASSWORD_VARIABLE, "")
        if parts.username is not None:
            user, password = unquote(parts.username), unquote(parts.password or "")
        if user is not None:
            login = base64.b64encode(f"{user}:{password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {login}"

    def connector(self, method: str, connector: str, part: str, body: object) -> dict[str, Any]:
        """The JSON object that the worker answers about a part (``offsets``) of a connector.

        Raises:
            NotFoundError, ConnectdError: it refuses, with its own words; or what answers is no
                worker.
            TransientNetworkError: nobody answers.
        """
        path = f"/connectors/{urllib.parse.quote(connector, safe='')}/{part}"
        answer = self.ask(method, path, body)
        if answer.status >= 400:
            told = answer.document.get("message") if isinstance(answer.document, dict) else None
            kind = NotFoundError if answer.status == 404 else ConnectdError
            raise kind(told or f"{self._root} answers {answer.status} to {path}")
        if not isinstance(answer.document, dict):
            raise ConnectdError(f"{self._root} is not a Connect worker: it answers no JSON object")
        return answer.document

    async def answer(
        self, method: str, path: str, body: object = None, *, deadline_s: float = _DEADLINE_S
    ) -> Answer:
        """As ``ask``. Whoever gives up waiting, or is interrupted, leaves nothing behind that the
        process would wait for at its end.
        """
        deadline_s = min(deadline_s, _DEADLINE_S)
        asking = functools.partial(self.ask, method, path, body, deadline_s=deadline_s)
        return await asyncio.wrap_future(threads.started(asking, name="worker-api"))

    def ask(
        self, method: str, path: str, body: object = None, *, deadline_s: float = _DEADLINE_S
    ) -> Answer:
        """What the worker answers to a request, whatever its status.

        Raises:
            TransientNetworkError: nobody answers within the deadline.
        """
        request = urllib.request.Request(  # noqa: S310  http or https, see __init__
            f"{self._root}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers=self._headers,
        )
        try:
            with self._opener.open(request, timeout=deadline_s) as answer:
                return Answer(answer.status, _json(answer.read(_ANSWER_BYTES_MAX)))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, _json(refusal.read(_ANSWER_BYTES_MAX)))
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise self._unanswered(str(reason)) from error
        except http.client.HTTPException as error:
            raise self._unanswered("what listens there does not speak HTTP") from error

    def _unanswered(self, reason: str) -> TransientNetworkError:
        way = "" if self._proxy is None else " through the proxy of http_proxy or https_proxy"
        remedy = "" if self._proxy is None else ", or the worker in no_proxy"
        return TransientNetworkError(
            f"no worker answers at {self._root}{way}: {reason}; name another with --url{remedy}"
        )


def url_path(text: str) -> str:
    """A path of a command line, ``type`` of an argument."""
    if not text.startswith("/") or not _URL_PATH.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no path of a URL, expected /path with blanks as %20"
        )
    return text


def _is_here(host: str) -> bool:
    """Whether it is this machine, by an address that leads nowhere else."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _proxy(scheme: str, netloc: str) -> str | None:
    """The proxy that the environment wants for it."""
    found = urllib.request.getproxies().get(scheme)
    return None if not found or urllib.request.proxy_bypass(netloc) else found


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
