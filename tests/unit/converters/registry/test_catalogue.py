"""A worker without the libraries of the registry's converters runs, and does not list them."""

from __future__ import annotations

import sys

import pytest
from structlog.testing import capture_logs

from connectd.app.bundled import plugin_registry
from connectd.configdef.catalogue import PluginKind
from connectd.converters.registry_catalogue import registry_converters

NAMES = {
    "io.confluent.connect.avro.AvroConverter",
    "io.confluent.connect.json.JsonSchemaConverter",
    "io.confluent.connect.protobuf.ProtobufConverter",
}


def _forget(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """As if it were not installed; what has imported it is imported anew."""
    monkeypatch.setitem(sys.modules, library, None)
    rooms = ("avro_", "json_schema_", "protobuf_", "registry_targets", "schema_registry")
    for name in list(sys.modules):
        if name.startswith("connectd.") and name.rpartition(".")[2].startswith(rooms):
            monkeypatch.delitem(sys.modules, name)


def test_they_are_found_under_their_full_and_short_names() -> None:
    registry = plugin_registry()
    assert set(registry.class_names(PluginKind.CONVERTER)) >= NAMES
    for name in NAMES:
        short = name.rpartition(".")[2]
        for alias in (name, short, short.removesuffix("Converter")):
            assert registry.find(PluginKind.CONVERTER, alias).class_name == name


def test_without_fastavro_the_others_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    _forget(monkeypatch, "fastavro")
    with capture_logs() as lines:
        found = registry_converters()
    assert set(found) == NAMES - {"io.confluent.connect.avro.AvroConverter"}
    assert [(line["converters"], line["missing"]) for line in lines] == [
        (["io.confluent.connect.avro.AvroConverter"], ["fastavro"])
    ]


def test_without_the_registrys_client_none_is_there_and_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _forget(monkeypatch, "httpx2")
    with capture_logs() as lines:
        assert registry_converters() == {}
    assert [(set(line["converters"]), line["missing"]) for line in lines] == [(NAMES, ["httpx2"])]
