"""Settings of the REST server (spec kafka-connect A.1.1, A.1.2, A.1.7).

``RestSettings`` is the whole; listeners (``http://:8083``), the URL under which other workers reach
this one, and extra response headers have a syntax of their own. Values only: nothing here opens a
socket or a file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connectd.configdef import rest_login, tls_settings
from connectd.configdef.parsing import ParsedConfig
from connectd.configdef.rest_login import BasicAuthSettings
from connectd.configdef.tls_settings import TlsSettings
from connectd.configdef.validators import is_blank
from connectd.errors import ConfigError

SCHEMES: Final = ("http", "https")
PORT_MAX: Final = 65535

_LISTENER: Final = re.compile(
    r"(?P<scheme>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]+)"
)
_HEADER_ACTIONS: Final = ("set", "add", "setDate", "addDate")
_EVERY_INTERFACE: Final = ("", "0.0.0.0", "::")  # noqa: S104  names them, binds nothing


@dataclass(frozen=True)
class Listener:
    """Where the server listens. Host "" is every interface, port 0 one that is free."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """``host:port``, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class ResponseHeader:
    """A header that is put on every response; ``action`` is set, add, setDate or addDate."""

    action: str
    name: str
    value: str


@dataclass(frozen=True)
class Advertised:
    """What the user wants others to see of this worker; None where the listener's own holds."""

    scheme: str | None
    host: str | None
    port: int | None

    def url(self, bound: Sequence[Listener], local_host: str) -> str:
        """The URL of this worker for others, ending in "/".

        ``bound`` are the listeners with the ports that they really got; ``local_host`` is an
        address of this machine, used when neither the user nor the listener names one.

        Raises:
            ConfigError: no listener has the scheme that is to be advertised.
        """
        schemes = [listener.scheme for listener in bound]
        scheme = self.scheme or ("http" if "http" in schemes else "https")
        listener = next((each for each in bound if each.scheme == scheme), None)
        if listener is None:
            raise ConfigError(
                f"rest.advertised.listener is {scheme}, but listeners has {', '.join(schemes)}; "
                f"add a listener of scheme {scheme}"
            )
        host = self.host or listener.host
        if host in _EVERY_INTERFACE:
            host = local_host
        port = listener.port if self.port is None else self.port
        return f"{scheme}://{Listener(scheme, host, port).authority}/"


@dataclass(frozen=True)
class RestSettings:
    """The REST server.

    ``admin_listeners`` None: resources under /admin are served with all others; empty: nowhere.
    ``cors_methods`` empty: the server's default. ``tls`` and ``admin_tls`` are there where an
    https listener needs them; ``basic_auth`` None: everybody may do everything. ``has_ui``: the
    dashboard is served.
    """

    listeners: tuple[Listener, ...]
    admin_listeners: tuple[Listener, ...] | None
    advertised: Advertised
    response_headers: tuple[ResponseHeader, ...]
    cors_origins: tuple[str, ...]
    cors_methods: tuple[str, ...]
    tls: TlsSettings | None
    admin_tls: TlsSettings | None
    basic_auth: BasicAuthSettings | None
    has_ui: bool


def read(
    parsed: ParsedConfig, properties: Mapping[str, str], environ: Mapping[str, str]
) -> RestSettings:
    """The REST settings of a worker; ``properties`` are those that ``parsed`` comes from.

    Raises:
        ConfigError: they cannot be followed together.
    """
    listeners = tuple(map(parse_listener, parsed.strings("listeners")))
    admin_urls = parsed.optional_strings("admin.listeners")
    admin_listeners = None if admin_urls is None else tuple(map(parse_listener, admin_urls))
    scheme = parsed.optional_string("rest.advertised.listener")
    advertised = Advertised(
        scheme.lower() if scheme else None,
        parsed.optional_string("rest.advertised.host.name") or None,
        parsed.optional_integer("rest.advertised.port"),
    )
    advertised.url(listeners, "localhost")  # raises when no listener has that scheme
    return RestSettings(
        listeners=listeners,
        admin_listeners=admin_listeners,
        advertised=advertised,
        response_headers=parse_response_headers(parsed.string("response.http.headers.config")),
        cors_origins=_words(parsed.string("access.control.allow.origin")),
        cors_methods=_words(parsed.string("access.control.allow.methods")),
        tls=_tls(listeners, properties, "listeners.https."),
        admin_tls=_tls(admin_listeners or (), properties, "admin.listeners.https."),
        basic_auth=rest_login.read(parsed, environ),
        has_ui=parsed.boolean("connectd.ui.enable"),
    )


