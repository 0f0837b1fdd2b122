"""The files that a Kafka client reads for TLS, looked at before it does.

librdkafka tells of such a file in words of OpenSSL, without its name and under a key that nobody
has set. Here it is told with both. What only reading it in earnest shows (a password that is wrong,
a key of another certificate) stays librdkafka's to tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from connectd.errors import ConfigError

_BYTES_MAX: Final = 4 * 1024 * 1024
"""Thousands of certificates."""

_CERTIFICATE: Final = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----")
_KEY: Final = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_REVOKED: Final = re.compile(rb"-----BEGIN X509 CRL-----")

_PARTS: Final[Mapping[str, tuple[tuple[re.Pattern[bytes], str], ...]]] = {
    "ssl.ca.location": ((_CERTIFICATE, "certificates"),),
    "https.ca.location": ((_CERTIFICATE, "certificates"),),
    "ssl.truststore.location": ((_CERTIFICATE, "certificates"),),
    "ssl.certificate.location": ((_CERTIFICATE, "a certificate"),),
    "ssl.key.location": ((_KEY, "a private key"),),
    "ssl.crl.location": ((_REVOKED, "a list of revoked certificates"),),
}
"""What has to stand in a file, as PEM."""

_MAY_BE_A_DIRECTORY: Final = frozenset({"ssl.ca.location", "https.ca.location"})
_PROBE: Final = "probe"
"""Where the key of authorities says this, librdkafka looks for the system's."""


def check(settings: Mapping[str, str]) -> None:
    """Whether the files that settings name can be read and are of their kind, where the client will
    read them at all: a ``security.protocol`` without TLS leaves them alone.

    Raises:
        ConfigError: one is not; with its key, its path, and what to do.
    """
    if "SSL" not in settings.get("security.protocol", "").upper():
        return
    for key in (*_PARTS, "ssl.keystore.location"):
        path = settings.get(key, "").strip()
        if not path or (key in _MAY_BE_A_DIRECTORY and (path == _PROBE or Path(path).is_dir())):
            continue
        content = _content(key, path)
        for pattern, what in _expected(key, settings):
            if not pattern.search(content):
                raise ConfigError(
                    f"{key}: {path} has no {what.removeprefix('a ')} in it as PEM, expected "
                    f"{what} between -----BEGIN … and -----END … lines; convert it with openssl, "
                    "or name another file"
                )


def _expected(key: str, settings: Mapping[str, str]) -> tuple[tuple[re.Pattern[bytes], str], ...]:
    if key != "ssl.keystore.location":
        return _PARTS[key]
    is_pem = settings.get("ssl.keystore.type", "").strip().upper() == "PEM"
    return ((_KEY, "a private key"), (_CERTIFICATE, "a certificate")) if is_pem else ()


def _content(key: str, path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_BYTES_MAX)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"{key}: cannot read the file {path}: {reason}; check the path, that it is mounted "
            "where the worker runs, and that the worker's user may read it"
        ) from error
