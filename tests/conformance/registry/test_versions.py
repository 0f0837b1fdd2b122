"""Versions under a real registry: ids, what may follow what, and what becomes of a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient

from connectd.converters.avro_converter import AvroConverter
from connectd.converters.json_schema_converter import JsonSchemaConverter
from connectd.converters.protobuf_converter import ProtobufConverter
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import RegistryClient
from connectd.model.schema import INT64, OPTIONAL_STRING, STRING, Field, Schema, SchemaType, Struct
from tests.conformance.registry.writing import (
    CLASSES,
    PREFIX_BYTES,
    Made,
    envelope_of,
    id_of,
    made,
    written,
)
from tests.harness.schema_registry import SchemaRegistry

pytestmark = [pytest.mark.real_registry, pytest.mark.timeout(120)]

OLD = Schema(SchemaType.STRUCT, name="a.b.Row", fields=(Field("x", STRING),))
GROWN = replace(OLD, fields=(*OLD.fields, Field("y", OPTIONAL_STRING)))
OTHER = replace(OLD, fields=(Field("x", INT64),))

CLOSED = {"object.additional.properties": "false"}
"""JSON Schema calls a new field compatible only where no other member was allowed before."""

LOOK_UP = {"auto.register.schemas": "false"}
LATEST = {**LOOK_UP, "use.latest.version": "true"}
LENIENT = {**LATEST, "latest.compatibility.strict": "false"}

Make = Callable[..., Made]


@pytest.fixture
def make(registry: SchemaRegistry) -> Make:
    """Makes a converter of a class on the registry, with settings; a test's share one client."""
    client = RegistryClient({"url": registry.url})

    def of(cls: Any, settings: dict[str, str] | None = None) -> Made:
        return made(cls, registry.url, {**CLOSED, **(settings or {})}, client)

    return of


def write(converter: Made, topic: str, schema: Schema = OLD) -> bytes:
    values = {OLD: ("a",), GROWN: ("a", "b"), OTHER: (1,)}[schema]
    return written(converter, topic, schema, Struct(schema, values))


def write_envelope(converter: Made, topic: str, value: Struct) -> bytes:
    return written(converter, topic, value.schema, value)


@pytest.mark.parametrize("cls", CLASSES)
def test_each_subject_counts_its_versions_and_ids_are_shared(
    cls: Any, make: Make, registry: SchemaRegistry, client: SchemaRegistryClient, topic: str
) -> None:
    converter, another = make(cls), made(cls, registry.url, CLOSED)
    first = [write(converter, topic), write(converter, topic), write(another, topic)]
    assert len(set(first)) == 1
    assert id_of(write(converter, f"{topic}-2")) == id_of(first[0])
    assert id_of(write(another, topic, GROWN)) != id_of(first[0])
    assert write(converter, topic) == first[0]
    assert client.get_versions(f"{topic}-value") == [1, 2]
    assert client.get_versions(f"{topic}-2-value") == [1]


@pytest.mark.parametrize("cls", CLASSES)
def test_a_version_that_would_break_readers_is_refused_and_nothing_is_written(
    cls: Any, make: Make, client: SchemaRegistryClient, topic: str
) -> None:
    converter = make(cls)
    first = write(converter, topic)
    with pytest.raises(ConvertError) as caught:
        write(converter, topic, OTHER)
    for words in (
        f"topic {topic}: ",
        f"under {topic}-value: ",
        "Incompatible",
        "change the schema",
    ):
        assert words in str(caught.value)
    assert client.get_versions(f"{topic}-value") == [1]
    assert write(converter, topic) == first
    client.set_compatibility(f"{topic}-value", "NONE")
    assert id_of(write(converter, topic, OTHER)) != id_of(first)


@pytest.mark.parametrize("cls", CLASSES)
def test_without_registration_only_known_schemas_are_written(
    cls: Any, make: Make, client: SchemaRegistryClient, topic: str
) -> None:
    converter = make(cls, LOOK_UP)
    with pytest.raises(ConvertError, match=r"not found.*error code: 40401"):
        write(converter, topic)
    first = write(make(cls), topic)
    assert write(converter, topic) == first
    with pytest.raises(ConvertError, match="error code: 40403"):
        write(converter, topic, GROWN)
    assert client.get_versions(f"{topic}-value") == [1]


@pytest.mark.parametrize("cls", CLASSES)
def test_the_latest_version_is_written_with(cls: Any, make: Make, topic: str) -> None:
    with pytest.raises(ConvertError, match=r"reading the latest version.*error code: 40401"):
        write(make(cls, LATEST), topic)
    write(make(cls), topic)
    latest = write(make(cls), topic, GROWN)
    assert write(make(cls, LATEST), topic, GROWN) == latest
    assert id_of(write(make(cls, LENIENT), topic)) == id_of(latest)
    with pytest.raises(ConvertError, match=r"Set latest\.compatibility\.strict=false to disable"):
        write(make(cls, LATEST), topic, OTHER)


