"""What connectd's own classes answer to a case, in the form of ``Vectors.java``."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

from connectd.app.bundled import plugin_registry
from connectd.configdef import parsing
from connectd.configdef.catalogue import PluginKind
from connectd.errors import ConnectdError
from connectd.model import logical
from connectd.model.date_format import DateFormat, DateFormatError, DateRangeError
from connectd.model.record import ConverterSpec
from connectd.model.schema import SchemaAndValue
from tests.conformance.vectors import coding, our_patterns

Json = Any
_REGISTRY = plugin_registry()


def answer(case: Json) -> Json:
    """The answer; an error is one of ours, anything else that is raised is a bug."""
    try:
        return _ANSWERS[case["kind"]](case)
    except ConnectdError as error:
        return {"error": type(error).__name__, "message": str(error).split("\n", 1)[0]}


def _transform(case: Json) -> Json:
    plugin = _made(PluginKind.TRANSFORMATION, case)
    return {"record": coding.record_json(plugin.apply(coding.record_of(case["record"])))}


def _predicate(case: Json) -> Json:
    plugin = _made(PluginKind.PREDICATE, case)
    return {"holds": plugin.test(coding.record_of(case["record"]))}


def _made(kind: PluginKind, case: Json) -> Any:
    cls = _REGISTRY.find(kind, case["class"]).cls
    return cls(parsing.parse(cls.config_def(), case["config"]))


def _write(case: Json) -> Json:
    converter = _converter(PluginKind.CONVERTER, case)
    schema = coding.schema_of(case["schema"])
    written = converter.from_connect_data("t", schema, coding.value_of(case["value"], schema))
    return {"bytes": None if written is None else base64.b64encode(written).decode()}


def _read(case: Json) -> Json:
    return _found(_converter(PluginKind.CONVERTER, case).to_connect_data("t", _bytes(case)))


def _converter(kind: PluginKind, case: Json) -> Any:
    cls = _REGISTRY.find(kind, case["class"]).cls
    parsed = parsing.parse(cls.config_def(), case["config"])
    settings = sorted((name, _text(value)) for name, value in parsed.items() if value is not None)
    return cls(ConverterSpec(case["class"], tuple(settings)))


def _text(setting: object) -> str:
    return str(setting).lower() if isinstance(setting, bool) else str(setting)


def _bytes(case: Json) -> bytes | None:
    return None if case["bytes"] is None else base64.b64decode(case["bytes"])


def _found(read: SchemaAndValue) -> Json:
    schema, value = read
    return {"schema": coding.schema_json(schema), "value": coding.value_json(value, schema)}


def _write_header(case: Json) -> Json:
    converter = _converter(PluginKind.HEADER_CONVERTER, case)
    schema = coding.schema_of(case["schema"])
    value = coding.value_of(case["value"], schema)
    written = converter.from_connect_header("t", "h", schema, value)
    return {"bytes": None if written is None else base64.b64encode(written).decode()}


def _read_header(case: Json) -> Json:
    converter = _converter(PluginKind.HEADER_CONVERTER, case)
    return _found(converter.to_connect_header("t", "h", _bytes(case)))


def _validate(case: Json) -> Json:
    kind = PluginKind.PREDICATE if ".predicates." in case["class"] else PluginKind.TRANSFORMATION
    definition = _REGISTRY.find(kind, case["class"]).cls.config_def()
    evaluations = parsing.evaluate(definition, case["config"])
    return {
        "errors": {name: list(each.errors) for name, each in evaluations.items() if each.errors}
    }


def _read_date(case: Json) -> Json:
    century_start = _EPOCH + timedelta(milliseconds=case["centuryStart"])
    now = century_start.replace(year=century_start.year + 80)
    try:
        moment = DateFormat(case["pattern"], now=now).parse(case["text"])
    except DateRangeError as error:
        return {"error": "DateRangeError", "message": str(error)}
    except DateFormatError as error:
        message = str(error)
        if message.endswith("does not match"):
            message = f'Unparseable date: "{case["text"]}"'.split("\n", 1)[0]
        return {"error": "DateFormatError", "message": message}
    return {"ms": logical.epoch_ms(moment)}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ANSWERS = {
    "pattern.groups": our_patterns.answer,
    "pattern.matches": our_patterns.answer,
    "validate": _validate,
    "date.read": _read_date,
    "header.read": _read_header,
    "header.write": _write_header,
    "transform": _transform,
    "predicate": _predicate,
    "read": _read,
    "write": _write,
}
