"""Avro schemas and data are those of the Java mapping, to the byte.

The answers are those of an open Java implementation of the same mapping (Apicurio's AvroData, which
began as Confluent's). To record them anew: with the jars of that artifact 2.6.13.Final and
of the Connect worker in CP,
``python -m tests.unit.converters.registry.test_avro_as_java | java -cp "$CP" AvroAnswers.java``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from connectd.converters.avro_converter import AvroConverter
from connectd.converters.json_converter import JsonConverter
from connectd.kafka.schema_registry import SchemaText
from connectd.model.record import ConverterSpec
from tests.unit.converters.registry import cases
from tests.unit.converters.registry.made import converter

ANSWERS = {
    name: (schema, data)
    for name, schema, data in (
        line.split("\t")
        for line in (Path(__file__).parent / "avro_answers.tsv")
        .read_text(encoding="utf-8")
        .splitlines()
    )
}
CASES = cases.all_cases()
_PREFIX_BYTES = 5


def test_every_case_has_an_answer() -> None:
    assert CASES.keys() == ANSWERS.keys()


@pytest.mark.parametrize("name", CASES)
def test_schema_and_data_are_those_of_java(name: str) -> None:
    case = CASES[name]
    avro = converter(AvroConverter, *case.settings)
    written = avro.from_connect_data(name, case.schema, case.value)
    assert written is not None
    schema, data = ANSWERS[name]
    registered = avro.registry.by_id(
        int.from_bytes(written[1:_PREFIX_BYTES], "big"), f"{name}-value"
    )
    assert registered.schema == SchemaText("AVRO", schema)
    assert written[:1] == b"\x00"
    is_raw = schema.startswith('{"type":"bytes"') or schema == '"bytes"'
    expected = bytes.fromhex(data)
    # The serializer, which is not part of that implementation, writes bare bytes as they are.
    assert written[_PREFIX_BYTES:] == (expected[1:] if is_raw else expected)


def main() -> None:
    """Print the questions."""
    json = JsonConverter(ConverterSpec("json"))
    for name, case in CASES.items():
        text = json.from_connect_data("topic", case.schema, case.value) or b""
        print(name, ",".join(map("=".join, case.settings)), text.decode(), sep="\t")


if __name__ == "__main__":
    main()
