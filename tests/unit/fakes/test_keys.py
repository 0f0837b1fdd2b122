from __future__ import annotations

import base64
import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.attributes import canonical_number
from tests.fakes.keys import HASH_SPACE, KeySchema, even_ranges, key_at

_NUMBERS = st.decimals(
    allow_nan=False, allow_infinity=False, places=3, min_value=-1e9, max_value=1e9
)
_VALUES = {
    "S": st.text(min_size=1).map(lambda text: text),
    "N": _NUMBERS.map(lambda number: canonical_number(str(number))),
    "B": st.binary(min_size=1).map(lambda raw: base64.b64encode(raw).decode()),
}


@given(st.data(), st.sampled_from("SNB"), st.sampled_from(["", "S", "N", "B"]))
def test_a_position_leads_back_to_its_key(data: Any, hash_type: str, range_type: str) -> None:
    schema = KeySchema("id", hash_type, "rank" if range_type else None, range_type or "S")
    key = {"id": {hash_type: data.draw(_VALUES[hash_type])}}
    if range_type:
        key["rank"] = {range_type: data.draw(_VALUES[range_type])}
    assert schema.key_at(schema.position(key)) == key


@given(st.integers(0, HASH_SPACE - 1))
def test_a_key_can_name_its_own_place(place: int) -> None:
    position = KeySchema("id", "S").position({"id": {"S": key_at(place) + "-more"}})
    assert position.hash == place


@given(st.integers(1, 1000))
def test_even_ranges_cover_the_space_without_overlap(count: int) -> None:
    ranges = even_ranges(count)
    assert len(ranges) == count
    assert ranges[0].low == 0
    assert ranges[-1].high == HASH_SPACE
    assert all(a.high == b.low for a, b in itertools.pairwise(ranges))


def test_numeric_sort_keys_are_in_numeric_order() -> None:
    schema = KeySchema("id", "S", "rank", "N")
    ranks = ["-2", "0.5", "1", "2", "10"]
    positions = [schema.position({"id": {"S": "k"}, "rank": {"N": rank}}) for rank in ranks]
    assert positions == sorted(positions)
