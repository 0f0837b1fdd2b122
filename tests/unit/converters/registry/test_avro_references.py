"""Avro schemas that refer to others: they are whole when they are read and written with."""

from __future__ import annotations

import json
from typing import Any

import fastavro
import pytest

from connectd.converters import avro_references
from connectd.converters.avro_converter import AvroConverter
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import (
    REFERENCES_MAX,
    Reference,
    RegistryClient,
    SchemaText,
)
from connectd.model.schema import INT32, OPTIONAL_STRING, Schema, SchemaType, Struct
from tests.unit.converters.registry.cases import struct
from tests.unit.converters.registry.made import spec

INNER = {"type": "record", "name": "a.b.Inner", "fields": [{"name": "x", "type": "int"}]}
BARE = {"type": "record", "name": "Bare", "fields": [{"name": "e", "type": "c.Colour"}]}
COLOUR = {"type": "enum", "name": "Colour", "namespace": "c", "symbols": ["RED"]}


def record(*types: object, name: str = "a.b.Outer") -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": each} for number, each in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def whole(schema: object, *others: object) -> Any:
    found = avro_references.whole(json.dumps(schema), map(json.dumps, others))
    fastavro.parse_schema(json.loads(found))
    return json.loads(found)


def test_a_schema_without_references_stays_as_it_was_spelled() -> None:
    assert avro_references.whole(' {"type" : "int"}', []) == ' {"type" : "int"}'


def test_the_first_use_of_a_name_becomes_its_definition() -> None:
    found = whole(record("Inner", ["null", "a.b.Inner"]), INNER)
    assert found == record({**INNER, "namespace": "a.b"}, ["null", "a.b.Inner"])


@pytest.mark.parametrize(
    "shape",
    [
        {"type": "array", "items": "Inner"},
        {"type": "map", "values": ["null", "a.b.Inner"]},
        ["null", "Inner"],
        {"type": "Inner"},
        {"type": "array", "items": {"type": "map", "values": "Inner"}},
        record("Inner", name="a.b.Middle"),
    ],
)
def test_names_are_found_wherever_types_stand(shape: object) -> None:
    assert '"name": "x"' in json.dumps(whole(record(shape), INNER))


def test_definitions_may_refer_to_others_in_any_order_and_keep_their_namespaces() -> None:
    for others in ((BARE, COLOUR), (COLOUR, BARE)):
        found = whole(["null", "Bare"], *others)
        colour = {**COLOUR, "namespace": "c"}
        assert found == [
            "null",
            {**BARE, "namespace": "", "fields": [{"name": "e", "type": colour}]},
        ]


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ConvertError, match="is no JSON"):
        avro_references.whole("int", ['"int"'])


@pytest.fixture
def registry() -> RegistryClient:
    client = RegistryClient({"url": "mock://"})
    client.register("inner", SchemaText("AVRO", json.dumps(INNER)), normalize=False)
    return client


def test_a_record_is_written_and_read_with_a_schema_that_refers_to_another(
    registry: RegistryClient,
) -> None:
    theirs = record("Inner", ["null", "string"])
    theirs["fields"][1]["default"] = None
    text = SchemaText("AVRO", json.dumps(theirs), (Reference("a.b.Inner", "inner", 1),))
    schema_id = registry.register("topic-value", text, normalize=False)
    assert registry.by_id(schema_id, "topic-value").schema == text
    settings = {
        "auto.register.schemas": "false",
        "use.latest.version": "true",
        "latest.compatibility.strict": "false",
    }
    converter = AvroConverter(spec(*settings.items()), registry)
    inner = struct(("x", INT32), name="a.b.Inner")
    outer = struct(("f0", inner), ("f1", OPTIONAL_STRING), name="a.b.Outer")
    value = Struct(outer, (Struct(inner, (1,)), None))
    written = converter.from_connect_data("topic", outer, value)
    assert written == b"\x00" + schema_id.to_bytes(4, "big") + b"\x02\x00"
    schema, read = converter.to_connect_data("topic", written)
    assert isinstance(schema, Schema)
    assert (schema.type, schema.name) == (SchemaType.STRUCT, "a.b.Outer")
    assert isinstance(read, Struct)
    assert isinstance(read.values[0], Struct)
    assert (read.values[0].values, read.values[1]) == ((1,), None)


def test_a_chain_of_references_is_followed_and_has_an_end(registry: RegistryClient) -> None:
    for number in range(REFERENCES_MAX + 1):
        before = (Reference("n", f"s{number - 1}", 1),) if number else ()
        text = SchemaText("AVRO", json.dumps({**INNER, "name": f"R{number}"}), before)
        registry.register(f"s{number}", text, normalize=False)
    last = SchemaText("AVRO", "{}", (Reference("n", f"s{REFERENCES_MAX - 1}", 1),))
    assert len(registry.referenced(last)) == REFERENCES_MAX
    longer = SchemaText("AVRO", "{}", (Reference("n", f"s{REFERENCES_MAX}", 1),))
    with pytest.raises(ConvertError, match="refers to more than 100 others"):
        registry.referenced(longer)


def test_a_reference_to_nothing_is_told(registry: RegistryClient) -> None:
    text = SchemaText("AVRO", "{}", (Reference("n", "nowhere", 3),))
    with pytest.raises(ConvertError, match="reading version 3 of nowhere, to which"):
        registry.referenced(text)
