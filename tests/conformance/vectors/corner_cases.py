"""Corners that the matrix of ``cases`` passes by: odd texts, patterns and paths, nested types.

Each group names what it is about; all of them are one family beside the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.conformance.vectors.cases import (
    CONNECT,
    CONVERTER_SETTINGS,
    DEFAULTS,
    HEADER_CONVERTERS,
    INNER,
    LOGICAL,
    MOMENT_MS,
    PRIMITIVES,
    SETTINGS,
    TRANSFORMS,
    case,
    record,
    records,
)

Json = Any
Pair = tuple[Json, Json]
KINDS = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
STRING = {"type": "STRING"}

CAST_TEXTS = (
    *("1e3", "0x1p3", "\uff11\uff12", "+5", "", " 5", "5 ", "NaN", "-NaN", "1_000", "-0", "+", "-"),
    *("127", "128", "-129", "32768", "2147483648", "9223372036854775808", "-9223372036854775808"),
    *("1.5", "1f", "2d", "1L", "Infinity", "-Infinity", "inf", "0x10", "0x1.8p-1", "0x", "1e400"),
    *("1e-400", "3.5e38", "true", "TRUE", "tRue", " true", "true ", "yes", "1", "0", "abc", "1.e2"),
    *(".5", "5.", ".", "1e", "1e+5", "++1", "\u0663", "\u00a05", "\t5\n", "0.1", "16777217.1", "é"),
)
CAST_NUMBERS: tuple[Pair, ...] = (
    *(
        ({"type": "FLOAT64"}, {"float64": text})
        for text in ("NaN", "Infinity", "-Infinity", "3.9", "-3.9", "1.0E20", "-1.0E20", "-0.0")
    ),
    *(({"type": "FLOAT32"}, {"float32": text}) for text in ("NaN", "Infinity", "3.9", "-1.0E10")),
    *(({"type": "INT64"}, {"int64": n}) for n in (-1, 255, 65_536, 1 << 40, -(1 << 63))),
    *(
        (LOGICAL[0][0], {"decimal": text})
        for text in ("0.00", "-12.99", "300.50", "99999999999999999999.99")
    ),
)

PATTERNS = {
    "yyyy-MM-dd": (
        "2021-03-04",
        "2021-3-4",
        "2021-13-40",
        " 2021-03-04",
        "2021-03-04x",
        "21-03-04",
    ),
    "yyyy-MM-dd HH:mm:ss": ("2021-03-04 05:06:07", "2021-03-04 25:61:61", "2021-03-04", "x", ""),
    "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'": ("2021-03-04T05:06:07.089Z", "2021-03-04T05:06:07.9Z"),
    "dd/MM/yy": ("04/03/21", "04/03/2021", "04/03/01", "4/3/7", "04-03-21"),
    "MMM d, yyyy": ("Mar 4, 2021", "mar 4, 2021", "March 4, 2021", "Mxr 4, 2021"),
    "EEE, dd MMM yyyy HH:mm:ss Z": ("Thu, 04 Mar 2021 05:06:07 +0100", "Thu, 04 Mar 2021"),
    "hh:mm a": ("05:06 PM", "12:00 AM", "12:00 PM", "17:06 am", "05:06"),
    "yyyyMMddHHmmss": ("20210304050607", "2021030405060", "202103040506078"),
    "yyyyMMdd": ("20210304", "2021034", "202103045"),
    "HH": ("23", "24", "-1", "+1", ""),
    "yyyy-DDD": ("2021-063", "2021-400", "2021-1"),
    "yyyy-MM-dd HH:mm:ss z": ("2021-03-04 05:06:07 UTC", "2021-03-04 05:06:07 GMT+02:00"),
    "yyyy-MM-dd'T'HH:mm:ssXXX": ("2021-03-04T05:06:07+01:00", "2021-03-04T05:06:07Z"),
    "'it''s' yyyy": ("it's 2021", "its 2021"),
    "kk:mm": ("24:00", "01:30"),
    "KK:mm aa": ("00:30 PM", "11:30 AM"),
    "s": ("1614834367", "-5"),
}
TARGETS = ("string", "unix", "Date", "Time", "Timestamp")
PRECISIONS = ("seconds", "milliseconds", "microseconds", "nanoseconds")
UNIX_VALUES = (0, 1, -1, 999, -999, 1_614_834_367, MOMENT_MS, MOMENT_MS * 1000, MOMENT_MS * 10**6)
MOMENTS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    (f"{CONNECT}Date", "INT32", (0, 86_400_000, -86_400_000, 1_614_816_000_000)),
    (f"{CONNECT}Time", "INT32", (0, 1, 18_367_089, 86_399_999)),
    (f"{CONNECT}Timestamp", "INT64", (0, -1, MOMENT_MS, -86_400_001, 253_402_300_799_999)),
)

REPLACEMENTS = (
    *("$", "$x", "${", "${a}", "${name}", "${nope}", "$9", "$0", "$1$2", "$10", "$2", "a\\", "\\"),
    *("\\$1", "\\\\", "x$1y", "", "$$", "${1}", "$1", "{$1}", "\\n", "$-1", "${name", "${na-me}"),
)
REGEXES = ("(?<name>.*)-v1", "(o)(r)?(z)?.*", ".*", "orders-v1", "", "(?i)ORD.*", "[a-z]+-v\\d")
BAD_REGEXES = ("(", "[", "*", "o{2,1}")
TIME_PATTERNS = (
    *("G", "yy", "yyyy", "y", "YYYY", "M", "MM", "MMM", "MMMM", "L", "LLLL", "w", "ww", "W", "D"),
    *("DDD", "d", "dd", "F", "E", "EEEE", "u", "a", "H", "HH", "k", "K", "h", "m", "s", "S", "SSS"),
    *(
        "z",
        "zzzz",
        "Z",
        "X",
        "XX",
        "XXX",
        "''",
        "'a'yyyy",
        "'",
        "yyyy'T",
        "b",
        "yyyy-[MM]",
        "",
        "#",
    ),
)
TIMES_MS = (MOMENT_MS, 0, -1, 1_609_459_199_999, 951_782_400_000, 4_102_444_800_000)
TOPIC_FORMATS = ("${topic}", "${timestamp}", "x", "", "$topic", "${topic}${topic}", "$1-${topic}")

PATHS = (
    *("`a.b`", "n.`c.d`", "n.c", "a", "n.nope", "nope", "nope.x", "`a", "a`b", "n\\.c", "n.", ".n"),
    *("``", "n.`c`", "n.`c`x", "`n`.c", "`n`.`c.d`", "n.`c.d", "n..c", "n.c.d", "a\\`b", "`a.b`.x"),
    *("m.k", "m.`k.l`", "m", "n", ".", "`", "` `", "n.`c.d`.", "n.c`.d`", "``n"),
)


def corner_cases() -> Iterator[Json]:
    """All groups."""
    yield from _casts()
    yield from _timestamps()
    yield from _routes()
    yield from _paths()
    yield from _twice()
    yield from _keys()
    yield from _nested_in_transforms()
    yield from _written()
    yield from _predicates()


def in_field(schema: Json, value: Json) -> Pair:
    """A struct with such a field ``a`` alone."""
    struct = {"type": "STRUCT", "fields": [{"name": "a", "schema": schema}]}
    return struct, {"struct": {"fields": {"a": value}}}


def in_map(value: Json) -> Pair:
    """A map without schema with such a member ``a``."""
    return None, {"map": [[{"string": "a"}, value]]}


def _is_narrow(schema: Json) -> bool:
    """Whether Python needs the schema to tell how wide a value of it is."""
    return schema["type"] in ("INT8", "INT16", "INT32", "FLOAT32")


def _transform(
    name: str, settings: dict[str, str], schema: Json, value: Json, **rest: Json
) -> Json:
    given = {"keySchema": None, "key": None, "headers": [], **rest}
    whole = record(schema, value, **given)
    return case("transform", f"{TRANSFORMS}{name}", settings, record=whole)


def _casts() -> Iterator[Json]:
    given = [(STRING, {"string": text}) for text in CAST_TEXTS] + list(CAST_NUMBERS)
    for kind, (schema, value) in product(KINDS, given):
        yield _transform("Cast$Value", {"spec": kind}, schema, value)
        yield _transform("Cast$Value", {"spec": f"a:{kind}"}, *in_field(schema, value))
        if not _is_narrow(schema):
            yield _transform("Cast$Value", {"spec": f"a:{kind}"}, *in_map(value))
        defaulted = {**schema, "default": value}
        yield _transform("Cast$Value", {"spec": f"a:{kind}"}, *in_field(defaulted, value))


def _timestamps() -> Iterator[Json]:
    name = "TimestampConverter$Value"
    for pattern, texts in PATTERNS.items():
        for text, target in product(texts, TARGETS):
            settings = {"target.type": target, "format": pattern}
            yield _transform(name, settings, STRING, {"string": text})
        for text in texts[:2]:
            settings = {"target.type": "unix", "format": pattern, "field": "a"}
            yield _transform(name, settings, *in_field(STRING, {"string": text}))
            yield _transform(name, settings, *in_map({"string": text}))
        for _, _, moments in MOMENTS[2:]:
            for ms in moments:
                settings = {"target.type": "string", "format": pattern}
                yield _transform(name, settings, None, {"date": ms})
    for precision, number, target in product(PRECISIONS, UNIX_VALUES, TARGETS):
        settings = {"target.type": target, "unix.precision": precision, "format": "yyyy-MM-dd"}
        yield _transform(name, settings, {"type": "INT64"}, {"int64": number})
    for (schema_name, kind, moments), target in product(MOMENTS, TARGETS):
        schema = {"type": kind, "name": schema_name, "version": 1}
        for ms, precision in product(moments, PRECISIONS if target == "unix" else PRECISIONS[:1]):
            settings = {
                "target.type": target,
                "unix.precision": precision,
                "format": "yyyy-MM-dd HH:mm:ss.SSS",
            }
            yield _transform(name, settings, schema, {"date": ms})
            optional = {**schema, "optional": True}
            yield _transform(name, {**settings, "field": "a"}, *in_field(optional, {"date": ms}))
            yield _transform(name, {**settings, "field": "a"}, *in_field(optional, None))
    for value in ({"float64": "5.5"}, {"boolean": True}, {"bytes": "AA=="}):
        yield _transform(name, {"target.type": "Timestamp"}, None, value)
        yield _transform(name, {"target.type": "Timestamp", "field": "a"}, *in_map(value))


def _routes() -> Iterator[Json]:
    routes = [*product(REGEXES, REPLACEMENTS), *product(BAD_REGEXES, ("$1",))]
    for regex, replacement in routes:
        settings = {"regex": regex, "replacement": replacement}
        yield _transform("RegexRouter", settings, None, None)
    for pattern, ms in product(TIME_PATTERNS, TIMES_MS):
        settings = {"timestamp.format": pattern}
        yield _transform("TimestampRouter", settings, None, None, timestamp=ms)
    for topic_format in TOPIC_FORMATS:
        for pattern in ("yyyy", "'$1'", "'${topic}'"):
            settings = {"topic.format": topic_format, "timestamp.format": pattern}
            yield _transform("TimestampRouter", settings, None, None)


def _paths() -> Iterator[Json]:
    inner = {
        "type": "STRUCT",
        "optional": True,
        "fields": [
            {"name": "c", "schema": {"type": "INT32"}},
            {"name": "c.d", "schema": {"type": "STRING", "optional": True}},
        ],
    }
    members = {"type": "MAP", "key": STRING, "value": {"type": "INT64"}, "optional": True}
    schema = {
        "type": "STRUCT",
        "fields": [
            {"name": "a.b", "schema": {"type": "INT8"}},
            {"name": "a`b", "schema": {"type": "INT16"}},
            {"name": "n", "schema": inner},
            {"name": "m", "schema": members},
        ],
    }
    content = {"struct": {"fields": {"c": {"int32": 1}, "c.d": {"string": "x"}}}}
    counts = {"map": [[{"string": "k"}, {"int64": 1}], [{"string": "k.l"}, {"int64": 2}]]}
    fields = {"a.b": {"int8": 1}, "a`b": {"int16": 2}, "n": content, "m": counts}
    nested = {"map": [[{"string": "c"}, {"int64": 1}], [{"string": "c.d"}, {"string": "x"}]]}
    loose = [["a.b", {"int64": 1}], ["a`b", {"int64": 2}], ["n", nested], ["m", counts]]
    given: list[Pair] = [
        (schema, {"struct": {"fields": fields}}),
        (schema, {"struct": {"fields": {**fields, "n": None, "m": None}}}),
        (None, {"map": [[{"string": name}, value] for name, value in loose]}),
        (None, {"map": [[{"string": "n"}, None], [{"string": "a"}, {"int64": 5}]]}),
        ({**schema, "optional": True}, None),
        (None, None),
    ]
    for path, (schema_of_value, value) in product(PATHS, given):
        settings = {"field": path, "field.syntax.version": "V2"}
        yield _transform("ExtractField$Value", settings, schema_of_value, value)
    for path, (schema_of_value, value) in product(PATHS[:6], given):
        yield _transform("ExtractField$Value", {"field": path}, schema_of_value, value)


def _twice() -> Iterator[Json]:
    """Fields and headers that would be there twice."""
    plain = {"type": "INT64"}
    fields = [{"name": name, "schema": plain} for name in ("a", "b")]
    struct: Pair = (
        {"type": "STRUCT", "fields": fields},
        {"struct": {"fields": {"a": {"int64": 1}, "b": {"int64": 2}}}},
    )
    members: Pair = (
        None,
        {"map": [[{"string": "a"}, {"int64": 1}], [{"string": "b"}, {"int64": 2}]]},
    )
    settings = [
        ("InsertField$Value", {"static.field": "a", "static.value": "x"}),
        ("InsertField$Value", {"topic.field": "t", "timestamp.field": "t"}),
        ("ReplaceField$Value", {"renames": "a:b"}),
        ("ReplaceField$Value", {"renames": "a:b,b:a"}),
        ("ReplaceField$Value", {"renames": "a:c,b:c"}),
        ("ReplaceField$Value", {"renames": "a:b", "exclude": "b"}),
        ("ReplaceField$Value", {"include": "a,a", "exclude": "a"}),
        ("ValueToKey", {"fields": "a,a"}),
        ("HeaderFrom$Value", {"fields": "a,a", "headers": "x,x", "operation": "copy"}),
        ("HeaderFrom$Value", {"fields": "a,a", "headers": "x,y", "operation": "move"}),
        ("Cast$Value", {"spec": "a:int8,a:string"}),
        ("MaskField$Value", {"fields": "a,a"}),
        ("DropHeaders", {"headers": "h,h"}),
    ]
    for (name, each), (schema, value) in product(settings, (struct, members)):
        yield _transform(name, each, schema, value)
    nested = {"type": "STRUCT", "fields": [{"name": "b", "schema": plain}]}
    flat = [{"name": "a", "schema": nested}, {"name": "a.b", "schema": plain}]
    inner = {"struct": {"fields": {"b": {"int64": 1}}}}
    content = {"struct": {"fields": {"a": inner, "a.b": {"int64": 2}}}}
    yield _transform("Flatten$Value", {}, {"type": "STRUCT", "fields": flat}, content)


def _keys() -> Iterator[Json]:
    """``$Key`` with all settings; a sample of the records is enough, since the code is one."""
    every = list(records())
    for name, many in SETTINGS.items():
        for index, settings in enumerate(many[1:]):
            for each in every[index % 7 :: 7]:
                yield case("transform", f"{TRANSFORMS}{name}$Key", settings, record=each)


def nested_values() -> Iterator[Pair]:
    """Every type, with null and with a default, inside of an array, a map, a map's key, structs."""
    plain = [({"type": name}, values[0]) for name, values in PRIMITIVES.items()] + LOGICAL
    for schema, value in plain:
        optional = {**schema, "optional": True}
        yield {"type": "ARRAY", "value": schema}, {"list": [value, value]}
        yield {"type": "ARRAY", "value": optional}, {"list": [None, value]}
        yield {"type": "ARRAY", "value": schema, "optional": True}, None
        yield (
            {"type": "ARRAY", "value": {"type": "ARRAY", "value": optional}},
            {"list": [{"list": [value, None]}, {"list": []}]},
        )
        yield {"type": "MAP", "key": STRING, "value": schema}, {"map": [[{"string": "k"}, value]]}
        yield {"type": "MAP", "key": STRING, "value": optional}, {"map": [[{"string": "k"}, None]]}
        yield {"type": "MAP", "key": schema, "value": STRING}, {"map": [[value, {"string": "v"}]]}
        yield {"type": "ARRAY", "value": schema, "default": {"list": [value]}}, {"list": []}
        deep = in_field(*in_field(*in_field(optional, None)))
        yield deep
        yield in_field({"type": "ARRAY", "value": in_field(schema, value)[0]}, {"list": []})
        inner, content = in_field(optional, value)
        yield {"type": "ARRAY", "value": inner}, {"list": [_with_schema(inner, content)]}
        yield (
            {"type": "MAP", "key": STRING, "value": inner},
            {"map": [[{"string": 'k"\\'}, _with_schema(inner, content)]]},
        )
    for name, default in DEFAULTS.items():
        defaulted = {"type": name, "optional": True, "default": default}
        yield {"type": "ARRAY", "value": defaulted}, {"list": [None]}
        yield {"type": "MAP", "key": STRING, "value": defaulted}, {"map": [[{"string": "k"}, None]]}
        yield in_field(*in_field(defaulted, None))
        yield in_field({**INNER, "optional": True}, None)


