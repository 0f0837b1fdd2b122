"""A schema registry: ids of schemas, and their texts. The only room that knows its client.

Calls block, so they belong into the thread that encodes pages, and each is bounded: ``TIMEOUT_S``
for every phase of a request, ``RETRIES`` more tries shortly after one another. Whoever calls keeps
what it got (``converters.registry_targets``); the client below keeps it too.

What goes wrong ends in one of three ways:

* the registry is away, slow or busy: ``RetriableError``; nothing is known about the schema
* it refuses the login or the action: ``AccessDeniedError``; no record can pass, so none is skipped
* it refuses the schema, or has none: ``ConvertError``; ``errors.tolerance`` decides, as in Java

Needs the ``registry`` extra: importing this module without it raises ``ImportError``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

import httpx2
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

from connectd.errors import (
    AccessDeniedError,
    ConfigError,
    ConnectdError,
    ConvertError,
    InvalidRequestError,
    ThrottledError,
    TransientNetworkError,
)

TIMEOUT_S: Final = 5.0
"""For each phase of a request: connecting, sending, waiting for the answer. A registry answers in
milliseconds; while we wait, the producer's thread does."""

RETRIES: Final = 1
"""Within a call: enough for a connection that a load balancer has closed."""

RETRY_WAIT_MS: Final = 100

_UNAUTHORIZED: Final = (401, 403)
_INCOMPATIBLE: Final = 409
_THROTTLED: Final = 429
_TIMED_OUT: Final = 408
_SERVER_ERROR_MIN: Final = 500
_REDIRECT_MIN: Final = 300
_REFUSED_MIN: Final = 400

_STATIC_TOKEN: Final = {
    "bearer.auth.credentials.source": "STATIC_TOKEN",
    "bearer.auth.logical.cluster": "",  # a header of Confluent's cloud; the client insists on it
}

Format = Literal["AVRO", "JSON", "PROTOBUF"]
_Answer = TypeVar("_Answer")


REFERENCES_MAX: Final = 100
"""What a schema may refer to, also by way of others."""