def _tls(
    listeners: Sequence[Listener], properties: Mapping[str, str], prefix: str
) -> TlsSettings | None:
    needs_it = any(listener.scheme == "https" for listener in listeners)
    return tls_settings.read(properties, prefix) if needs_it else None


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in (each.strip() for each in text.split(",")) if word)


def worker_id(url: str) -> str:
    """``host:port`` of an advertised URL: the worker's name in every status."""
    return url.partition("://")[2].rstrip("/")


def parse_listener(text: str) -> Listener:
    """One listener.

    Raises:
        ConfigError: in Kafka's words.
    """
    match = _LISTENER.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f"Listener doesn't have the right format (protocol://hostname:port). Found: {text}"
        )
    scheme = match["scheme"].lower()
    if scheme not in SCHEMES:
        raise ConfigError(f'Listener protocol must be either "http" or "https". Found: {text}')
    port = int(match["port"])
    if not 0 <= port <= PORT_MAX:
        raise ConfigError(f"The port of a listener must be between 0 and {PORT_MAX}. Found: {text}")
    return Listener(scheme, match["host"], port)


def check_listeners(name: str, value: object) -> None:
    """Validator of the key ``listeners``, and of ``admin.listeners`` when it is set."""
    entries = value if isinstance(value, tuple) else ()
    if not entries and name == "listeners":
        raise ConfigError(
            f"Invalid value for {name}, at least one URL is expected, ex: "
            "http://localhost:8080,https://localhost:8443."
        )
    if any(is_blank(entry) for entry in entries):
        raise ConfigError(f"Empty URL found when parsing {name} list.")
    for entry in entries:
        parse_listener(entry)


def parse_response_headers(text: str) -> tuple[ResponseHeader, ...]:
    """The rules of ``response.http.headers.config``: ``[action] [name]:[value]``, comma-separated,
    each in double quotes if its value has commas.

    Raises:
        ConfigError: in Kafka's words.
    """
    if is_blank(text):
        return ()
    if any(ord(char) < 0x20 for char in text):
        raise ConfigError("Invalid header config: found a control character, expected none")
    try:
        rules = next(csv.reader([text], skipinitialspace=True))
    except csv.Error as error:
        raise ConfigError(f"Invalid header config: {error}") from error
    return tuple(_response_header(rule) for rule in rules)


def check_response_headers(_name: str, value: object) -> None:
    """Validator of ``response.http.headers.config``."""
    parse_response_headers(str(value or ""))


def _response_header(rule: str) -> ResponseHeader:
    words = rule.strip().split(maxsplit=1)
    if len(words) != 2:
        raise ConfigError(
            f"Invalid format of header config '{rule}'. "
            "Expected: '[action] [header name]:[header value]'"
        )
    action = next((each for each in _HEADER_ACTIONS if each.lower() == words[0].lower()), None)
    if action is None:
        raise ConfigError(
            f"Invalid header config action: '{words[0]}'. "
            f"Expected one of [{', '.join(_HEADER_ACTIONS)}]"
        )
    name, colon, header_value = words[1].partition(":")
    if not colon or ":" in header_value:
        raise ConfigError(
            f"Invalid format of header name and header value pair '{words[1]}'. "
            "Expected: '[header name]:[header value]'"
        )
    if not name.strip() or re.search(r"\s", name.strip()):
        raise ConfigError(
            f"Invalid header name '{name}'. The '[header name]' cannot contain whitespace"
        )
    return ResponseHeader(action, name.strip(), header_value.strip())
