"""Damaged JSON: what a walk over bytes could trip over. Deterministic for a ``Random``."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

_TOKENS: Final = (
    *(b'{"S":', b'{"N":', b'{"B":', b'{"M":{', b'{"L":[', b'{"SS":[', b'{"NS":[', b'{"BS":['),
    *(b'{"BOOL":true}', b'{"BOOL":null}', b'{"NULL":true}', b'{"NULL":false}', b'{"NULL":1}'),
    *(b'"', b"\\", b'\\"', b"\\u", b"\\u00", b"\\ud83d", b"\\ude00", b"\\ud83d\\ude00", b"\\x"),
    *(b"\\u0000", b"\\u001f", b"\\u007F", b"\\/", b"{", b"}", b"[", b"]", b":", b",", b",,"),
    *(b" ", b"\n", b"\t", b"\x00", b"\x1f", b"\x7f", b"\x80", b"\xbf", b"\xc0\x80", b"\xc3"),
    *(b"\xe0\x80\x80", b"\xe2\x82", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xf0\x9f\x98\x80"),
    *(b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98", b"\xff", b"\xfe", b"0", b"-1e5"),
    *(b"null", b"true", b"false", b"{}", b"[]", b'""', b'"S"', b'"id":{"S":"again"},'),
    *(b'{"S":"a","S":"b"}', b'{"S":{"S":"a"}}', b'{"L":""}', b'{"L":{}}', b'{"M":[]}', b'{"s":'),
    *(b"[" * 70, b'{"L":[' * 70, b'{"M":{"a":' * 40, b"x" * 9, b"A" * 300),
)


def _delete(text: bytearray, random: Random) -> None:
    start = random.randrange(len(text))
    del text[start : start + random.choice((1, 1, 1, 2, 8))]


def _insert(text: bytearray, random: Random) -> None:
    start = random.randrange(len(text) + 1)
    text[start:start] = random.choice(_TOKENS)


def _replace(text: bytearray, random: Random) -> None:
    start, token = random.randrange(len(text)), random.choice(_TOKENS)
    text[start : start + len(token)] = token


def _flip(text: bytearray, random: Random) -> None:
    text[random.randrange(len(text))] ^= 1 << random.randrange(8)


def _set(text: bytearray, random: Random) -> None:
    text[random.randrange(len(text))] = random.randrange(256)


def _repeat(text: bytearray, random: Random) -> None:
    start = random.randrange(len(text))
    piece = text[start : start + random.randrange(1, 40)]
    at = random.choice((start, random.randrange(len(text) + 1)))
    text[at:at] = piece


def _cut(text: bytearray, random: Random) -> None:
    del text[random.randrange(len(text)) :]


def _swap(text: bytearray, random: Random) -> None:
    """Exchange two tokens: names, letters and contents change their places."""
    parts = bytes(text).split(b'"')
    first, second = random.randrange(len(parts)), random.randrange(len(parts))
    parts[first], parts[second] = parts[second], parts[first]
    text[:] = b'"'.join(parts)


_DAMAGES: Final[tuple[Callable[[bytearray, Random], None], ...]] = (
    _delete, _insert, _insert, _replace, _flip, _set, _repeat, _cut, _swap, _swap,
)  # fmt: skip


def damaged(text: bytes, random: Random) -> bytes:
    """The text with one or a few faults."""
    broken = bytearray(text)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        if broken:
            random.choice(_DAMAGES)(broken, random)
    return bytes(broken)
