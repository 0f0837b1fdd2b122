"""The initial scan as a job for another process: all that Spark must know to do it.

The daemon writes a ``ScanJob`` to a file of its own and starts ``spark_jobs.initial_scan`` with the
file's path in the environment variable ``JOB_ENV``; the driver reads the file and deletes it. What
comes back is ``scan_reports``. Only the daemon writes offsets.

The file holds passwords (of Kafka, of a schema registry) and therefore belongs to its owner alone,
mode 0600. AWS keys are never in it: they travel in the environment (``aws_environment``), or the
executors find their own.

Of a connector's configuration only what Spark reads goes along: ``plugin_config``. Pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from connectd.aws.settings import AwsSettings
from connectd.configdef import topic_creation
from connectd.configdef.connector import TOPIC_CREATION_PREFIX
from connectd.configdef.topic_creation import TopicRules
from connectd.connectors.dynamodb import scan_lease
from connectd.connectors.dynamodb.envelope import EnvelopeSettings
from connectd.connectors.dynamodb.export_files import DataFile
from connectd.connectors.dynamodb.job_members import Members
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.errors import ConfigError, InvariantError
from connectd.model.record import ConverterSpec

JOB_ENV: Final = "CONNECTD_SCAN_JOB"
"""Environment of the driver: the path of the job's file."""

EXIT_FAILED: Final = 3
"""Exit code of a driver that has said why it failed."""

_AWS_KEYS: Final = {
    "access_key_id": "AWS_ACCESS_KEY_ID",
    "secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "session_token": "AWS_SESSION_TOKEN",
}
_PLUGIN_KEYS: Final = ("transforms", "predicates")
_PLUGIN_PREFIXES: Final = ("transforms.", "predicates.", TOPIC_CREATION_PREFIX)
_VERSIONS: Final = ("0.1", "1.0")
_DOCUMENTS: Final = ("typed", "plain")


@dataclass(frozen=True)
class ErrorRules:
    """A connector's ``errors.*``, as ``pipeline.tolerance.ErrorPolicy`` has them."""

    tolerates_all: bool = False
    retry_timeout_s: float | None = None
    retry_delay_max_s: float = 60.0
    logs_failures: bool = False
    logs_records: bool = False


@dataclass(frozen=True)
class ScanJob:
    """What is left of a scan, and how its items become records.

    ``state`` is the table's durable state RUNNING; ``segments`` are the positions of its unfinished
    segments. ``connector_config`` is ``plugin_config`` of the connector's resolved configuration.
    ``producer`` are librdkafka's settings (``clientconf.producer_conf``), ``admin`` those of the
    admin client under Java's names. ``creates_topics``: the worker lets connectors create topics.
    ``page_size`` 0: pages of 1 MB. ``units_per_s``: read capacity for the whole scan, None:
    unlimited; ``item_bytes``: what an item measures on average, None: unknown. A chunk ends after
    about ``chunk_s`` seconds or ``chunk_items`` items, and may send for ``lease_s``
    (``scan_lease``). ``parallelism``: chunks at once, None: as many as Spark has slots. ``files``:
    of an export, the data file of each segment.
    """

    connector: str
    table: str
    topic: str
    key: KeySchema
    envelope: EnvelopeSettings
    state: TableState
    segments: tuple[SegmentPosition, ...]
    key_converter: ConverterSpec
    value_converter: ConverterSpec
    header_converter: ConverterSpec
    producer: Mapping[str, str] = field(repr=False)
    admin: Mapping[str, str] = field(repr=False)
    aws: AwsSettings
    connector_config: Mapping[str, str] = field(default_factory=dict, repr=False)
    errors: ErrorRules = ErrorRules()
    creates_topics: bool = False
    reserved_topics: tuple[str, ...] = ()
    consistent_read: bool = False
    page_size: int = 0
    units_per_s: float | None = None
    item_bytes: float | None = None
    chunk_s: float = 5.0
    lease_s: float = scan_lease.lease_s(5.0)
    chunk_items: int | None = None
    parallelism: int | None = None
    files: Mapping[int, DataFile] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        totals = {each.total_segments for each in self.segments}
        if totals - {self.total_segments}:
            raise InvariantError(f"segments of {totals} in a scan of {self.total_segments}")

    @property
    def total_segments(self) -> int:
        """Segments of the whole scan, finished ones among them."""
        return self.state.total_segments or 1

    @property
    def plan(self) -> TablePlan:
        """How items become records: the daemon's own plan."""
        return TablePlan(self.table, self.topic, self.key, self.envelope)

    def topic_rules(self) -> TopicRules | None:
        """How topics are created; None: by the broker, or not at all.

        Raises:
            ConfigError: ``topic.creation.*`` of the connector is wrong.
        """
        return topic_creation.read(self.connector_config) if self.creates_topics else None

    def to_json(self) -> bytes:
        """The content of the job's file."""
        members: dict[str, Any] = {
            each.name: getattr(self, each.name) for each in dataclasses.fields(self)
        }
        members["key"] = [[each.name, each.type] for each in self.key.attributes]
        members["envelope"] = dataclasses.asdict(self.envelope)
        members["state"] = dict(self.state.to_offset())
        members["segments"] = [
            {"segment": each.segment, "offset": dict(each.to_offset())} for each in self.segments
        ]
        for name in ("key_converter", "value_converter", "header_converter"):
            spec: ConverterSpec = members[name]
            members[name] = {"class_name": spec.class_name, "settings": dict(spec.settings)}
        members["errors"] = dataclasses.asdict(self.errors)
        members["files"] = [
            {"segment": number, "key": each.key, "items": each.items, "md5": each.md5.hex()}
            for number, each in self.files.items()
        ]
        members["aws"] = {
            name: value
            for name, value in dataclasses.asdict(self.aws).items()
            if name not in _AWS_KEYS
        }
        return orjson.dumps(members)

    @classmethod
    def from_json(cls, text: bytes) -> ScanJob:
        """Read a job's file.

        Raises:
            ConfigError: it is not one; names the member that is missing, unknown or wrong.
        """
        read = Members.parse("scan job", text)
        table = read.text("table")
        job = cls(
            connector=read.text("connector"),
            table=table,
            topic=read.text("topic"),
            key=_key(read.array("key")),
            envelope=_envelope(read.object("envelope")),
            state=TableState.from_offset(table, read.object("state").take_all()),
            segments=tuple(
                _segment(read.within(f"segments[{index}]", each))
                for index, each in enumerate(read.array("segments"))
            ),
            key_converter=_converter(read.object("key_converter")),
            value_converter=_converter(read.object("value_converter")),
            header_converter=_converter(read.object("header_converter")),
            connector_config=read.texts_by_name("connector_config"),
            errors=_errors(read.object("errors")),
            producer=read.texts_by_name("producer"),
            admin=read.texts_by_name("admin"),
            creates_topics=read.boolean("creates_topics"),
            reserved_topics=read.texts("reserved_topics"),
            aws=_aws(read.object("aws")),
            consistent_read=read.boolean("consistent_read"),
            page_size=read.whole_number("page_size"),
            units_per_s=read.optional_number("units_per_s"),
            item_bytes=read.optional_number("item_bytes"),
            chunk_s=read.number("chunk_s"),
            lease_s=read.number("lease_s"),
            chunk_items=read.optional_whole_number("chunk_items"),
            parallelism=read.optional_whole_number("parallelism"),
            files=dict(
                _file(read.within(f"files[{index}]", each))
                for index, each in enumerate(read.array("files"))
            ),
        )
        read.end()
        return job


