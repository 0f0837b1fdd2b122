"""Transforms of fields, with and without schema (spec kafka-connect F.2)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from connectd.errors import ConfigError, TransformError
from connectd.model import logical
from connectd.model.record import SourceRecord
from connectd.model.schema import (
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    Schema,
    SchemaType,
    Struct,
)
from connectd.transforms import (
    extract_field,
    headers,
    insert_field,
    mask_field,
    replace_field,
    schema_metadata,
    structure,
)
from tests.unit.transforms.given import made, record, schema, struct

REC = schema(("id", INT32), ("name", OPTIONAL_STRING))
DEFAULTED = schema(("a", Schema(SchemaType.STRING, optional=True, default="d")))
NESTED = schema(("inner", REC), ("n", INT64), name="outer")

ALL: list[tuple[type[Any], dict[str, str]]] = [
    (extract_field.ExtractFieldValue, {"field": "id"}),
    (headers.HeaderFromValue, {"fields": "id", "headers": "h", "operation": "copy"}),
    (insert_field.InsertFieldValue, {"topic__field": "x"}),
    (mask_field.MaskFieldValue, {"fields": "id"}),
    (replace_field.ReplaceFieldValue, {"exclude": "id"}),
    (structure.FlattenValue, {}),
    (structure.ValueToKey, {"fields": "id"}),
]


@pytest.mark.parametrize(("cls", "settings"), ALL)
def test_a_value_that_is_neither_struct_nor_map_is_refused(
    cls: type[Any], settings: dict[str, str]
) -> None:
    transform = made(cls, **settings)
    with pytest.raises(TransformError, match=r"Only Map objects supported .*java\.lang\.String"):
        transform.apply(record("text"))
    with pytest.raises(TransformError, match=r"Only Struct objects supported .*java\.lang\.String"):
        transform.apply(record("text", STRING))


@pytest.mark.parametrize(("cls", "settings"), ALL)
def test_no_transform_changes_the_record_that_it_is_given(
    cls: type[Any], settings: dict[str, str]
) -> None:
    transform = made(cls, **settings)
    members = {"id": 1, "name": "x"}
    for given in (record(dict(members)), record(struct(REC, **members), REC)):
        before = (given.key, given.value, list(given.headers), given.topic)
        transform.apply(given)
        assert (given.key, given.value, list(given.headers), given.topic) == before


def test_extract_field_takes_the_field_and_its_schema() -> None:
    extract = made(extract_field.ExtractFieldValue, field="name")
    assert extract.apply(record({"name": "x"})).value == "x"
    assert extract.apply(record({})).value is None
    assert extract.apply(record(None)).value is None
    found = extract.apply(record(struct(REC, id=1, name="x"), REC))
    assert (found.value, found.value_schema) == ("x", OPTIONAL_STRING)
    with pytest.raises(TransformError, match="Unknown field: nope"):
        made(extract_field.ExtractFieldValue, field="nope").apply(record(struct(REC, id=1), REC))


def test_extract_field_follows_a_path_into_structs_and_maps() -> None:
    path = {"field__syntax__version": "V2"}
    extract = made(extract_field.ExtractFieldKey, field="inner.name", **path)
    given = SourceRecord("t", NESTED, struct(NESTED, inner=struct(REC, id=1, name="x")), None, None)
    assert extract.apply(given).key == "x"
    dotted = made(extract_field.ExtractFieldValue, field="`a.b`.c", **path)
    assert dotted.apply(record({"a.b": {"c": 7}})).value == 7
    assert dotted.apply(record({"a.b": None})).value is None
    with pytest.raises(TransformError, match=r"\[nested field access\], found: java.lang.Long"):
        dotted.apply(record({"a.b": 1}))
    with pytest.raises(ConfigError, match=r"Incomplete backtick pair in path: \[a.`b\]"):
        made(extract_field.ExtractFieldValue, field="a.`b", **path)


def test_a_null_field_is_read_as_its_default_unless_told_otherwise() -> None:
    given = record(struct(DEFAULTED), DEFAULTED)
    assert made(extract_field.ExtractFieldValue, field="a").apply(given).value == "d"
    plain = made(extract_field.ExtractFieldValue, field="a", replace__null__with__default="false")
    assert plain.apply(given).value is None


def test_headers_are_copied_or_moved_from_fields() -> None:
    settings = {"fields": "name", "headers": "h"}
    given = record(struct(REC, id=1, name="x"), REC, headers=[("old", None, 1)])
    copied = made(headers.HeaderFromValue, operation="copy", **settings).apply(given)
    assert copied.headers == [("old", None, 1), ("h", OPTIONAL_STRING, "x")]
    assert copied.value == given.value
    moved = made(headers.HeaderFromValue, operation="move", **settings).apply(given)
    assert moved.headers == copied.headers
    assert [field.name for field in moved.value_schema.fields] == ["id"]
    assert moved.value.values == (1,)
    loose = made(headers.HeaderFromValue, operation="move", **settings).apply(record({"id": 1}))
    assert loose.headers == [("h", None, None)]
    with pytest.raises(ConfigError, match="must have the same number of elements"):
        made(headers.HeaderFromValue, fields="a,b", headers="h", operation="copy")


def test_headers_are_dropped_and_inserted() -> None:
    given = record("v", headers=[("a", None, 1), ("b", None, 2), ("a", None, 3)])
    assert made(headers.DropHeaders, headers="a").apply(given).headers == [("b", None, 2)]
    inserted = made(headers.InsertHeader, header="n", value__literal="300").apply(given)
    assert inserted.headers[-1] == ("n", Schema(SchemaType.INT16), 300)


def test_insert_field_appends_what_is_known_of_the_record() -> None:
    settings = {
        "topic__field": "topic!",
        "partition__field": "part",
        "timestamp__field": "at",
        "static__field": "s?",
        "static__value": "fixed",
    }
    insert = made(insert_field.InsertFieldValue, **settings)
    given = record(struct(REC, id=1), REC, kafka_partition=3, timestamp_ms=1000)
    found = insert.apply(given)
    assert found.value.values == (1, None, "t", 3, logical.moment_of(1000), "fixed")
    kinds = {field.name: field.schema for field in found.value_schema.fields}
    assert (kinds["topic"].optional, kinds["part"].optional, kinds["s"].optional) == (
        False,
        True,
        True,
    )
    assert kinds["at"] == logical.timestamp_schema(optional=True)
    loose = insert.apply(record({"id": 1}))
    assert loose.value == {"id": 1, "topic": "t", "s": "fixed"}
    assert insert.apply(record(None)).value is None


def test_insert_field_wants_something_to_insert() -> None:
    with pytest.raises(ConfigError, match="No field insertion configured"):
        made(insert_field.InsertFieldValue)
    with pytest.raises(ConfigError, match="No value specified for static field: s"):
        made(insert_field.InsertFieldValue, static__field="s")
    offset = made(insert_field.InsertFieldValue, offset__field="o")
    with pytest.raises(TransformError, match="Only SinkRecord supported for"):
        offset.apply(record({}))


def test_mask_field_empties_values_of_every_type() -> None:
    given = {
        "i": 7,
        "f": 1.5,
        "b": True,
        "s": "x",
        "d": Decimal("1.5"),
        "l": [1],
        "m": {"a": 1},
        "n": None,
        "kept": 1,
    }
    mask = made(mask_field.MaskFieldValue, fields="i,f,b,s,d,l,m,n,absent")
    assert mask.apply(record(given)).value == {
        "i": 0,
        "f": 0.0,
        "b": False,
        "s": "",
        "d": Decimal(0),
        "l": [],
        "m": {},
        "n": None,
        "kept": 1,
        "absent": None,
    }
    with pytest.raises(TransformError, match=r"Cannot mask value of type: class \[B"):
        made(mask_field.MaskFieldValue, fields="x").apply(record({"x": b"1"}))


def test_mask_field_puts_a_replacement_where_it_fits() -> None:
    mask = made(mask_field.MaskFieldValue, fields="x", replacement="42")
    assert mask.apply(record({"x": 1})).value == {"x": 42}
    assert mask.apply(record({"x": "a"})).value == {"x": "42"}
    with pytest.raises(TransformError, match="with custom replacement"):
        mask.apply(record({"x": True}))
    word = made(mask_field.MaskFieldValue, fields="x", replacement="no")
    with pytest.raises(TransformError, match="Unable to convert no"):
        word.apply(record({"x": 1}))


def test_replace_field_leaves_out_keeps_and_renames() -> None:
    given = record(struct(REC, id=1, name="x"), REC)
    found = made(replace_field.ReplaceFieldValue, exclude="id", renames="name:n").apply(given)
    assert [field.name for field in found.value_schema.fields] == ["n"]
    assert found.value.values == ("x",)
    kept = made(replace_field.ReplaceFieldValue, include="id").apply(record({"id": 1, "b": 2}))
    assert kept.value == {"id": 1}
    with pytest.raises(ConfigError, match="Invalid rename mapping: a"):
        made(replace_field.ReplaceFieldValue, renames="a")


def test_schema_metadata_is_set() -> None:
    named = made(schema_metadata.SetSchemaMetadataValue, schema__name="n", schema__version="3")
    found = named.apply(record(struct(REC, id=1), REC))
    assert (found.value_schema.name, found.value_schema.version) == ("n", 3)
    assert found.value.schema is found.value_schema
    assert named.apply(record(None)).value_schema is None
    with pytest.raises(TransformError, match="Schema required for"):
        named.apply(record({}))
    with pytest.raises(ConfigError, match="Neither schema name nor version configured"):
        made(schema_metadata.SetSchemaMetadataValue)


def test_flatten_joins_names_and_inherits_optionality() -> None:
    optional_inner = schema(("id", INT32), ("name", OPTIONAL_STRING), optional=True)
    outer = schema(("inner", optional_inner), ("n", INT64), name="outer")
    flatten = made(structure.FlattenValue, delimiter="_")
    found = flatten.apply(record(struct(outer, inner=struct(optional_inner, id=1), n=2), outer))
    assert [field.name for field in found.value_schema.fields] == ["inner_id", "inner_name", "n"]
    assert [field.schema.optional for field in found.value_schema.fields] == [True, True, False]
    assert found.value.values == (1, None, 2)
    gone = flatten.apply(record(struct(outer, n=2), outer))
    assert gone.value.values == (None, None, 2)
    loose = flatten.apply(record({"a": {"b": {"c": 1}}, "l": [1], "z": None}))
    assert loose.value == {"a_b_c": 1, "l": [1], "z": None}


def test_flatten_refuses_what_it_cannot_flatten() -> None:
    of_map = schema(("m", Schema(SchemaType.MAP, key_schema=STRING, value_schema=STRING)))
    flatten = made(structure.FlattenValue)
    with pytest.raises(TransformError, match=r"does not support MAP .* \(for field m\)"):
        flatten.apply(record(struct(of_map, m={}), of_map))
    with pytest.raises(TransformError, match=r"value of type class java\.math\.BigDecimal"):
        flatten.apply(record({"d": Decimal(1)}))


def test_hoist_field_wraps_even_null() -> None:
    hoist = made(structure.HoistFieldValue, field="f")
    assert hoist.apply(record(None)).value == {"f": None}
    found = hoist.apply(record("x", STRING))
    assert (found.value_schema.fields[0].name, found.value.values) == ("f", ("x",))


def test_value_to_key_builds_the_key_in_the_given_order() -> None:
    to_key = made(structure.ValueToKey, fields="name,id")
    found = to_key.apply(record(struct(REC, id=1, name="x"), REC))
    assert isinstance(found.key, Struct)
    assert [field.name for field in found.key.schema.fields] == ["name", "id"]
    assert to_key.apply(record({"id": 1})).key == {"name": None, "id": 1}
    with pytest.raises(TransformError, match="Field does not exist: nope"):
        made(structure.ValueToKey, fields="nope").apply(record(struct(REC, id=1), REC))
