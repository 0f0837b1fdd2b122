"""What connectd's own classes answer to a case, in the form of ``Vectors.java``."""

from __future__ import annotations

import base64
from typing import Any

from connectd.app.bundled import plugin_registry
from connectd.configdef import parsing
from connectd.configdef.catalogue import PluginKind
from connectd.errors import ConnectdError
from connectd.model.record import ConverterSpec
from tests.conformance.vectors import coding

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
    cls = _REGISTRY.find(PluginKind.CONVERTER, case["class"]).cls
    parsed = parsing.parse(cls.config_def(), case["config"])
    settings = sorted(
        (name, coding_text(value)) for name, value in parsed.items() if value is not None
    )
    converter = cls(ConverterSpec(case["class"], tuple(settings)))
    schema = coding.schema_of(case["schema"])
    written = converter.from_connect_data("t", schema, coding.value_of(case["value"], schema))
    return {"bytes": None if written is None else base64.b64encode(written).decode()}


def coding_text(value: object) -> str:
    """A setting as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _write_header(case: Json) -> Json:
    cls = _REGISTRY.find(PluginKind.HEADER_CONVERTER, case["class"]).cls
    converter = cls(ConverterSpec(case["class"], ()))
    schema = coding.schema_of(case["schema"])
    value = coding.value_of(case["value"], schema)
    written = converter.from_connect_header("t", "h", schema, value)
    return {"bytes": None if written is None else base64.b64encode(written).decode()}


_ANSWERS = {
    "header.write": _write_header,
    "transform": _transform,
    "predicate": _predicate,
    "write": _write,
}
