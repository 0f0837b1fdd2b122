"""``make bench NAME=formats``: what other converters cost a worker, against plain JSON.

The schema registry is in the worker's memory; it is asked twice per topic in any case.
"""

from __future__ import annotations

import sys
from typing import Final

from benchmarks import variants


def _converters(class_name: str, **settings: str) -> dict[str, str]:
    """The same converter on both sides; two underscores stand for a dot."""
    config = {}
    for side in ("key.converter", "value.converter"):
        config[side] = class_name
        config |= {f"{side}.{key.replace('__', '.')}": text for key, text in settings.items()}
    return config


_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_REGISTRY: Final = "mock://bench"

VARIANTS: Final[variants.Variants] = {
    "json": _converters(_JSON, schemas__enable="false"),
    "json with schema": _converters(_JSON, schemas__enable="true"),
    "avro": _converters("io.confluent.connect.avro.AvroConverter", schema__registry__url=_REGISTRY),
    "json schema": _converters(
        "io.confluent.connect.json.JsonSchemaConverter", schema__registry__url=_REGISTRY
    ),
}

if __name__ == "__main__":
    variants.measure("formats", VARIANTS, sys.argv[1:], claimed="avro")
