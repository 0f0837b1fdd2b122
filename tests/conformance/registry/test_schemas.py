"""A real registry takes the schemas that we write, and gives back what it was given.

The registry in memory, on which the unit tests of the converters stand, judges nothing. This one
parses every schema: Avro with names and defaults, JSON Schema, Protobuf.
"""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as KeptSchema
from confluent_kafka.schema_registry import SchemaRegistryClient

from connectd.converters.json_schema_converter import JsonSchemaConverter
from connectd.errors import ConvertError
from connectd.model.schema import Schema, SchemaType
from tests.conformance.registry.writing import CLASSES, PREFIX_BYTES, Made, id_of, made, written
from tests.harness.schema_registry import SchemaRegistry
from tests.unit.converters.registry.cases import Case, all_cases
from tests.unit.converters.registry.made import converter as in_memory

pytestmark = [pytest.mark.real_registry, pytest.mark.timeout(300)]


def record_of(converter: Made, topic: str, case: Case) -> bytes:
    return written(converter, topic, case.schema, case.value)


def is_known_to_be_refused(cls: Any, schema: Schema | None) -> bool:
    """Apicurio Registry takes a document for JSON Schema only if it has ``properties`` or
    ``$schema``; Confluent's converters write the latter no more than ours."""
    is_object = schema is not None and schema.type is SchemaType.STRUCT and not schema.optional
    return cls is JsonSchemaConverter and not is_object


def writable(cls: Any) -> dict[str, Case]:
    """The cases that the format can say and that the registry knows as such."""
    found = {}
    for name, case in all_cases().items():
        if name.endswith("-null-with-default") or is_known_to_be_refused(cls, case.schema):
            continue  # the former have no schemas of their own
        try:
            record_of(in_memory(cls, *case.settings), name, case)
        except ConvertError:
            continue
        found[name] = case
    return found


@pytest.mark.parametrize("cls", CLASSES)
def test_schemas_are_taken_as_they_are_and_records_are_those_of_the_registry_in_memory(
    cls: Any, registry: SchemaRegistry, client: SchemaRegistryClient, topic: str
) -> None:
    cases = writable(cls)
    assert len(cases) > 40
    real = {
        settings: made(cls, registry.url, dict(settings))
        for settings in {case.settings for case in cases.values()}
    }
    for name, case in cases.items():
        ours, plain = real[case.settings], in_memory(cls, *case.settings)
        record, expected = record_of(ours, f"{topic}-{name}", case), record_of(plain, name, case)
        assert record[PREFIX_BYTES:] == expected[PREFIX_BYTES:], name
        offered = plain.registry.by_id(id_of(expected), f"{name}-value").schema
        assert client.get_schema(id_of(record)) == KeptSchema(offered.text, offered.format), name


@pytest.mark.parametrize("cls", CLASSES)
def test_a_record_is_read_with_what_the_registry_says(
    cls: Any, registry: SchemaRegistry, topic: str
) -> None:
    """A sample: each reading asks twice, for the schema and for its version."""
    for name in ("envelope-0.1-all", "envelope-1.0-all", "field-decimal-null", "unnamed"):
        case = all_cases()[name]
        writer, reader = (made(cls, registry.url) for _ in range(2))
        record = record_of(writer, f"{topic}-{name}", case)
        plain = in_memory(cls)
        expected = plain.to_connect_data(name, record_of(plain, name, case))
        assert reader.to_connect_data(f"{topic}-{name}", record) == expected
