"""Where the worker listens, and under which address others find it (spec kafka-connect A.1.1)."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from connectd.errors import ConfigError

_LISTENER = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_PORT_MAX = 65535
_NO_IPV6 = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
"""The kernel knows IPv6, but the machine has no address of it."""


@dataclass(frozen=True)
class Listener:
    """One entry of ``listeners``; an empty host means every interface, port 0 any free one."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True)
class AdvertisedSettings:
    """``rest.advertised.listener``, ``.host.name`` and ``.port``; None where not set."""

    scheme: str | None = None
    host: str | None = None
    port: int | None = None


def parse_listeners(texts: Sequence[str]) -> tuple[Listener, ...]:
    """The listeners of a worker's configuration.

    Raises:
        ConfigError: one is not understood, or there is none.
    """
    if not texts:
        raise ConfigError(
            "Invalid value for listeners, at least one URL is expected, "
            "ex: http://localhost:8080,https://localhost:8443."
        )
    return tuple(_parse(text.strip()) for text in texts)


def _parse(text: str) -> Listener:
    if not text:
        raise ConfigError("Empty URL found when parsing listeners list.")
    match = _LISTENER.match(text)
    if match is None:
        raise ConfigError("Listener doesn't have the right format (protocol://hostname:port).")
    scheme, host, port = match[1].lower(), match[2], int(match[3])
    if scheme not in ("http", "https"):
        raise ConfigError('Listener protocol must be either "http" or "https".')
    if scheme == "https":
        raise ConfigError(
            f"listeners: {text} asks for TLS, which this worker does not serve yet; "
            "listen on http and let a proxy or the mesh terminate TLS"
        )
    if not 0 <= port <= _PORT_MAX:
        raise ConfigError(f"listeners: port {port} of {text} is not between 0 and {_PORT_MAX}")
    return Listener(scheme, host, port)


def open_socket(listener: Listener) -> socket.socket:
    """A bound socket; every interface means IPv4 and IPv6 where the machine has both.

    Raises:
        ConfigError: the address cannot be had.
    """
    try:
        if not listener.host:
            return _open_everywhere(listener.port)
        family, _, _, _, address = socket.getaddrinfo(
            listener.host, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise ConfigError(
            f"listeners: listening on {listener.host or 'every interface'} port {listener.port}: "
            f"{error.strerror or error}; choose another port or end what uses it"
        ) from error


def _open_everywhere(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            if error.errno not in _NO_IPV6:
                raise
    return socket.create_server(("", port))


def advertised_url(
    listener: Listener,
    bound_port: int,
    settings: AdvertisedSettings,
    *,
    local_host: Callable[[], str],
) -> str:
    """The URL under which other workers and statuses know this one, ending in a slash.

    ``bound_port`` is what port 0 became; ``local_host`` names this machine where neither the
    settings nor the listener say a host.

    Raises:
        ConfigError: the advertised scheme is neither http nor https.
    """
    scheme = (settings.scheme or listener.scheme).lower()
    if scheme not in ("http", "https"):
        raise ConfigError(f"rest.advertised.listener is {settings.scheme}, expected http or https")
    host = settings.host or listener.host or local_host()
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    return f"{scheme}://{host}:{settings.port or bound_port}/"


def machine_address() -> str:
    """This machine's own address as its name resolves to, the loopback address if it does not."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
