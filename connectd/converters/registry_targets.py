"""What a record of a schema and topic is written with: the id in front of it, and the schema.

One question to the registry for each new schema of a topic; then the answer is found by the
schema's identity, since comparing struct schemas costs more than writing a record. A schema that
is equal to an earlier one and another object asks the translated text first, not the registry.

State: the answers, bounded by ``schemas.cache.config``; used in one thread at a time, and lost
without harm. Failures are not kept: the next record asks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from connectd.converters.registry_settings import RegistrySettings
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import Registered, RegistryClient, SchemaText
from connectd.model.schema import Schema

_MAGIC: Final = b"\x00"
_ID_BYTES: Final = 4

_Target = TypeVar("_Target")


@dataclass(frozen=True)
class Offered:
    """A schema in the converter's format, and the full name of its record, if it has one."""

    text: SchemaText
    record: str | None


def prefix(schema_id: int) -> bytes:
    """What stands in front of every record: a zero, and the id (spec kafka-connect E.5)."""
    return _MAGIC + schema_id.to_bytes(_ID_BYTES, "big")


def split(data: bytes) -> tuple[int, bytes]:
    """The id of a record, and what follows it.

    Raises:
        ConvertError: nothing stands in front of the record.
    """
    if data[:1] != _MAGIC or len(data) <= _ID_BYTES:
        raise ConvertError("Unknown magic byte!")
    return int.from_bytes(data[1 : 1 + _ID_BYTES], "big"), data[1 + _ID_BYTES :]


class Sources(Generic[_Target]):
    """The way back: what records are read with, by their topic and id; bounded as ``Targets``.

    ``record`` finds the full name of a schema's record, ``build`` what its data are read with,
    given the schema and its version.
    """

    def __init__(
        self,
        settings: RegistrySettings,
        client: RegistryClient,
        *,
        record: Callable[[Registered], str | None],
        build: Callable[[Registered, int], _Target],
    ) -> None:
        self._settings = settings
        self._client = client
        self._record = record
        self._build = build
        self._answers: dict[tuple[str, int], _Target] = {}

    def of(self, topic: str, schema_id: int) -> _Target:
        """What records of that topic and id are read with.

        Raises:
            RetriableError, AccessDeniedError, ConvertError: as ``RegistryClient`` does.
        """
        known = self._answers.get((topic, schema_id))
        if known is not None:
            return known
        registered = self._client.by_id(schema_id)
        subject = self._settings.subject(topic, self._record(registered))
        version = self._client.version(subject, registered.schema)
        source = self._build(registered, version)
        if len(self._answers) >= self._settings.schemas_cached_max:
            self._answers.clear()
        self._answers[topic, schema_id] = source
        return source


class Targets(Generic[_Target]):
    """See the module's docstring.

    ``offer(schema)`` translates a schema; ``build(schema, registered)`` makes of it and of what the
    registry says whatever the converter needs for its records.
    """

    def __init__(
        self,
        settings: RegistrySettings,
        client: RegistryClient,
        *,
        offer: Callable[[Schema | None], Offered],
        build: Callable[[Schema | None, Registered], _Target],
    ) -> None:
        self._settings = settings
        self._client = client
        self._offer = offer
        self._build = build
        # The schema is kept beside the answer so that its identity is not given to another one.
        self._answers: dict[tuple[str, int], tuple[Schema | None, _Target]] = {}

    def of(self, topic: str, schema: Schema | None) -> _Target:
        """What records of that topic and schema are written with.

        Raises:
            RetriableError, AccessDeniedError, ConvertError: as ``RegistryClient`` does.
        """
        known = self._answers.get((topic, id(schema)))
        if known is not None:
            return known[1]
        offered = self._offer(schema)
        subject = self._settings.subject(topic, offered.record)
        target = self._build(schema, self._registered(subject, offered.text))
        if len(self._answers) >= self._settings.schemas_cached_max:
            self._answers.clear()
        self._answers[topic, id(schema)] = (schema, target)
        return target

    def _registered(self, subject: str, text: SchemaText) -> Registered:
        settings, client = self._settings, self._client
        if settings.auto_register:
            return Registered(client.register(subject, text, normalize=settings.normalize), text)
        if settings.use_id is not None:
            found = client.by_id(settings.use_id, subject)
            self._require_compatible(
                subject, text, found, is_strict=settings.id_strict, key="id.compatibility.strict"
            )
            return found
        if settings.use_latest:
            found = client.latest(subject)
            self._require_compatible(
                subject,
                text,
                found,
                is_strict=settings.latest_strict,
                key="latest.compatibility.strict",
            )
            return found
        return Registered(client.lookup(subject, text, normalize=settings.normalize), text)

    def _require_compatible(
        self, subject: str, text: SchemaText, found: Registered, *, is_strict: bool, key: str
    ) -> None:
        if found.schema.format != text.format:
            raise ConvertError(
                f"{subject} has schema {found.id} in the format {found.schema.format}; this "
                f"converter writes {text.format}"
            )
        if not is_strict or found.schema.text == text.text:
            return
        if not self._client.is_compatible(subject, text):
            raise ConvertError(
                f"Incompatible schema {text.text} with schema {found.id} of {subject}: "
                f"{found.schema.text}. Set {key}=false to disable this check"
            )