def _with_schema(schema: Json, struct: Json) -> Json:
    return {"struct": {**struct["struct"], "schema": schema}}


def _nested_in_transforms() -> Iterator[Json]:
    nested = list(nested_values())
    for name, many in SETTINGS.items():
        for settings in (many[0], many[-1]):
            for schema, value in nested[::3]:
                yield _transform(f"{name}$Value", settings, schema, value)
                yield _transform(f"{name}$Value", settings, *in_field(schema, value))
    masks: list[dict[str, str]] = [
        {"fields": "a"},
        *({"fields": "a", "replacement": text} for text in ("7", "1.5", "x", "300", "-1", "1e3")),
    ]
    plain = [({"type": name}, values[0]) for name, values in PRIMITIVES.items()] + LOGICAL
    for settings, (schema, value) in product(masks, [*plain, *nested[:12]]):
        yield _transform("MaskField$Value", settings, *in_field(schema, value))
        if schema["type"] != "STRUCT" and not _is_narrow(schema):
            yield _transform("MaskField$Value", settings, *in_map(value))


def written_values() -> Iterator[Pair]:
    """Values for every converter: nested ones, odd texts, and what is of another type."""
    yield from nested_values()
    for text in ('"', "\\", "a\\b", "\n", "\x1f", "é😀", "\u2028", "\x7f", "null", "[1]", "{", "/"):
        yield STRING, {"string": text}
        yield {"type": "ARRAY", "value": STRING}, {"list": [{"string": text}]}
        yield None, {"map": [[{"string": text}, {"string": text}]]}
    for text in ("NaN", "Infinity", "-Infinity", "-0.0", "1.0E7", "9999999.0", "0.001", "1.0E-4"):
        yield {"type": "FLOAT64"}, {"float64": text}
        yield {"type": "FLOAT32"}, {"float32": text}
        yield None, {"list": [{"float64": text}]}
    for text in ("0", "0.00", "-1.50", "1E+3", "1E-7", "123456789012345678901234567890.12"):
        scale = str(_scale(text))
        decimal = {"type": "BYTES", "name": f"{CONNECT}Decimal", "parameters": {"scale": scale}}
        yield decimal, {"decimal": text}
        yield {**decimal, "parameters": {"scale": "5"}}, {"decimal": text}
    for name, kind, moments in MOMENTS:
        for ms in moments:
            yield {"type": kind, "name": name, "version": 1}, {"date": ms}
            yield {"type": "ARRAY", "value": {"type": kind, "name": name}}, {"list": [{"date": ms}]}
    odd: tuple[Json, ...] = (
        {"string": "x"},
        {"boolean": True},
        {"list": []},
        {"map": []},
        {"bytes": "AA=="},
    )
    for (schema, _), value in product([*LOGICAL, ({"type": "INT32"}, None), (STRING, None)], odd):
        yield schema, value


