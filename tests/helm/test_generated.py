"""What follows from declarations and comments stands in the chart as it follows now."""

from __future__ import annotations

import json

import jsonschema
import pytest

from connectd.configdef.worker_keys import WORKER_DEF
from tests.helm import chart_values, generate


@pytest.mark.parametrize("name", ["values.schema.json", "README.md", "files/secret-names.txt"])
def test_files_are_the_generated_ones(name: str) -> None:
    """Write them with ``python -m tests.helm.generate`` when keys or values have changed."""
    assert (generate.CHART / name).read_text(encoding="utf-8") == generate.texts()[name]


def test_every_value_is_explained() -> None:
    values = chart_values.leaves(chart_values.read(generate.CHART / "values.yaml"))
    assert [value.path for value in values if not value.text.endswith((".", "?"))] == []


def test_the_schema_knows_every_key_of_a_worker() -> None:
    schema = json.loads(generate.texts()["values.schema.json"])
    jsonschema.Draft7Validator.check_schema(schema)
    known = schema["properties"]["worker"]["properties"]["config"]["properties"]
    assert set(known) == set(WORKER_DEF.names())


def test_secrets_are_known_with_prefixes_and_under_other_names() -> None:
    names = set(generate.texts()["files/secret-names.txt"].splitlines())
    assert {"producer.override.sasl.jaas.config", "aws.secret.key", "ssl.keystore.key"} <= set(
        names
    )
