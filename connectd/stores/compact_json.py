"""JSON bytes of the internal topics, as Kafka Connect's internal converter writes them.

Source partitions are compared as bytes, so a key that we write must be the key that a Java worker
would have written (spec kafka-connect C.1, C.3).
"""

from __future__ import annotations

import math

import orjson

from connectd.model import java_json

_LONG_BITS = 63


def dumps(value: object) -> bytes:
    """The bytes of a value made of dicts with string keys, lists, strings, numbers, and None.

    Raises:
        ValueError: something else is in it, or a number or text that JSON does not know.
    """
    try:
        return java_json.dumps(_with_java_doubles(value))
    except TypeError as error:
        raise ValueError(f"cannot be written as JSON: {error}") from error


def _with_java_doubles(value: object) -> object:
    match value:
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} cannot be written as JSON")
            return java_json.double(value)
        case int() if not isinstance(value, bool) and value.bit_length() > _LONG_BITS:
            return orjson.Fragment(str(value))
        case dict():
            return {name: _with_java_doubles(member) for name, member in value.items()}
        case list() | tuple():
            return [_with_java_doubles(member) for member in value]
        case _:
            return value
