"""The JSON Schema of the keys accepts what a worker accepts, and refuses only what it refuses."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from connectd import cli
from connectd.cli import reference
from connectd.configdef import json_schema, parsing, validators
from connectd.configdef.connector import SOURCE_DEF
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.configdef.worker_keys import WORKER_DEF
from connectd.errors import ConfigError

NUMBERS = (ConfigType.INT, ConfigType.SHORT, ConfigType.LONG, ConfigType.DOUBLE)


def accepts(key: ConfigKey, value: object) -> bool:
    try:
        jsonschema.validate(value, json_schema.value_schema(key))
    except jsonschema.ValidationError:
        return False
    return True


def worker_accepts(key: ConfigKey, value: object) -> bool:
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        parsing.parse(ConfigDef([key]), {key.name: text})
    except ConfigError:
        return False
    return True


def key_of(value_type: ConfigType, validator: Any = None) -> ConfigKey:
    return ConfigKey("k", value_type, "Doc.", Importance.LOW, default=None, validator=validator)


def candidates(key: ConfigKey) -> list[object]:
    smallest, largest = validators.limits(key.validator)
    words = validators.choices(key.validator)
    ends = [end for end in (smallest, largest) if end is not None]
    numbers = [int(end + step) for end in ends for step in (-1, 0, 1)]
    texts = ["nonsense", "", "true", "True", "FALSE", " false ", "yes", "1", " 1 ", "-1", "1.5"]
    return [*numbers, *map(str, numbers), *texts, True, *(words[0] if words else ())]


def test_nothing_is_refused_that_a_worker_accepts() -> None:
    refused = [
        (key.name, value)
        for key in WORKER_DEF
        for value in candidates(key)
        if worker_accepts(key, value) and not accepts(key, value)
    ]
    assert refused == []


def test_what_is_no_number_no_boolean_or_no_known_word_is_refused() -> None:
    kinds = (*NUMBERS, ConfigType.BOOLEAN)
    named = [key for key in WORKER_DEF if key.type in kinds or validators.choices(key.validator)]
    assert len(named) > 50
    assert [key.name for key in named if accepts(key, "nonsense")] == []


def test_numbers_beyond_a_limit_are_refused() -> None:
    beyond = [
        (key.name, value)
        for key in WORKER_DEF
        for end, step in zip(validators.limits(key.validator), (-1, 1), strict=True)
        if end is not None and accepts(key, value := end + step)
    ]
    assert beyond == []


def test_any_value_may_be_a_reference() -> None:
    reference_to = "${file:/etc/connectd/secrets/a.properties:x}"
    assert [key.name for key in WORKER_DEF if not accepts(key, reference_to)] == []


def test_words_in_any_case_of_letters_are_accepted_where_the_worker_takes_them() -> None:
    loose = key_of(ConfigType.STRING, validators.one_of("SASL_SSL", "SSL", ignore_case=True))
    strict = key_of(ConfigType.STRING, validators.one_of("eager", "sessioned"))

    assert [accepts(loose, each) for each in ("sasl_ssl", "Ssl", "TLS")] == [True, True, False]
    assert [accepts(strict, each) for each in ("eager", "EAGER")] == [True, False]


def test_a_schema_of_properties_lets_other_scalars_pass() -> None:
    schema = json_schema.properties_schema(WORKER_DEF, title="T", prefixes=("producer.",))

    jsonschema.validate({"producer.linger.ms": 5, "group.id": "g", "my.own": True}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"my.own": {"a": 1}}, schema)
    assert "producer.*" in schema["description"]


def test_defaults_and_meanings_are_told() -> None:
    found = json_schema.value_schema(WORKER_DEF.key("offset.flush.interval.ms"))

    assert found["default"] == "60000"
    assert found["description"].startswith("Time between two commits")


def test_secrets_are_named_with_and_without_prefixes() -> None:
    names = json_schema.secret_names([WORKER_DEF, SOURCE_DEF], ["producer."])

    assert {"ssl.key.password", "producer.sasl.jaas.config"} <= set(names)
    assert "ssl.truststore.location" not in names


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reference", "--format", "schema"]) == 0

    printed = json.loads(capsys.readouterr().out)
    assert printed == reference.worker_schema()
    jsonschema.Draft7Validator.check_schema(printed)