def test_avro_is_laid_out_by_the_latest_version(make: Make, topic: str) -> None:
    write(make(AvroConverter), topic, GROWN)
    assert write(make(AvroConverter, LATEST), topic)[PREFIX_BYTES:] == b"\x02a\x00"  # y is null


@pytest.mark.parametrize("cls", CLASSES)
def test_a_given_id_is_written_with(cls: Any, make: Make, topic: str) -> None:
    first = write(make(cls), topic)
    write(make(cls), topic, GROWN)
    settings = {**LOOK_UP, "use.schema.id": str(id_of(first)), "id.compatibility.strict": "false"}
    assert write(make(cls, settings), topic) == first
    with pytest.raises(ConvertError, match="Schema 999999999 not found"):
        write(make(cls, {**settings, "use.schema.id": "999999999"}), topic)


def test_a_schema_that_others_have_spelled_differently_is_found_by_normalization(
    make: Make, client: SchemaRegistryClient, topic: str
) -> None:
    plain = make(AvroConverter)
    text = plain.registry.by_id(id_of(write(plain, f"{topic}-other"))).schema.text
    theirs = json.dumps(dict(reversed(json.loads(text).items())), indent=2)
    schema_id = client.register_schema(f"{topic}-value", TheirSchema(theirs, "AVRO"))
    converter = make(AvroConverter, {**LOOK_UP, "normalize.schemas": "true"})
    assert id_of(write(converter, topic)) == schema_id


def test_avro_is_written_and_read_with_a_version_that_refers_to_another_subject(
    make: Make, client: SchemaRegistryClient, topic: str
) -> None:
    """Not strict: Apicurio Registry 3.3.3 cannot compare with a version that has references."""
    value = envelope_of("1.0")
    plain = make(AvroConverter)
    record = write_envelope(plain, f"{topic}-plain", value)
    text = json.loads(plain.registry.by_id(id_of(record)).schema.text)
    source = next(each for each in text["fields"] if each["name"] == "source")
    inner, source["type"] = source["type"], f"{text['namespace']}.source"
    inner["namespace"] = text["namespace"]
    client.register_schema(f"{topic}-source", TheirSchema(json.dumps(inner), "AVRO"))
    reference = SchemaReference(source["type"], f"{topic}-source", 1)
    theirs = TheirSchema(json.dumps(text), "AVRO", [reference])
    schema_id = client.register_schema(f"{topic}-value", theirs)

    converter = make(AvroConverter, LENIENT)
    found = write_envelope(converter, topic, value)
    assert id_of(found) == schema_id
    assert found[PREFIX_BYTES:] == record[PREFIX_BYTES:]
    expected = plain.to_connect_data(f"{topic}-plain", record)
    assert converter.to_connect_data(topic, found) == expected


VERSIONS: list[Literal["0.1", "1.0"]] = ["0.1", "1.0"]
OPTIONS: list[dict[str, bool]] = [
    {"old_image": True},
    {"user_identity": True},
    {"old_image": True, "user_identity": True},
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("cls", "level"),
    [
        (AvroConverter, "BACKWARD"),
        (AvroConverter, "FULL_TRANSITIVE"),
        (JsonSchemaConverter, "BACKWARD_TRANSITIVE"),
    ],
)
def test_an_option_of_the_envelope_may_be_turned_on_and_off(
    cls: Any,
    level: str,
    version: Literal["0.1", "1.0"],
    make: Make,
    client: SchemaRegistryClient,
    topic: str,
) -> None:
    for options in OPTIONS:
        subject = f"{topic}-{'-'.join(options)}"
        plain = write_envelope(make(cls), subject, envelope_of(version))
        client.set_compatibility(f"{subject}-value", level)
        write_envelope(make(cls), subject, envelope_of(version, **options))
        assert write_envelope(make(cls), subject, envelope_of(version)) == plain
        assert client.get_versions(f"{subject}-value") == [1, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_protobuf_numbers_fields_by_their_place_so_an_old_image_needs_a_topic_of_its_own(
    version: Literal["0.1", "1.0"], make: Make, topic: str
) -> None:
    converter = make(ProtobufConverter)
    write_envelope(converter, topic, envelope_of(version))
    write_envelope(converter, topic, envelope_of(version, user_identity=True))
    with pytest.raises(ConvertError, match="Incompatible"):
        write_envelope(converter, topic, envelope_of(version, old_image=True))


@pytest.mark.parametrize("cls", [AvroConverter, JsonSchemaConverter])
def test_one_envelope_does_not_follow_the_other(cls: Any, make: Make, topic: str) -> None:
    """They share a name and differ in ``init_sync``, so each wants a topic of its own."""
    write_envelope(make(cls), topic, envelope_of("0.1"))
    with pytest.raises(ConvertError, match="Incompatible"):
        write_envelope(make(cls), topic, envelope_of("1.0"))


def test_json_schema_that_allows_other_members_cannot_grow(
    registry: SchemaRegistry, topic: str
) -> None:
    """As the Java converter's: hence ``object.additional.properties=false`` in these tests."""
    converter = made(JsonSchemaConverter, registry.url)
    write(converter, topic)
    with pytest.raises(ConvertError, match="Incompatible"):
        write(converter, topic, GROWN)
