"""Avro schemas and data as Connect's (spec kafka-connect E.6.2): one function per schema. Pure.

The way back of ``avro_schemas`` and ``avro_values``: what they note beside Avro's own types under
``connect.`` names is taken from there, so that what was written comes back as it was. Data arrive
as fastavro reads them when it knows nothing of logical types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from connectd.converters import avro_schemas
from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.schema import Field, Schema, SchemaType, Struct

Read = Callable[[Any], Any]
"""Avro data to a Connect value."""

_TYPES: Final = {
    "int": SchemaType.INT32,
    "long": SchemaType.INT64,
    "float": SchemaType.FLOAT32,
    "double": SchemaType.FLOAT64,
    "boolean": SchemaType.BOOLEAN,
    "string": SchemaType.STRING,
    "bytes": SchemaType.BYTES,
}
_NARROW: Final = {"int8": SchemaType.INT8, "int16": SchemaType.INT16}
_LOGICAL: Final = {
    ("int", "date"): logical.DATE,
    ("int", "time-millis"): logical.TIME,
    ("long", "timestamp-millis"): logical.TIMESTAMP,
}
_PYTHON_TYPES: Final[dict[SchemaType, tuple[type, ...]]] = {
    SchemaType.BOOLEAN: (bool,),
    SchemaType.STRING: (str,),
    SchemaType.BYTES: (bytes,),
    SchemaType.FLOAT32: (float,),
    SchemaType.FLOAT64: (float,),
    SchemaType.ARRAY: (list,),
    SchemaType.STRUCT: (dict,),
}
_NAMED: Final = ("record", "enum", "fixed", "error")
_AVRO_DEFAULT: Final = "io.confluent.connect.avro.field.default"
_PRECISION: Final = "connect.decimal.precision"
_PRECISION_DEFAULT: Final = 64
_INT_END: Final = 1 << 31


@dataclass(frozen=True)
class Reader:
    """What an Avro schema is in Connect, and how its data are read. No schema: anything."""

    schema: Schema | None
    read: Read

    def versioned(self, version: int) -> Reader:
        """With the version that a registry gives the schema, unless it says its own."""
        schema, read = self.schema, self.read
        if schema is None or schema.version is not None:
            return self
        known = replace(schema, version=version)

        def read_versioned(datum: Any) -> object:
            value = read(datum)
            return Struct(known, value.values) if isinstance(value, Struct) else value

        return Reader(known, read_versioned)


def reader(avro: Any) -> Reader:
    """The reader of an Avro schema.

    Raises:
        ConvertError: Connect has nothing like it.
    """
    return _Translation().of(avro, "")


def anything(datum: Any) -> object:
    """The value of a record of all types; see ``avro_values.anything``."""
    if datum is None:
        return None
    for branch in avro_schemas.ANYTHING_BRANCHES:
        if datum[branch] is not None:
            return datum[branch]
    if datum["array"] is not None:
        return [anything(each) for each in datum["array"]]
    if datum["map"] is not None:
        return {anything(each["key"]): anything(each["value"]) for each in datum["map"]}
    return None


@dataclass
class _Translation:
    named: dict[str, Reader | None] = field(default_factory=dict)

    def of(self, avro: Any, space: str) -> Reader:
        match avro:
            case str():
                return self._by_name(avro, space)
            case list():
                return self._union(avro, space)
            case {"type": "array", "items": items}:
                return self._array(avro, items, space)
            case {"type": "map", "values": values}:
                return self._map(avro, values, space)
            case {"type": str(kind)} if kind in _NAMED:
                return self._named(avro, kind, space)
            case {"type": str(kind)}:
                return self._primitive(avro, kind, space)
            case {"type": inner}:
                return self.of(inner, space)
        raise ConvertError(f"this is no Avro schema: {avro}")

    def _by_name(self, name: str, space: str) -> Reader:
        if name in _TYPES or name == "null":
            return self._primitive({}, name, space)
        full = name if "." in name or not space else f"{space}.{name}"
        if full not in self.named:
            raise ConvertError(f"the schema has no type {full}")
        found = self.named[full]
        if found is None:
            raise ConvertError(f"the type {full} is inside of itself, which is not supported")
        return found

    def _primitive(self, avro: dict[str, Any], kind: str, space: str) -> Reader:
        if kind == "null":
            raise ConvertError("Standalone null schemas are not supported by this converter")
        if kind not in _TYPES:
            return self._by_name(kind, space)
        schema = Schema(_NARROW.get(avro.get("connect.type", ""), _TYPES[kind]))
        return _finished(_as_logical(schema, avro, kind), avro, _same)

    def _array(self, avro: dict[str, Any], items: Any, space: str) -> Reader:
        is_map = isinstance(items, dict) and items.get("type") == "record"
        if is_map and (
            items.get("connect.internal.type") == avro_schemas.MAP_ENTRY
            or _full_name(items, space) == f"{avro_schemas.NAMESPACE}.{avro_schemas.MAP_ENTRY}"
        ):
            own_space = _full_name(items, space).rpartition(".")[0]
            key, value = (self.of(each["type"], own_space) for each in items["fields"])
            schema = Schema(SchemaType.MAP, key_schema=key.schema, value_schema=value.schema)
            return _finished(
                schema,
                avro,
                lambda data: {key.read(each["key"]): value.read(each["value"]) for each in data},
            )
        element = self.of(items, space)
        return _finished(
            Schema(SchemaType.ARRAY, value_schema=element.schema),
            avro,
            lambda data: [element.read(each) for each in data],
        )

    def _map(self, avro: dict[str, Any], values: Any, space: str) -> Reader:
        value = self.of(values, space)
        schema = Schema(
            SchemaType.MAP, key_schema=Schema(SchemaType.STRING), value_schema=value.schema
        )
        return _finished(
            schema, avro, lambda data: {key: value.read(each) for key, each in data.items()}
        )

    def _named(self, avro: dict[str, Any], kind: str, space: str) -> Reader:
        name = _full_name(avro, space)
        if name == avro_schemas.ANYTHING:
            return Reader(None, anything)
        self.named[name] = None
        if kind == "enum":
            parameters = [(avro_schemas.ENUM, name)]
            parameters += [(f"{avro_schemas.ENUM}.{each}", each) for each in avro["symbols"]]
            schema = Schema(SchemaType.STRING, name=name, parameters=tuple(parameters))
            found = _finished(schema, avro, _same)
        elif kind == "fixed":
            schema = Schema(
                SchemaType.BYTES,
                name=name,
                parameters=(("connect.fixed.size", str(avro["size"])),),
            )
            found = _finished(_as_logical(schema, avro, "bytes"), avro, _same)
        else:
            found = self._record(avro, name)
        self.named[name] = found
        return found

    def _record(self, avro: dict[str, Any], name: str) -> Reader:
        space = name.rpartition(".")[0]
        readers = [(each["name"], self._field(each, space)) for each in avro["fields"]]
        parameters = [(avro_schemas.RECORD_DOC, avro["doc"])] if avro.get("doc") else []
        parameters += [
            (f"{avro_schemas.FIELD_DOC}{each['name']}", each["doc"])
            for each in avro["fields"]
            if each.get("doc")
        ]
        is_unnamed = name.startswith(f"{avro_schemas.NAMESPACE}.ConnectDefault")
        fields = tuple(
            Field(each, found.schema) for each, found in readers if found.schema is not None
        )
        if len(fields) < len(readers):
            raise ConvertError(f"{name} has a field without schema, which is not supported")
        schema = Schema(
            SchemaType.STRUCT,
            name=None if is_unnamed else name,
            fields=fields,
            parameters=tuple(parameters),
        )
        return _record_reader(_described(schema, avro), readers)

    def _field(self, avro: dict[str, Any], space: str) -> Reader:
        found = self.of(avro["type"], space)
        default = avro.get("default")
        if default is None or found.schema is None or found.schema.default is not None:
            return found
        schema = replace(
            found.schema,
            default=found.read(_datum(found.schema, default)),
            parameters=(*found.schema.parameters, (_AVRO_DEFAULT, "true")),
        )
        return Reader(schema, found.read)

    def _union(self, avro: list[Any], space: str) -> Reader:
        branches = [each for each in avro if each != "null"]
        has_null = len(branches) < len(avro)
        found = [self.of(each, space) for each in branches]
        if len(found) == 1:
            (only,) = found
            if not has_null:
                return only
            schema = None if only.schema is None else replace(only.schema, optional=True)
            if schema is not None and schema.type is SchemaType.STRUCT:
                return Reader(schema, lambda datum: _optional_struct(schema, only.read, datum))
            return Reader(schema, lambda datum: None if datum is None else only.read(datum))
        return _union_reader(found, branches, has_null=has_null)


def _optional_struct(schema: Schema, read: Read, datum: Any) -> object:
    return None if datum is None else Struct(schema, read(datum).values)


def _record_reader(schema: Schema, readers: list[tuple[str, Reader]]) -> Reader:
    def read(datum: Any) -> object:
        return Struct(schema, tuple(each.read(datum[name]) for name, each in readers))

    return Reader(schema, read)


def _union_reader(found: list[Reader], branches: list[Any], *, has_null: bool) -> Reader:
    fields = []
    for each, branch in zip(found, branches, strict=True):
        if each.schema is None:
            raise ConvertError("a union has a branch without schema, which is not supported")
        kind = branch if isinstance(branch, str) else branch.get("name", branch["type"])
        fields.append(Field(str(kind).rpartition(".")[2], replace(each.schema, optional=True)))
    schema = Schema(
        SchemaType.STRUCT, optional=has_null, name=avro_schemas.UNION, fields=tuple(fields)
    )

    def read(datum: Any) -> object:
        if datum is None:
            return None
        name, value = datum if isinstance(datum, tuple) else (None, datum)
        values: list[object] = [None] * len(found)
        for position, each in enumerate(found):
            if each.schema is not None and _fits(each.schema, name, value):
                values[position] = each.read(value)
                return Struct(schema, tuple(values))
        raise ConvertError(f"a {type(value).__name__} is none of the branches of its union")

    return Reader(schema, read)


def _fits(schema: Schema, name: str | None, value: object) -> bool:
    if name is not None:
        return schema.name == name
    if schema.type is SchemaType.MAP:
        return isinstance(value, dict | list)
    if schema.type in _PYTHON_TYPES:
        return isinstance(value, _PYTHON_TYPES[schema.type])
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return schema.type is SchemaType.INT64 or -_INT_END <= value < _INT_END


def _as_logical(schema: Schema, avro: dict[str, Any], kind: str) -> Schema:
    name = avro.get("logicalType")
    if kind == "bytes" and name == "decimal":
        parameters = [("scale", str(avro.get("scale", 0)))]
        precision = avro.get("precision", _PRECISION_DEFAULT)
        if precision != _PRECISION_DEFAULT:
            parameters.append((_PRECISION, str(precision)))
        return replace(
            schema,
            name=logical.DECIMAL,
            version=1,
            parameters=(*schema.parameters, *parameters),
        )
    known = _LOGICAL.get((kind, str(name)))
    return schema if known is None else replace(schema, name=known, version=1)


def _finished(schema: Schema, avro: dict[str, Any], read: Read) -> Reader:
    described = _described(schema, avro)
    if logical.is_logical(described):
        found = Reader(described, lambda datum: logical.from_stored(described, read(datum)))
    else:
        found = Reader(described, read)
    default = avro.get("connect.default")
    if default is None:
        return found
    value = found.read(_datum(described, default))
    return Reader(replace(described, default=value), found.read)


def _described(schema: Schema, avro: dict[str, Any]) -> Schema:
    """With what Avro itself does not know of it."""
    parameters = dict(schema.parameters) | avro.get("connect.parameters", {})
    return replace(
        schema,
        doc=avro.get("connect.doc", schema.doc),
        version=avro.get("connect.version", schema.version),
        name=avro.get("connect.name", schema.name),
        parameters=tuple(parameters.items()),
    )


def _datum(schema: Schema, default: Any) -> Any:
    """A default, which is JSON, as fastavro would read it."""
    match default, schema.type:
        case str(), SchemaType.BYTES:
            return default.encode("latin-1")
        case ((int() | float()), (SchemaType.FLOAT32 | SchemaType.FLOAT64)):
            return float(default)
        case list(), SchemaType.ARRAY if schema.value_schema is not None:
            return [_datum(schema.value_schema, each) for each in default]
        case dict(), SchemaType.MAP if schema.value_schema is not None:
            return {key: _datum(schema.value_schema, each) for key, each in default.items()}
        case list(), SchemaType.MAP if schema.key_schema and schema.value_schema:
            keys, values = schema.key_schema, schema.value_schema
            return [
                {"key": _datum(keys, key), "value": _datum(values, each)} for key, each in default
            ]
        case dict(), SchemaType.STRUCT:
            return {
                each.name: _datum(each.schema, default.get(each.name)) for each in schema.fields
            }
    return default


def _full_name(avro: dict[str, Any], space: str) -> str:
    name = str(avro["name"])
    if "." in name:
        return name
    own_space = avro.get("namespace", space)
    return f"{own_space}.{name}" if own_space else name


def _same(datum: Any) -> Any:
    return datum
