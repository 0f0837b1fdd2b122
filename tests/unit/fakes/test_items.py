from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import bulk
from tests.fakes.attributes import StoredItem, stored
from tests.fakes.items import ItemStore, Page
from tests.fakes.keys import HASH_SPACE, HashRange, KeySchema, Position, key_at

SCHEMA = KeySchema("id", "S")
LOADED = bulk.LoadedItems(bulk.filler("id", 400, seed=3), HashRange(0, HASH_SPACE), 12, seed=3)
_BULK_KEYS = [key_at(LOADED.hash_at(n)) for n in range(LOADED.count)]
_KEYS = st.sampled_from([*_BULK_KEYS, *(f"{key}x" for key in _BULK_KEYS[:3]), "a", "b", "c", "d"])


def _position(key: str) -> Position:
    return SCHEMA.position({"id": {"S": key}})


def _item(key: str, version: int) -> StoredItem:
    return stored({"id": {"S": key}, "v": {"N": str(version)}})


@given(
    is_loaded=st.booleans(),
    writes=st.lists(st.tuples(_KEYS, st.one_of(st.none(), st.integers(0, 9))), max_size=30),
    limit=st.integers(1, 7),
    segments=st.integers(1, 5),
)
def test_a_store_holds_what_a_plain_dict_would(
    is_loaded: bool, writes: list[tuple[str, int | None]], limit: int, segments: int
) -> None:
    store = ItemStore()
    model: dict[Position, StoredItem] = {}
    if is_loaded:
        store.load([LOADED])
        model = {_position(key): LOADED.item(n) for n, key in enumerate(_BULK_KEYS)}
    for key, version in writes:
        item = None if version is None else _item(key, version)
        store.set(_position(key), item)
        model.pop(_position(key), None)
        if item is not None:
            model[_position(key)] = item
    assert store.count == len(model)
    assert store.size_total == sum(item.size for item in model.values())
    assert all(store.get(position) == item for position, item in model.items())

    bounds = [HASH_SPACE * n // segments for n in range(segments + 1)]
    seen: list[bytes] = []
    for low, high in itertools.pairwise(bounds):
        after: Position | None = None
        while True:
            page = Page(count_max=limit, bytes_max=1 << 20)
            store.read(page, low, high, after)
            seen += page.wires
            if page.last is None:
                break
            assert len(page.wires) == limit
            after = page.last
    assert seen == [model[position].wire for position in sorted(model)]


def test_a_page_ends_with_the_item_that_takes_it_over_its_size() -> None:
    store = ItemStore()
    store.load([LOADED])
    size = LOADED.item(0).size
    page = Page(count_max=100, bytes_max=size * 2)
    store.read(page, 0, HASH_SPACE)
    assert len(page.wires) == 3
    assert page.last == _position(_BULK_KEYS[2])
