"""Protobuf is read with what a registry on a socket says, and waits for one that is away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectd.converters.protobuf_converter import ProtobufConverter
from connectd.errors import (
    AccessDeniedError,
    ConnectdError,
    ConvertError,
    RetriableError,
    ThrottledError,
    TransientNetworkError,
)
from connectd.model.record import ConverterSpec
from connectd.model.schema import STRING, Field, Schema, SchemaType, Struct
from tests.kit.scripted_registry import DROP, ScriptedRegistry

ROW = Schema(SchemaType.STRUCT, name="a.b.Row", fields=(Field("x", STRING),))


@pytest.fixture
def registry() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry() as running:
        yield running


def made(url: str) -> ProtobufConverter:
    """A converter of values, that knows no schema yet."""
    settings = {"schema.registry.url": url, "converter.type": "value"}
    return ProtobufConverter(ConverterSpec("protobuf", tuple(sorted(settings.items()))))


def written(url: str) -> bytes:
    """A record, whose schema the registry has from now on."""
    record = made(url).from_connect_data("topic", ROW, Struct(ROW, ("a",)))
    assert record is not None
    return record


def test_the_registry_is_asked_once_for_each_schema_and_topic(registry: ScriptedRegistry) -> None:
    record = written(registry.url)
    registry.requests.clear()
    converter = made(registry.url)
    for _ in range(3):
        schema, value = converter.to_connect_data("topic", record)
        assert schema is not None
        assert (schema.name, schema.version) == ("Row", 1)
        assert isinstance(value, Struct)
        assert value.values == ("a",)
    paths = [path.partition("?")[0] for _, path in registry.requests]
    assert paths == ["/schemas/ids/1", "/subjects/topic-value"]


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, AccessDeniedError, "basic.auth.user.info"),
        (429, ThrottledError, "Too many requests"),
        (500, TransientNetworkError, "Error in the backend datastore"),
        (DROP, TransientNetworkError, "no answer from the schema registry at http://127.0.0.1"),
    ],
)
def test_what_the_registry_cannot_do_says_nothing_about_the_record(
    status: int, error: type[ConnectdError], words: str, registry: ScriptedRegistry
) -> None:
    record, converter = written(registry.url), made(registry.url)
    registry.fails.extend([status] * 2)
    with pytest.raises(error, match=words):
        converter.to_connect_data("topic", record)
    registry.fails.clear()
    assert converter.to_connect_data("topic", record)[1] is not None  # it is not remembered


def test_a_registry_that_is_away_is_waited_for() -> None:
    with ScriptedRegistry() as gone:
        record = written(gone.url)
    with pytest.raises(RetriableError, match="check that it runs and can be reached"):
        made(gone.url).to_connect_data("topic", record)


def test_an_id_that_the_registry_does_not_know_is_told_with_it(registry: ScriptedRegistry) -> None:
    with pytest.raises(ConvertError, match="topic topic to Protobuf: reading schema 9: Schema not"):
        made(registry.url).to_connect_data("topic", b"\0\0\0\0\x09\0")
