"""How to reach one AWS account and region: the value that clients are shared by.

Made by the connector from its configuration; read by every room of this package. Equal settings
mean equal clients, so whatever has the same meaning is normalised to the same value here.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Final, Literal, get_args
from urllib.parse import urlsplit

from connectd.errors import ConfigError

AccountIdEndpointMode = Literal["disabled", "preferred", "required"]

_ENDPOINTS: Final = (
    "dynamodb_endpoint",
    "streams_endpoint",
    "tagging_endpoint",
    "sts_endpoint",
    "s3_endpoint",
)


@dataclass(frozen=True, slots=True)
class AwsSettings:
    """Region, credentials, endpoints and limits of one set of clients.

    The empty string counts as absent everywhere: the Java connector's sample configuration shows
    ``aws.access.key.id=""``, which there means an empty key that AWS then refuses (spec
    dynamodb-connector 1). The static key pair is used when both halves are given; otherwise
    botocore's default chain finds the credentials (environment, web identity, profile, container,
    instance), as the Java SDK's chain would.

    ``assume_role_arn`` names a role to take on with those credentials. ``streams_endpoint``
    follows ``dynamodb_endpoint`` when only that is overridden. ``account_id_endpoint_mode`` is
    botocore's setting of that name; with an overridden endpoint it has no effect (spec field-cases
    S22). Timeouts are in seconds: ``connect_timeout_s`` for opening a connection,
    ``read_timeout_s`` for the answer. ``pool_connections_max`` bounds the connections of the data
    plane.

    Raises ``ConfigError`` for values that cannot work. The repr shows no credential.
    """

    region: str
    access_key_id: str | None = field(default=None, repr=False)
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    assume_role_arn: str | None = None
    assume_role_external_id: str | None = field(default=None, repr=False)
    role_session_name: str = "connectd"
    dynamodb_endpoint: str | None = None
    streams_endpoint: str | None = None
    tagging_endpoint: str | None = None
    sts_endpoint: str | None = None
    s3_endpoint: str | None = None
    account_id_endpoint_mode: AccountIdEndpointMode = "disabled"
    connect_timeout_s: float = 5.0
    read_timeout_s: float = 30.0
    pool_connections_max: int = 64

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if isinstance(value, str):
                absent = "" if each.default is dataclasses.MISSING else each.default
                self._normalise(each.name, value.strip() or absent)
        if self.streams_endpoint is None:
            self._normalise("streams_endpoint", self.dynamodb_endpoint)
        if not self.region:
            raise ConfigError("AWS region is empty: name one, for example eu-west-1")
        modes = get_args(AccountIdEndpointMode)
        if self.account_id_endpoint_mode not in modes:
            raise ConfigError(
                f"AWS account id endpoint mode is {self.account_id_endpoint_mode!r}: "
                f"expected one of {', '.join(modes)}"
            )
        self._check_endpoints()
        self._check_limits()

    def _normalise(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_endpoints(self) -> None:
        for name in _ENDPOINTS:
            url = getattr(self, name)
            if url is not None and not _is_endpoint(url):
                raise ConfigError(
                    f"AWS {name.replace('_', ' ')} is {_without_secrets(url)!r}: "
                    "expected http://host[:port] or https://host[:port]"
                )

    def _check_limits(self) -> None:
        for name in ("connect_timeout_s", "read_timeout_s", "pool_connections_max"):
            value = getattr(self, name)
            if not value > 0:
                raise ConfigError(f"AWS {name} is {value}: expected more than zero")

    @property
    def has_static_keys(self) -> bool:
        """Both halves of the static key pair are there."""
        return self.access_key_id is not None and self.secret_access_key is not None

    @property
    def has_half_a_key_pair(self) -> bool:
        """One half of the static key pair is there; it is ignored, as the Java connector does."""
        return (self.access_key_id is None) != (self.secret_access_key is None)

    @property
    def call_deadline_s(self) -> float:
        """The longest that one call may take, connecting included."""
        return self.connect_timeout_s + self.read_timeout_s


def _is_endpoint(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError:
        return False
    is_plain = parts.username is None and not parts.query and not parts.fragment
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and has_port and is_plain


def _without_secrets(url: str) -> str:
    """Neither what stands before an @ nor what comes behind ``?``, ``#`` or ``;``: passwords and
    tokens stand there."""
    if (found := re.search(r"[?#;]", place := url.rpartition("@")[2])) is None:
        return place
    return f"{place[: found.end()]}…"