def _scale(text: str) -> int:
    digits, _, exponent = text.partition("E")
    return len(digits.partition(".")[2]) - int(exponent or 0)


def _written() -> Iterator[Json]:
    values = list(written_values())
    for name, many in CONVERTER_SETTINGS.items():
        for settings in many:
            config = {"converter.type": "value", **settings}
            for schema, value in values:
                yield case("write", name, config, isKey=False, schema=schema, value=value)
        for schema, value in values[::5]:
            config = {"converter.type": "header", **many[0]}
            yield case("header.write", name, config, schema=schema, value=value)
    for name in HEADER_CONVERTERS:
        for schema, value in values:
            yield case("header.write", name, {}, schema=schema, value=value)


def _predicates() -> Iterator[Json]:
    settings: list[tuple[str, dict[str, str]]] = [
        *(("HasHeaderKey", {"name": name}) for name in ("h", "H", "h ", "", "other", "é")),
        ("HasHeaderKey", {}),
        ("RecordIsTombstone", {}),
        *(
            ("TopicNameMatches", {"pattern": regex})
            for regex in (*REGEXES, *BAD_REGEXES, "o+.*", "^orders.v1$")
        ),
        ("TopicNameMatches", {}),
    ]
    headers = [{"name": name, "schema": None, "value": None} for name in ("h", "h", "é")]
    given = [
        record(None, None),
        record(STRING, {"string": ""}),
        record({**STRING, "optional": True}, None),
        record(None, None, headers=[]),
        record(None, {"map": []}, headers=headers),
        {**record(STRING, {"string": "x"}), "valueSchema": None, "value": None},
        *(record(None, None, topic=topic) for topic in ("", "orders", "ORDERS-v1", "a\nb", "é")),
    ]
    for (name, each), whole in product(settings, given):
        yield case("predicate", f"{TRANSFORMS}predicates.{name}", each, record=whole)
