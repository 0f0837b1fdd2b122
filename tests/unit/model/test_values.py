"""The remaining values: partitions, converter specs, schemas and structs."""

from __future__ import annotations

import pytest

from connectd.model.record import ConverterSpec, SourcePartition
from connectd.model.schema import INT64, STRING, Field, Schema, SchemaType, Struct


def test_source_partitions_are_equal_only_in_the_same_order() -> None:
    """The key of an offset is its bytes, so another order is another partition (spec C.3)."""
    one = SourcePartition.of({"table_name": "t", "shard_id": "s"})
    assert one == SourcePartition.of({"table_name": "t", "shard_id": "s"})
    assert one != SourcePartition.of({"shard_id": "s", "table_name": "t"})
    assert list(one.to_dict()) == ["table_name", "shard_id"]
    assert str(one) == "table_name=t,shard_id=s"


def test_a_converter_spec_answers_defaults_for_what_is_not_set() -> None:
    spec = ConverterSpec("JsonConverter", (("schemas.enable", "false"),))
    assert spec.setting("schemas.enable", "true") == "false"
    assert spec.setting("decimal.format", "BASE64") == "BASE64"


def test_a_struct_has_a_value_for_every_field_and_no_more() -> None:
    schema = Schema(SchemaType.STRUCT, name="key", fields=(Field("a", STRING), Field("b", INT64)))
    struct = Struct(schema, ("x", 1))
    assert struct.get("b") == 1
    assert schema.field("a") == Field("a", STRING)
    assert schema.field("c") is None
    with pytest.raises(KeyError):
        struct.get("c")
    with pytest.raises(ValueError, match="has 2 fields, got 1 values"):
        Struct(schema, ("x",))
