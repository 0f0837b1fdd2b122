"""All converters by the names that Kafka's have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connectd.converters.byte_array_converter import ByteArrayConverter
from connectd.converters.json_converter import JsonConverter
from connectd.converters.number_converters import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from connectd.converters.simple_header_converter import SimpleHeaderConverter
from connectd.converters.string_converter import StringConverter
from connectd.plugins.spi import Converter, HeaderConverter

_FOR_EVERYTHING: Final = (
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
    JsonConverter,
    StringConverter,
)

CONVERTERS: Final[Mapping[str, type[Converter]]] = {
    converter.class_name: converter for converter in _FOR_EVERYTHING
}
HEADER_CONVERTERS: Final[Mapping[str, type[HeaderConverter]]] = {
    converter.class_name: converter for converter in (*_FOR_EVERYTHING, SimpleHeaderConverter)
}
