"""The matrix of what is read: bytes for every converter, well-formed and not, and texts of headers.

Kept apart from ``cases``, which has the values that are written; both are one list of families.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from itertools import product
from typing import Any

Json = Any
CONNECT = "org.apache.kafka.connect."
JSON_CONVERTER = f"{CONNECT}json.JsonConverter"
STRING_CONVERTER = f"{CONNECT}storage.StringConverter"
HEADER_CONVERTER = f"{CONNECT}storage.SimpleHeaderConverter"
DATA = f"{CONNECT}data."

PAYLOADS = [
    *("null", "true", "false", "0", "-0", "1", "-1", "127", "128", "300", "-32769", "70000"),
    *("2147483647", "2147483648", "-2147483649", "1614834367089", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775809", "1" + "0" * 30, "007", "-01", "00.5"),
    *("1.0", "-1.75", "0.1", "-0.0", "1e3", "1E-5", "1.50e2", "3.4e39", "1e400", "1e-400"),
    *("12345678901234567890.123456789", "16777217.0000000001", "1e-2147483648", "0.00"),
    *('""', '"12"', '"abc"', '"AP8="', '"AP8"', '"A P8="', '" AP8= "', '"AP8=AP8="', '"AB=="'),
    *('"\\u00e9\\ud83d\\ude00"', '"é😀"', '"\\ud800"', '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"NaN"'),
    *("[]", "[1]", "[null]", '["a",2,true]', "[[1],[2.5]]", '[["a",1]]', '[[1,"a"]]', "[[1]]"),
    *("{}", '{"a":1}', '{"a":"x","b":2}', '{"a":null}', '{"b":1}', '{"a":1,"a":2}', '{"":1}'),
    *('{"a":{"a":1}}', '{"a":[1,{"b":null}]}', "86399999", "86400000", "86400001", "-86400000"),
    *('{"k":3000000000}', '["MTI=",12.50]', "18690", "-719162", "1253402300799999"),
]
SCHEMAS: list[Json] = [
    *({"type": kind} for kind in ("int8", "int16", "int32", "int64", "float", "double")),
    *({"type": kind} for kind in ("boolean", "string", "bytes")),
    {"type": "string", "optional": True, "default": "d", "name": "n", "version": 3, "doc": "x"},
    {"type": "int32", "optional": True, "default": 7},
    {"type": "int64", "default": -5, "parameters": {"p": "q", "r": ""}},
    {"type": "bytes", "optional": True, "default": "AP8="},
    {"type": "double", "optional": True},
    {"type": "bytes", "name": f"{DATA}Decimal", "version": 1, "parameters": {"scale": "2"}},
    {"type": "bytes", "name": f"{DATA}Decimal", "parameters": {"scale": "x"}},
    {"type": "bytes", "name": f"{DATA}Decimal", "optional": True},
    {
        "type": "bytes",
        "name": f"{DATA}Decimal",
        "parameters": {"scale": "0"},
        "default": "AQ==",
    },
    {"type": "int32", "name": f"{DATA}Date", "version": 1, "optional": True, "default": 1},
    {"type": "int32", "name": f"{DATA}Time", "version": 1},
    {"type": "int64", "name": f"{DATA}Timestamp", "version": 1},
    {"type": "string", "name": f"{DATA}Timestamp"},
    {"type": "array", "items": {"type": "int32"}},
    {"type": "array", "items": {"type": "string", "optional": True}, "optional": True},
    {"type": "array", "items": {"type": "string"}, "default": ["a"]},
    {"type": "map", "keys": {"type": "string"}, "values": {"type": "int64"}},
    {"type": "map", "keys": {"type": "string"}, "values": {"type": "string", "optional": True}},
    {"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}},
    {"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}, "default": {"k": 1}},
]
FIELD_SCHEMAS: list[Json] = [
    *SCHEMAS,
    {"type": "array", "items": {"type": "string"}},
    {"type": "map", "keys": {"type": "string"}, "values": {"type": "bytes"}},
    {"type": "struct", "fields": [{"type": "int32", "optional": True, "field": "a"}]},
]
BAD_SCHEMAS = [
    *("{}", "1", '"string"', "[]", "true", '{"type":1}', '{"type":"no"}', '{"type":"STRING"}'),
    *('{"type":"array"}', '{"type":"array","items":null}', '{"type":"array","items":{}}'),
    *('{"type":"map"}', '{"type":"map","keys":{"type":"string"}}', '{"type":"map","values":1}'),
    '{"type":"map","keys":null,"values":{"type":"int8"}}',
    '{"type":"map","keys":{"type":"int8"},"values":null}',
    *('{"type":"struct"}', '{"type":"struct","fields":{}}', '{"type":"struct","fields":[]}'),
    *('{"type":"struct","fields":[1]}', '{"type":"struct","fields":[{"type":"int8"}]}'),
    '{"type":"struct","fields":[{"field":"a"}]}',
    '{"type":"struct","fields":[null]}',
    '{"type":"struct","fields":[{"field":"","type":"int8"}]}',
    '{"type":"struct","fields":[{"field":"a","type":"int8"},{"field":"a","type":"int8"}]}',
    '{"type":"int8","parameters":{"p":1}}',
    *('{"type":"int8","parameters":[]}', '{"type":"int8","optional":"true","name":1,"doc":2}'),
    *('{"type":"int8","version":1.5}', '{"type":"int8","version":"1"}'),
    *('{"type":"int8","version":4294967297}', '{"type":"int8","default":null}'),
    *('{"type":"int8","default":"x"}', '{"type":"string","default":1}'),
    *('{"type":"string","optional":true,"default":1}', '{"type":"int8","default":300}'),
    *('{"type":"string","optional":true,"default":null}', '{"type":"bytes","default":"="}'),
    '{"type":"array","items":{"type":"string"},"default":[1]}',
    '{"type":"map","keys":{"type":"string"},"values":{"type":"string"},"default":{"a":1}}',
    '{"type":"struct","fields":[{"field":"a","type":"int8"}],"default":{"a":2}}',
    '{"type":"struct","fields":[{"field":"a","type":"int8"}],"default":{}}',
]
ODD_DOCUMENTS: list[bytes] = [
    *(b"", b" ", b"\n\t", b"{", b"}", b"[", b"]", b"[1,]", b"[,1]", b"[1 2]", b'{"a"}', b'{"a":}'),
    *(b'{"a":1,}', b"{a:1}", b"{'a':1}", b"{1:2}", b'"a', b'"\x01"', b'"\\x"', b'"\\u12"', b"'a'"),
    *(b"NaN", b"Infinity", b"-Infinity", b"+1", b"-", b".5", b"1.", b"1.e5", b"1e", b"1e+", b"--1"),
    *(b"tru", b"truex", b"true1", b"true x", b"nul", b"None", b"nullnull", b"True", b"/*c*/1"),
    *(b"//c\n1", b"1 x", b"1x", b"1,2", b"1]", b"{}x", b"[]]", b'"a"b', b"1 2", b"\xef\xbb\xbf1"),
    *(b"\xff", b'"\xff"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b"1\xff", b"1 \xff"),
    *(b"[1]\xff", b'"\x7f"', b'"\xe2\x80\xa8"', b"\x00", b"1\x00", b'{"a":1}\x00', b"\x0b1"),
    *(b"[" * 100 + b"]" * 100, b"[" * 300 + b"]" * 300, b"[" * 1001 + b"]" * 1001, b"[" * 5000),
    *(b'{"a":' * 100 + b"1" + b"}" * 100, b"1" * 1000, b"1" * 1001, b"1e99999999999"),
    *(b"1e2147483647", b"1e-2147483647", b"1e2147483648", b"0." + b"1" * 998, b"0." + b"1" * 999),
    *('{"a":"é"}'.encode(coding) for coding in ("utf-16-be", "utf-16-le", "utf-32-be", "utf-16")),
    b'{"schema":null,"payload":1}',
    b'{"payload":1,"schema":null}',
    b'{"schema":null,"payload":1,"x":2}',
    b'{"schema":null}',
    b'{"payload":1}',
    b'{"schema":null,"schema":null,"payload":1}',
    b'{"schema":null,"payload":{"schema":1,"payload":[1.5,"x",null]}}',
    b'[{"schema":null,"payload":1}]',
    b'{"Schema":null,"payload":1}',
]
NUMBERS = [bytes(range(1, n + 1)) for n in range(10)] + [
    *(b"\xff" * n for n in (1, 2, 4, 8)),
    *(b"\x00" * n for n in (1, 2, 4, 8)),
    *(b"\x7f\xc0\x00\x00", b"\x7f\x80\x00\x00", b"\x00\x00\x00\x01", b"\x3d\xcc\xcc\xcd"),
    *(b"\x7f\xf8" + b"\x00" * 6, b"\xff\xf0" + b"\x00" * 6, b"\x00" * 7 + b"\x01"),
]
TEXTS = [
    *(b"", b"abc", "é😀".encode(), b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\x00"),
    *(b"\xef\xbb\xbfx", b"\xfe\xff\x00a", b"\xff\xfea\x00", b"\x00a", b"\xc0\x80", b"\xd8\x00"),
]


def reading_cases() -> Iterator[Json]:
    """Every converter, reading."""
    yield from _json_cases()
    for encoding in ("UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE", "ISO-8859-1", "US-ASCII"):
        for data in (None, *TEXTS):
            yield _read(STRING_CONVERTER, {"converter.encoding": encoding}, data)
    for name in ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Short"):
        for data in (None, *NUMBERS):
            yield _read(f"{CONNECT}converters.{name}Converter", {}, data)


def _json_cases() -> Iterator[Json]:
    plain, with_schemas = {"schemas.enable": "false"}, {"schemas.enable": "true"}
    for settings in (plain, with_schemas):
        yield _read(JSON_CONVERTER, settings, None)
        for document in ODD_DOCUMENTS:
            yield _read(JSON_CONVERTER, settings, document)
    for payload in PAYLOADS:
        yield _read(JSON_CONVERTER, plain, payload.encode())
        yield _read(JSON_CONVERTER, with_schemas, _enveloped("null", payload))
    for schema, payload in product(SCHEMAS, PAYLOADS):
        yield _read(JSON_CONVERTER, with_schemas, _enveloped(json.dumps(schema), payload))
    for schema, payload in product(FIELD_SCHEMAS, PAYLOADS):
        yield _read(JSON_CONVERTER, with_schemas, _enveloped(*_in_struct(schema, payload)))
    for settings in ({"replace.null.with.default": "false"}, {"decimal.format": "NUMERIC"}):
        for schema, payload in product(SCHEMAS, ("null", "1", '"AP8="', "12.50", '{"a":null}')):
            document = _enveloped(json.dumps(schema), payload)
            yield _read(JSON_CONVERTER, {**with_schemas, **settings}, document)
            document = _enveloped(*_in_struct(schema, payload))
            yield _read(JSON_CONVERTER, {**with_schemas, **settings}, document)
    for schema in BAD_SCHEMAS:
        for payload in ("null", "1"):
            yield _read(JSON_CONVERTER, with_schemas, _enveloped(schema, payload))
        yield _read(JSON_CONVERTER, {**with_schemas, "schema.content": schema}, b"null")
    for content in ("", " ", "null", "x", "{", '{"type":"int8"} x', json.dumps(SCHEMAS[9])):
        for data in (None, b"", b"null", b"1", b'"t"', _enveloped("null", "1"), b"{"):
            for settings in (plain, with_schemas):
                yield _read(JSON_CONVERTER, {**settings, "schema.content": content}, data)
    struct, member = _in_struct({"type": "int32", "optional": True}, "5")
    lists = {"type": "array", "items": {"type": "int8"}}
    for payload in ("[]", "[[[1],2]]", "[[[],2],[[],3]]"):
        schema = json.dumps({"type": "map", "keys": lists, "values": {"type": "int8"}})
        yield _read(JSON_CONVERTER, with_schemas, _enveloped(schema, payload))
    for document in (member.encode(), b"", b"[]", b"null", b'{"a":null}', b"{}"):
        yield _read(JSON_CONVERTER, {**with_schemas, "schema.content": struct}, document)


def _in_struct(schema: Json, payload: str) -> tuple[str, str]:
    """A struct with such a field ``a`` and another one, and a payload of it."""
    fields = [{**schema, "field": "a"}, {"type": "string", "optional": True, "field": "b"}]
    return json.dumps({"type": "struct", "fields": fields, "name": "rec"}), f'{{"a":{payload}}}'


def _enveloped(schema: str, payload: str) -> bytes:
    return f'{{"schema":{schema},"payload":{payload}}}'.encode()


def _read(name: str, settings: dict[str, str], data: bytes | None) -> Json:
    text = None if data is None else base64.b64encode(data).decode()
    config = {"converter.type": "value", **settings}
    return {"kind": "read", "class": name, "config": config, "isKey": False, "bytes": text}


# -- headers --------------------------------------------------------------------------------------

WORDS = ("null", "true", "false", "True", "abc", "a b", "é😀", "NaN", "12 monkeys", "-", "+", ".5")
NUMBER_TEXTS = (
    *("0", "1", "-1", "+5", "007", "-0", "127", "128", "-128", "-129", "32767", "32768", "70000"),
    *("2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "1.0", "1.50"),
    *("-9223372036854775808", "-9223372036854775809", "99999999999999999999", "0.0", "0.1", "1."),
    *("1e3", "1E3", "1e-3", "1.5e300", "1e20", "1e400", "-1e400", "1e-400", "3.4e38", "3.5e38"),
    *("1_000", "0x10", "0x1p3", "1f", "1d", "1L", "1e", "1e+", "1e99999999999", "--1"),
    *("\uff11\uff12", "\u0663", "\u00b2"),
    *("16777217.0000000001", "12345678901234567890.5", "0.000", "1e2147483647", "+.5", "1.2.3"),
    *("0.30000000000000004", "100000000000000000000.00", "1e19", "1.0e19", "12345678901234567890"),
)
DATED_TEXTS = (
    *("2020-02-20", "2020-02-31", "2020-13-45", "1969-12-31", "0001-01-01", "9999-12-31"),
    *("12:13:14.555Z", "00:00:00.000Z", "23:59:59.999Z", "25:61:61.000Z", "1:2:3.456Zab"),
    *("2020-02-20T01:02:03.004Z", "2020-02-20T01:02:03Z", "2020-02-30T25:02:03.004Z"),
    *("2020-2-1xx", "2020-02-2", "20200220", "1234567890", "12:13:14", "12:13:14.55Z"),
    *("2020-02-20 ", " 2020-02-20", "2020/02/20", "2020-02-20T01:02:03.004+01", "1970-01-01"),
    *("12\\:13\\:14.555Z", "2020-02-20T01\\:02\\:03.004Z", "-020-02-20", "2020--2-20"),
    *("99:00:00.000Z", "12:13:14.5555", "12:13:14.555z", "٢٠٢٠-٠٢-٢٠"),
)
QUOTED = ('"q"', '""', '" "', '"a b"', '"a, b"', '"a\\"b"', '"a\\\\b"', '"2020-02-20"', '"12"')
BLANK_FORMS = ("{}", " {}", "{} ", "  {}  ", "\t{}\n")
LIST_FORMS = ("[{}]", "[ {} ]", "[{},{}]", "[{}", "[{},]", "[,{}]", "[[{}]]", "[{}]x", "x[{}]")
MAP_FORMS = ('{{"k":{}}}', "{{{}:1}}", '{{ "k" : {} }}', '{{"k":{}', '{{"k":[{}]}}', '{{"k" {}}}')
MIXED = (
    *("[1,300]", "[1,70000]", "[1,1.5]", "[1.5,1]", "[1,1e300]", "[1.5,1.7e300]", '[1,"a"]'),
    *("[1,null]", "[null,1]", "[null]", "[null,null]", "[true,1]", "[true,false]", "[]", "[ ]"),
    *('["2020-02-20",1]', '[1,"2020-02-20"]', '[70000,"2020-02-20"]', '["2020-02-20",70000]'),
    *('["12:13:14.555Z",1]', '["12:13:14.555Z","2020-02-20"]', '["2020-02-20","12:13:14.555Z"]'),
    *('["2020-02-20T01:02:03.004Z",5]', '[5,"2020-02-20T01:02:03.004Z"]', "[99999999999,1.5]"),
    *("[1e400,1e500]", "[99999999999999999999,1e400]", "[1,99999999999999999999]", "[[1],[1.5]]"),
    *('[[1],["a"]]', '[[1],{"a":1}]', '[{"a":1},{"b":"x"}]', "[[],[1]]", "[[null],[1]]"),
    *("{}", "{ }", "{null:1}", '{"a":1,"b":2}', '{"a":1,"b":300}', '{"a":1,"b":"x"}', "{1:2,3:4}"),
    *('{"a":null}', '{"a":null,"b":1}', '{"a":1,"b":null}', '{"a":1,2:3}', '{"a":1 "b":2}'),
    *(
        '{"a":1,}',
        '{,"a":1}',
        '{"a":1,,"b":2}',
        '{"a"}',
        '{"a":}',
        '{"a",1}',
        '{"a":1}}',
        "{[1]:1}",
    ),
    *('{"a":1,"a":2}', "{1:1,1.0:2}", "{true:1}", '{"2020-02-20":1}', '{{"a":1}:2}', '{"a":{}}'),
    *("7,8", "7:8", "7]", "7}", '7"', "true,false", "true}", "null,null", "a,b", "a:b", ",", ":"),
    *("]", "}", "[", "{", '"', "\\", "\\[1]", "[1\\,2]", '["a","b"]', '["a" "b"]', '["a]', "[a]"),
    *('["a",b]', "[1 2]", "[1,2]]", "[1,2] [3]", '{"a":1} b', "[[[[1]]]]", "[" * 50 + "]" * 50),
    *('[" a"]', '["a "]', '["[1]"]', '["{1:2}"]', '["a:b,c"]', '["\\"q\\\\"]', '["é😀"]', '["\t"]'),
    *(" ", "  ", "\n", "\u00a0", "\u00a05", "5\u00a0", "\u3000", " ,a", "[1,\n2]", "[\t]", "[ , ]"),
    *('["a: :b"]', '["a  ,  b"]', '{"a b":" c d "}', '{"a":"b"', "[12:13:14.555Z]", "[2020-02-20]"),
    *(
        "{12:13:14.555Z:1}",
        "{1:12:13:14.555Z}",
        "[2020-02-20T01:02:03.004Z,null]",
        "[-]",
        "[+1,-1]",
    ),
    *("[1e3]", "[007]", "[12a]", "[truely]", "[ true ]", "[null ]", "{ true : null }", "[.5]"),
)


def header_reading_texts() -> Iterator[str]:
    """All texts, each once."""
    scalars = (*WORDS, *NUMBER_TEXTS, *DATED_TEXTS, *QUOTED)
    found = [form.format(each) for each in scalars for form in BLANK_FORMS[:3]]
    few = ("1", "300", "1.5", "true", "null", "abc", '"a"', '"2020-02-20"', "12:13:14.555Z", "")
    found += [form.format(*[each] * 2) for each in few for form in (*LIST_FORMS, *MAP_FORMS)]
    found += [form.format(each) for each in few for form in BLANK_FORMS]
    found += [form.format(each) for each in (*NUMBER_TEXTS, *DATED_TEXTS) for form in ("[{}]",)]
    found += MIXED
    yield from dict.fromkeys(found)


def header_reading_cases() -> Iterator[Json]:
    """The texts as headers, and as literals of InsertHeader; bytes that are none."""
    for text in header_reading_texts():
        yield _header(HEADER_CONVERTER, {}, text.encode())
    for data in (None, *TEXTS, b"[\xff]", b"[" * 5000):
        yield _header(HEADER_CONVERTER, {}, data)
    for name in ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Short"):
        for data in (None, b"", b"\x01", b"\x01\x02", b"\x00" * 4, b"\x00" * 8):
            yield _header(f"{CONNECT}converters.{name}Converter", {}, data)
    for data in (None, b"", b"abc"):
        yield _header(STRING_CONVERTER, {}, data)
    for data in (None, b"", b"1", b'{"schema":{"type":"int8"},"payload":1}', b"{"):
        for enabled in ("true", "false"):
            yield _header(JSON_CONVERTER, {"schemas.enable": enabled}, data)


def _header(name: str, settings: dict[str, str], data: bytes | None) -> Json:
    text = None if data is None else base64.b64encode(data).decode()
    config = {"converter.type": "header", **settings}
    return {"kind": "header.read", "class": name, "config": config, "bytes": text}
