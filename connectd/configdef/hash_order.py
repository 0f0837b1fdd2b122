"""The order in which a Java ``HashMap`` with strings as keys is iterated.

Kafka Connect lists some entries of its answers in that order: settings of converters and clients,
values that nobody declared (spec kafka-connect H.2). It is stable, so clients have seen no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_BUCKETS_MIN: Final = 16
_LOAD_MAX: Final = 0.75


def hash_ordered(names: Iterable[str]) -> list[str]:
    """The names in the order of a map that they were put into one after another."""
    distinct = list(dict.fromkeys(names))
    buckets = _BUCKETS_MIN
    while len(distinct) > buckets * _LOAD_MAX:
        buckets *= 2
    return sorted(distinct, key=lambda name: _bucket(name, buckets))


def _bucket(name: str, buckets: int) -> int:
    code = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return (code ^ code >> 16) & (buckets - 1)
