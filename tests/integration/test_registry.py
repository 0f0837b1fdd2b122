"""Converters and a schema registry on a socket: what is asked, how often, and what errors become.

The server is ours, so that it can fail and count, and follows the documented REST API; the client
is confluent-kafka's. What a real registry makes of it stands in ``tests/conformance/registry``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from connectd.converters.avro_converter import AvroConverter
from connectd.converters.json_schema_converter import JsonSchemaConverter
from connectd.converters.protobuf_converter import ProtobufConverter
from connectd.converters.registry_catalogue import registry_converters
from connectd.converters.simple_header_converter import SimpleHeaderConverter
from connectd.converters.string_converter import StringConverter
from connectd.errors import (
    AccessDeniedError,
    ConfigError,
    ConnectdError,
    ConvertError,
    InvalidRequestError,
    ThrottledError,
    TransientNetworkError,
)
from connectd.model.record import ConverterSpec, RecordList, SourceRecord
from connectd.model.schema import OPTIONAL_STRING, STRING, Field, Schema, SchemaType, Struct
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.pipeline.tolerance import ErrorPolicy
from tests.kit.scripted_registry import DROP, NOTHING, ScriptedRegistry

Made = AvroConverter | JsonSchemaConverter | ProtobufConverter
CLASSES: list[Any] = [AvroConverter, JsonSchemaConverter, ProtobufConverter]

OLD = Schema(SchemaType.STRUCT, name="a.b.Row", fields=(Field("x", STRING),))
NEW = replace(OLD, fields=(*OLD.fields, Field("y", OPTIONAL_STRING)))


@pytest.fixture
def registry() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry() as running:
        yield running


def made(cls: Any, url: str, **settings: str) -> Made:
    """A converter of values; ``_`` in names of settings stands for a dot."""
    merged = {"schema.registry.url": url, "converter.type": "value"}
    merged |= {name.replace("_", "."): text for name, text in settings.items()}
    converter: Made = cls(ConverterSpec(cls.class_name, tuple(sorted(merged.items()))))
    return converter


def write(converter: Made, topic: str = "topic", schema: Schema = OLD) -> bytes:
    """A record of that schema."""
    values = ("a",) if len(schema.fields) == 1 else ("a", "b")
    record = converter.from_connect_data(topic, schema, Struct(schema, values))
    assert record is not None
    return record


@pytest.mark.parametrize("cls", CLASSES)
def test_a_schema_is_registered_once_for_each_topic(cls: Any, registry: ScriptedRegistry) -> None:
    converter = made(cls, registry.url)
    records = [write(converter) for _ in range(10)]
    records += [write(converter, schema=replace(OLD)) for _ in range(10)]  # equal, not the same
    assert len(set(records)) == 1
    assert records[0][:5] == b"\x00\x00\x00\x00\x01"
    assert [method for method, _ in registry.requests] == ["POST"]
    write(converter, topic="other")
    assert registry.subjects == {"topic-value": [1], "other-value": [1]}
    assert len(registry.requests) == 2


@pytest.mark.parametrize("cls", CLASSES)
def test_a_schema_that_grows_is_another_version(cls: Any, registry: ScriptedRegistry) -> None:
    converter = made(cls, registry.url)
    assert write(converter)[4] == 1
    assert write(converter, schema=NEW)[4] == 2
    assert write(converter)[4] == 1
    assert registry.subjects == {"topic-value": [1, 2]}


@pytest.mark.parametrize("cls", CLASSES)
def test_without_registration_the_schema_is_looked_up(cls: Any, registry: ScriptedRegistry) -> None:
    write(made(cls, registry.url))
    converter = made(cls, registry.url, auto_register_schemas="false")
    assert write(converter)[4] == 1
    with pytest.raises(ConvertError, match="Schema not found; error code: 40403"):
        write(converter, schema=NEW)
    assert registry.subjects == {"topic-value": [1]}


@pytest.mark.parametrize("cls", CLASSES)
def test_the_latest_version_is_used_if_compatible_or_if_nobody_asks(
    cls: Any, registry: ScriptedRegistry
) -> None:
    for schema in (OLD, NEW):
        write(made(cls, registry.url), schema=schema)
    settings = {"auto_register_schemas": "false", "use_latest_version": "true"}
    assert write(made(cls, registry.url, **settings))[4] == 2
    registry.is_compatible = False
    with pytest.raises(ConvertError, match=r"Set latest\.compatibility\.strict=false to disable"):
        write(made(cls, registry.url, **settings))
    lenient = made(cls, registry.url, **settings, latest_compatibility_strict="false")
    assert write(lenient)[4] == 2


def test_avro_of_the_latest_version_is_laid_out_as_it_says(registry: ScriptedRegistry) -> None:
    write(made(AvroConverter, registry.url), schema=NEW)
    settings = {"auto_register_schemas": "false", "use_latest_version": "true"}
    assert write(made(AvroConverter, registry.url, **settings))[5:] == b"\x02a\x00"  # y is null


@pytest.mark.parametrize("cls", CLASSES)
def test_a_given_id_is_used(cls: Any, registry: ScriptedRegistry) -> None:
    for schema in (OLD, NEW):
        write(made(cls, registry.url), schema=schema)
    settings = {"auto_register_schemas": "false"}
    assert write(made(cls, registry.url, use_schema_id="1", **settings))[4] == 1
    with pytest.raises(ConvertError, match="Schema not found"):
        write(made(cls, registry.url, use_schema_id="7", **settings))


def test_normalization_is_asked_for(registry: ScriptedRegistry) -> None:
    write(made(AvroConverter, registry.url, normalize_schemas="true"))
    assert registry.requests[0][1].lower().endswith("normalize=true")


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, AccessDeniedError, "basic.auth.user.info"),
        (403, AccessDeniedError, "denied operation Write"),
        (409, ConvertError, "incompatible with an earlier schema"),
        (422, ConvertError, "Invalid schema"),
        (429, ThrottledError, "Too many requests"),
        (500, TransientNetworkError, "Error in the backend datastore"),
        (503, TransientNetworkError, "Leader not known"),
        (DROP, TransientNetworkError, "no answer from the schema registry at http://127.0.0.1"),
    ],
)
@pytest.mark.parametrize("cls", CLASSES)
def test_what_the_registry_refuses_or_cannot_do_is_told_apart(
    cls: Any,
    status: int,
    error: type[ConnectdError],
    words: str,
    registry: ScriptedRegistry,
) -> None:
    converter = made(cls, registry.url)
    registry.fails.extend([status] * 2)
    with pytest.raises(error, match=words):
        write(converter)
    registry.fails.clear()
    assert write(converter)[4] == 1  # the failure is not remembered


def test_one_lost_connection_is_not_seen(registry: ScriptedRegistry) -> None:
    registry.fails.append(DROP)
    assert write(made(AvroConverter, registry.url))[4] == 1


def test_a_registry_that_is_away_is_named_without_its_login() -> None:
    with ScriptedRegistry() as gone:
        url = gone.url.replace("http://", "http://user:secret@")
    with pytest.raises(TransientNetworkError) as caught:
        write(made(AvroConverter, url))
    assert gone.url in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_login_is_in_the_address_or_a_setting_of_its_own() -> None:
    with ScriptedRegistry(login="user:secret") as registry:
        address = registry.url.replace("http://", "http://user:secret@")
        assert write(made(AvroConverter, address))[4] == 1
        info = {
            "basic_auth_credentials_source": "USER_INFO",
            "basic_auth_user_info": "user:secret",
        }
        assert write(made(AvroConverter, registry.url, **info))[4] == 1
        with pytest.raises(AccessDeniedError) as caught:
            write(made(AvroConverter, registry.url, **{**info, "basic_auth_user_info": "a:wrong"}))
        assert "wrong" not in str(caught.value)


def test_a_token_takes_the_place_of_a_login() -> None:
    with ScriptedRegistry(token="secret") as registry:
        for source in ({}, {"bearer_auth_credentials_source": "STATIC_TOKEN"}):
            settings = {**source, "bearer_auth_token": "secret"}
            assert write(made(AvroConverter, registry.url, **settings))[4] == 1
        with pytest.raises(AccessDeniedError, match=r"or bearer\.auth\.token,") as caught:
            write(made(AvroConverter, registry.url, bearer_auth_token="wrong-one"))
        assert "wrong-one" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bearer_auth_credentials_source": "STATIC_TOKEN"}, "bearer.auth.token is missing"),
        ({"bearer_auth_credentials_source": "OAUTHBEARER"}, "OAUTHBEARER, which is not supported"),
    ],
)
def test_a_source_of_tokens_that_gives_none_is_refused(
    settings: dict[str, str], words: str, registry: ScriptedRegistry
) -> None:
    with pytest.raises(ConfigError, match=words):
        made(AvroConverter, registry.url, **settings)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (302, InvalidRequestError, "leads elsewhere .HTTP status 302."),
        (NOTHING, ConvertError, "names a schema without its id"),
    ],
)
@pytest.mark.parametrize("cls", CLASSES)
def test_what_is_no_registry_says_so(
    cls: Any, answer: int, error: type[ConnectdError], words: str, registry: ScriptedRegistry
) -> None:
    registry.fails.extend([answer] * 2)
    with pytest.raises(error, match=words):
        write(made(cls, registry.url))


def test_a_page_whose_schema_cannot_be_registered_is_neither_sent_nor_skipped(
    registry: ScriptedRegistry,
) -> None:
    """Also when every bad record is tolerated: an outage says nothing about the record."""
    converters = Converters(
        StringConverter(ConverterSpec("key")),
        AvroConverter(ConverterSpec("avro", (("schema.registry.url", registry.url),))),
        SimpleHeaderConverter(ConverterSpec("header")),
    )
    rows = [
        SourceRecord("topic", STRING, str(number), OLD, Struct(OLD, (str(number),)))
        for number in range(3)
    ]
    registry.fails.extend([503, 503])
    page = PageEncoding(RecordList(rows), converters, ErrorPolicy(tolerates_all=True))
    with pytest.raises(TransientNetworkError):
        page()
    assert page.failure_count == 0
    assert [record.key for record in page().records] == [b"0", b"1", b"2"]  # type: ignore[union-attr]


def test_all_converters_are_there_under_their_java_names() -> None:
    assert registry_converters() == {
        "io.confluent.connect.avro.AvroConverter": AvroConverter,
        "io.confluent.connect.json.JsonSchemaConverter": JsonSchemaConverter,
        "io.confluent.connect.protobuf.ProtobufConverter": ProtobufConverter,
    }