def plugin_config(config: Mapping[str, str]) -> dict[str, str]:
    """The keys of a connector's configuration that the job needs, and no others."""
    return {
        name: text
        for name, text in config.items()
        if name in _PLUGIN_KEYS or name.startswith(_PLUGIN_PREFIXES)
    }


def aws_environment(aws: AwsSettings) -> dict[str, str]:
    """What the driver's environment must have so that it has the connector's own AWS keys.

    Empty when it has none: then the default chain finds the credentials.
    """
    if not aws.has_static_keys:
        return {}
    found = {variable: getattr(aws, name) for name, variable in _AWS_KEYS.items()}
    return {variable: value for variable, value in found.items() if value is not None}


def aws_keys_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The AWS keys that an environment has, under its own names; empty without a whole pair."""
    found = {name: environment[name] for name in _AWS_KEYS.values() if environment.get(name)}
    is_pair = {_AWS_KEYS["access_key_id"], _AWS_KEYS["secret_access_key"]} <= found.keys()
    return found if is_pair else {}


def with_aws_keys(aws: AwsSettings, environment: Mapping[str, str]) -> AwsSettings:
    """The settings with the keys that an environment has, if it has a pair."""
    found = aws_keys_of(environment)
    if not found:
        return aws
    return dataclasses.replace(
        aws,
        access_key_id=found[_AWS_KEYS["access_key_id"]],
        secret_access_key=found[_AWS_KEYS["secret_access_key"]],
        session_token=found.get(_AWS_KEYS["session_token"]),
    )


def _key(pairs: Sequence[Any]) -> KeySchema:
    try:
        return KeySchema(tuple(KeyAttribute(name, kind) for name, kind in pairs))
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"scan job: key is {pairs!r}, expected one or two pairs of a name and S, N or B "
            f"({error})"
        ) from error


def _envelope(read: Members) -> EnvelopeSettings:
    settings = EnvelopeSettings(
        version="1.0" if read.one_of("version", _VERSIONS) == "1.0" else "0.1",
        document="plain" if read.one_of("document", _DOCUMENTS) == "plain" else "typed",
        old_image=read.boolean("old_image"),
        user_identity=read.boolean("user_identity"),
    )
    read.end()
    return settings


def _segment(read: Members) -> SegmentPosition:
    number = read.whole_number("segment")
    position = SegmentPosition.from_offset(number, read.object("offset").take_all())
    read.end()
    return position


def _file(read: Members) -> tuple[int, DataFile]:
    md5 = read.text("md5")
    try:
        file = DataFile(read.text("key"), read.whole_number("items"), bytes.fromhex(md5))
    except ValueError as error:
        raise ConfigError(f"{read.what}: md5 is {md5!r}, expected hex ({error})") from error
    number = read.whole_number("segment")
    read.end()
    return number, file


def _converter(read: Members) -> ConverterSpec:
    settings = read.texts_by_name("settings")
    spec = ConverterSpec(read.text("class_name"), tuple(sorted(settings.items())))
    read.end()
    return spec


def _errors(read: Members) -> ErrorRules:
    rules = ErrorRules(
        tolerates_all=read.boolean("tolerates_all"),
        retry_timeout_s=read.optional_number("retry_timeout_s"),
        retry_delay_max_s=read.number("retry_delay_max_s"),
        logs_failures=read.boolean("logs_failures"),
        logs_records=read.boolean("logs_records"),
    )
    read.end()
    return rules


def _aws(read: Members) -> AwsSettings:
    known = {each.name for each in dataclasses.fields(AwsSettings)} - _AWS_KEYS.keys()
    found = read.take_all()
    unknown = found.keys() - known
    if unknown:
        raise ConfigError(f"{read.what}: found {', '.join(sorted(unknown))}, which it cannot have")
    try:
        return AwsSettings(**found)
    except TypeError as error:
        raise ConfigError(f"{read.what}: {error}") from error