@dataclass(frozen=True)
class Reference:
    """A version of a subject, and the name under which a schema takes it in."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class SchemaText:
    """A schema as a registry has it. Those that this worker offers refer to no others."""

    format: Format
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True)
class Registered:
    """A schema with the id that a registry has given it."""

    id: int
    schema: SchemaText


class RegistryClient:
    """See the module's docstring. Safe in any thread."""

    def __init__(self, settings: dict[str, str]) -> None:
        """Make a client; nothing is sent.

        ``settings`` has ``url`` (several by comma; ``mock://`` is a registry in memory), and may
        have ``basic.auth.user.info``, ``bearer.auth.token``, ``ssl.ca.location``,
        ``ssl.certificate.location``, ``ssl.key.location`` and ``ssl.key.password``; files are PEM.

        Raises:
            ConfigError: one of them cannot be used.
        """
        self.url = settings.get("url", "")
        try:
            self._client = SchemaRegistryClient.new_client(
                {
                    **settings,
                    **(_STATIC_TOKEN if "bearer.auth.token" in settings else {}),
                    "timeout": TIMEOUT_S,
                    "max.retries": RETRIES,
                    "retries.wait.ms": RETRY_WAIT_MS,
                    "retries.max.wait.ms": RETRY_WAIT_MS * 2,
                }
            )
        except (ValueError, TypeError, OSError) as error:
            raise ConfigError(f"schema.registry.url, or what belongs to it: {error}") from error
        # Converters are dropped and not closed: the connections that they kept end with them.
        weakref.finalize(self, self._client.close)

    def register(self, subject: str, schema: SchemaText, *, normalize: bool) -> int:
        """The id of the schema, which is a version of the subject from now on.

        Raises:
            RetriableError, AccessDeniedError: see the module's docstring.
            ConvertError: it is not compatible with the versions before it, or no legal schema.
        """
        return _id(
            self._asked(
                f"registering a schema under {subject}",
                lambda: self._client.register_schema(subject, _sent(schema), normalize),
            )
        )

    def lookup(self, subject: str, schema: SchemaText, *, normalize: bool) -> int:
        """The id of a schema that is a version of the subject.

        Raises:
            RetriableError, AccessDeniedError: see the module's docstring.
            ConvertError: the subject has no such version.
        """
        found = self._asked(
            f"looking a schema up under {subject}",
            lambda: self._client.lookup_schema(subject, _sent(schema), normalize),
        )
        return _id(found.schema_id)

    def latest(self, subject: str) -> Registered:
        """The latest version of a subject.

        Raises:
            RetriableError, AccessDeniedError: see the module's docstring.
            ConvertError: there is no such subject.
        """
        found = self._asked(
            f"reading the latest version of {subject}",
            lambda: self._client.get_latest_version(subject),
        )
        return Registered(_id(found.schema_id), _received(found.schema))

    def by_id(self, schema_id: int, subject: str | None = None) -> Registered:
        """The schema of an id; a subject tells the registry where to look first.

        Raises:
            RetriableError, AccessDeniedError: see the module's docstring.
            ConvertError: there is none.
        """
        found = self._asked(
            f"reading schema {schema_id}", lambda: self._client.get_schema(schema_id, subject)
        )
        return Registered(schema_id, _received(found))

    def referenced(self, schema: SchemaText) -> list[SchemaText]:
        """The schemas that a schema refers to, also by way of others; each once.

        Raises:
            RetriableError, AccessDeniedError: see the module's docstring.
            ConvertError: one of them is not there, or they are more than ``REFERENCES_MAX``.
        """
        found: dict[Reference, SchemaText] = {}
        waiting = list(schema.references)
        while waiting:
            reference = waiting.pop()
            if reference in found:
                continue
            if len(found) == REFERENCES_MAX:
                raise ConvertError(f"a schema refers to more than {REFERENCES_MAX} others")
            found[reference] = self._referred(reference)
            waiting += found[reference].references
        return list(found.values())

    def version(self, subject: str, schema: SchemaText) -> int:
        """Which version of the subject a schema is.

        Raises:
            RetriableError, AccessDeniedError: see the module's docstring.
            ConvertError: none.
        """
        found = self._asked(
            f"looking for the version of a schema under {subject}",
            lambda: self._client.lookup_schema(subject, _sent(schema)),
        )
        if found.version is None:
            raise ConvertError(f"the registry names a schema of {subject} without its version")
        return found.version

    def is_compatible(self, subject: str, schema: SchemaText) -> bool:
        """Whether the schema could follow the latest version, by the subject's own rule.

        Raises:
            RetriableError, AccessDeniedError: see the module's docstring.
            ConvertError: there is no such subject, or the schema is no legal one.
        """
        return self._asked(
            f"comparing a schema with the latest version of {subject}",
            lambda: self._client.test_compatibility(subject, _sent(schema), "latest"),
        )

    def _referred(self, reference: Reference) -> SchemaText:
        subject, version = reference.subject, reference.version
        found = self._asked(
            f"reading version {version} of {subject}, to which a schema refers",
            lambda: self._client.get_version(subject, version),
        )
        return _received(found.schema)

    def _asked(self, what: str, call: Callable[[], _Answer]) -> _Answer:
        try:
            return call()
        except SchemaRegistryError as error:
            raise self._refused(what, error) from error
        except OAuthTokenError as error:
            raise AccessDeniedError(f"{what}: {error}") from error
        except httpx2.HTTPError as error:
            raise TransientNetworkError(
                f"{what}: no answer from the schema registry at {_without_login(self.url)} "
                f"({type(error).__name__}: {error}); check that it runs and can be reached"
            ) from error
        except ValueError as error:  # an answer that is no JSON
            raise TransientNetworkError(
                f"{what}: {_without_login(self.url)} answers something that is no JSON; "
                "check that schema.registry.url leads to a schema registry"
            ) from error

    def _refused(self, what: str, error: SchemaRegistryError) -> ConnectdError:
        status = error.http_status_code
        said = f"{what}: {error.error_message}; error code: {error.error_code}"
        if status in _UNAUTHORIZED:
            return AccessDeniedError(
                f"{said} (HTTP status {status}); check basic.auth.credentials.source and "
                "basic.auth.user.info, or bearer.auth.token, and what that user may do"
            )
        if _REDIRECT_MIN <= status < _REFUSED_MIN:
            return InvalidRequestError(
                f"{what}: {_without_login(self.url)} leads elsewhere (HTTP status {status}); set "
                "schema.registry.url to the registry itself"
            )
        if status == _THROTTLED:
            return ThrottledError(said)
        if status >= _SERVER_ERROR_MIN or status == _TIMED_OUT:
            return TransientNetworkError(f"{said} (HTTP status {status})")
        if status == _INCOMPATIBLE:
            return ConvertError(
                f"{said}; the subject's compatibility rule forbids this version: change the "
                "schema or the rule, or write to another topic"
            )
        return ConvertError(said)


def _sent(schema: SchemaText) -> Schema:
    references = [
        SchemaReference(each.name, each.subject, each.version) for each in schema.references
    ]
    return Schema(schema.text, schema.format, references)


def _received(schema: Schema) -> SchemaText:
    kinds: dict[str, Format] = {"AVRO": "AVRO", "JSON": "JSON", "PROTOBUF": "PROTOBUF"}
    kind = kinds.get(schema.schema_type or "AVRO")
    if kind is None or schema.schema_str is None:
        raise ConvertError(f"the registry has a schema of type {schema.schema_type}")
    references = tuple(
        Reference(each.name, each.subject, each.version)
        for each in schema.references or ()
        if each.name is not None and each.subject is not None and each.version is not None
    )
    return SchemaText(kind, schema.schema_str, references)


def _id(schema_id: int | None) -> int:
    if schema_id is None:
        raise ConvertError("the registry names a schema without its id")
    return schema_id


def _without_login(url: str) -> str:
    """The addresses without user and password."""
    return ",".join(
        f"{scheme}://{rest.rpartition('@')[2]}" if scheme else rest
        for scheme, _, rest in (each.strip().rpartition("://") for each in url.split(","))
    )
