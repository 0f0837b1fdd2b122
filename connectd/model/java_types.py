"""How Java names the type of a value, for messages that clients may compare (spec F.1, H.2).

A value with a schema has the class that the schema stands for; one without has the class that a
JSON reader would have given it.
"""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from typing import Final

from connectd.model.schema import Schema, SchemaType, Struct

_DATE: Final = "java.util.Date"
_BY_SCHEMA: Final = {
    SchemaType.INT8: "java.lang.Byte",
    SchemaType.INT16: "java.lang.Short",
    SchemaType.INT32: "java.lang.Integer",
    SchemaType.INT64: "java.lang.Long",
    SchemaType.FLOAT32: "java.lang.Float",
    SchemaType.FLOAT64: "java.lang.Double",
}
_BY_TYPE: Final[tuple[tuple[type, str], ...]] = (
    (bool, "java.lang.Boolean"),  # before int, which it is a kind of
    (int, "java.lang.Long"),
    (float, "java.lang.Double"),
    (str, "java.lang.String"),
    (bytes, "[B"),
    (dict, "java.util.HashMap"),
    (list, "java.util.ArrayList"),
    (Struct, "org.apache.kafka.connect.data.Struct"),
    (Decimal, "java.math.BigDecimal"),
    (date, _DATE),
    (time, _DATE),
)


def class_name(value: object, schema: Schema | None = None) -> str:
    """The class, or ``null``."""
    if value is None:
        return "null"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if schema is not None and is_number and schema.type in _BY_SCHEMA:
        return _BY_SCHEMA[schema.type]
    return next(
        (name for kind, name in _BY_TYPE if isinstance(value, kind)), type(value).__qualname__
    )
