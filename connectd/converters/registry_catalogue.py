"""The converters that need a schema registry, as far as their libraries are installed.

They come with the ``registry`` extra. A worker without it runs as ever and does not list them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import structlog

from connectd.plugins.spi import Converter

_log = structlog.get_logger(__name__)

_ROOMS: Final = {
    "io.confluent.connect.avro.AvroConverter": "avro_converter",
    "io.confluent.connect.json.JsonSchemaConverter": "json_schema_converter",
    "io.confluent.connect.protobuf.ProtobufConverter": "protobuf_converter",
}


def registry_converters() -> Mapping[str, type[Converter]]:
    """The converters by the names that Confluent's have."""
    found: dict[str, type[Converter]] = {}
    missing = {}
    for name, room in _ROOMS.items():
        try:
            module = import_module(f"connectd.converters.{room}")
        except ImportError as error:
            missing[name] = error.name or str(error)
        else:
            found[name] = getattr(module, name.rpartition(".")[2])
    if missing:
        _log.info(
            "converters are not available; install connectd[registry] for them",
            converters=sorted(missing),
            missing=sorted(set(missing.values())),
        )
    return found
