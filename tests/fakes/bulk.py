"""Items and stream records by the million, made when they are read.

Nothing is stored per item: an item is a text template filled with its hash and a counter, and an
index tells its hash. So a table of a million items costs no memory, a page costs less than a
microsecond per item, and every run with one seed gives the same bytes.

An item has eleven attributes (S, N, BOOL, NULL, SS, M, L; quotes and non-ASCII text in some) and
``item_bytes`` bytes of wire JSON, as in spec performance, "Data". Its attribute ``version`` is
odd and unique within a shard, so every state of an item is different.

Stream records come in cycles, e.g. two INSERTs, one MODIFY, one REMOVE for a mix of 50/25/25.
Within a cycle each key lives a true life: inserted, modified, perhaps removed, in this order.
"""

from __future__ import annotations

import bisect
import math
import random
from dataclasses import dataclass
from typing import NamedTuple

from tests.fakes.attributes import Item, StoredItem, canonical_item, encode
from tests.fakes.items import Page
from tests.fakes.keys import HashRange, key_at
from tests.fakes.records import RecordFormat

VARIANTS = 64
VERSION_START = 1_000_000_001
ITEM_BYTES_MIN = 330
_PLACEHOLDER_HASH = 0x0123456789ABCDEF
_PLACEHOLDER_VERSION = 9_876_543_211
_CITIES = ("Århus", "København", "Zürich", "Saint-Denis", "東京", "New York")
_WORDS = ("alpha", "bravo", 'ch"arlie', "delta", "ech\\o", "föxtrot", "golf", "hôtel")


class Filler(NamedTuple):
    """Item templates: ``wire % (hash, version)`` is an item of ``size`` bytes by AWS's rules."""

    wires: list[bytes]
    sizes: list[int]
    hash_name: str

    def item(self, hash_: int, number: int) -> StoredItem:
        """The state of an item that its write number ``number`` left."""
        variant = number % VARIANTS
        version = VERSION_START + 2 * number
        return StoredItem(self.wires[variant] % (hash_, version), self.sizes[variant])


def filler(hash_name: str, item_bytes: int, seed: int) -> Filler:
    """Make the templates for items of ``item_bytes`` bytes of wire JSON."""
    if item_bytes < ITEM_BYTES_MIN:
        raise ValueError(f"bulk items of {item_bytes} bytes: expected {ITEM_BYTES_MIN} or more")
    random_ = random.Random(seed)
    if hash_name in _specimen("", random_) or hash_name > "version":
        raise ValueError(f"bulk items with the key {hash_name!r}: expected another name, e.g. id")
    wires, sizes = [], []
    for _ in range(VARIANTS):
        item = _specimen(hash_name, random_)
        missing = item_bytes - len(encode(item))
        item["payload"]["S"] += "".join(random_.choices("abcdefgh ijklmnop", k=missing))
        canonical, size = canonical_item(item)
        template = encode(canonical).replace(b"%", b"%%")
        template = template.replace(b"%016x" % _PLACEHOLDER_HASH, b"%016x")
        wires.append(template.replace(b"%d" % _PLACEHOLDER_VERSION, b"%d"))
        sizes.append(size)
    return Filler(wires, sizes, hash_name)


def _specimen(hash_name: str, random_: random.Random) -> Item:
    words = random_.sample(_WORDS, 4)
    return {
        hash_name: {"S": key_at(_PLACEHOLDER_HASH)},
        "version": {"N": str(_PLACEHOLDER_VERSION)},
        "active": {"BOOL": random_.random() < 0.5},
        "city": {"S": random_.choice(_CITIES)},
        "labels": {"SS": sorted(words[:2])},
        "meta": {"M": {"M": {"S": words[2]}, "weight": {"N": str(random_.randrange(1, 999))}}},
        "name": {"S": words[3]},
        "note": {"NULL": True},
        "payload": {"S": ""},
        "price": {"N": f"{random_.randrange(100, 999)}.{random_.randrange(1, 9)}"},
        "tags": {"L": [{"S": words[0]}, {"N": str(random_.randrange(9))}]},
    }


class LoadedItems:
    """``count`` items, spread evenly over the whole hash space."""

    def __init__(self, filling: Filler, hashes: HashRange, count: int, seed: int) -> None:
        self.count = count
        self._filling = filling
        self._stride = (hashes.high - hashes.low) // count
        self._origin = hashes.low + random.Random(seed).randrange(self._stride)
        whole, rest = divmod(count, VARIANTS)
        self.size_total = whole * sum(filling.sizes) + sum(filling.sizes[:rest])

    def hash_at(self, index: int) -> int:
        """The hash of an item."""
        return self._origin + index * self._stride

    def item(self, index: int) -> StoredItem:
        """The item itself."""
        return self._filling.item(self.hash_at(index), index)

    def read(self, page: Page, first: int, end: int) -> int | None:
        """Put items on a page; written out flat, because benchmarks wait for this loop."""
        wires, sizes, add = self._filling.wires, self._filling.sizes, page.wires.append
        size, bytes_max = page.size, page.bytes_max
        stop = min(end, first + page.count_max - len(page.wires))
        hash_, version = self.hash_at(first), VERSION_START + 2 * first
        last = None
        for index in range(first, stop):
            variant = index % VARIANTS
            add(wires[variant] % (hash_, version))
            size += sizes[variant]
            if size > bytes_max:
                last = index
                break
            hash_ += self._stride
            version += 2
        else:
            if len(page.wires) >= page.count_max:
                last = stop - 1
        page.size = size
        return last

    def index_from(self, hash_: int) -> int:
        """The first index whose hash is at least ``hash_``."""
        return min(self.count, max(0, -((self._origin - hash_) // self._stride)))


@dataclass(frozen=True, slots=True)
class _Slot:
    """One record of a cycle: what happens to which of the cycle's keys."""

    event_name: str
    key: int
    previous: int | None  # the slot that wrote the key before


class Cycle:
    """The order of events that repeats through a shard's records."""

    def __init__(self, inserts: int, modifies: int, removes: int) -> None:
        if inserts < 1 or min(modifies, removes) < 0 or removes > inserts:
            raise ValueError(
                f"a mix of {inserts} INSERT, {modifies} MODIFY, {removes} REMOVE: expected at "
                "least one INSERT and no more REMOVEs than INSERTs"
            )
        shrink = math.gcd(inserts, modifies, removes)
        self.inserts = inserts // shrink
        last: dict[int, int] = {}
        self.slots: list[_Slot] = []
        events = [("INSERT", key) for key in range(self.inserts)]
        events += [("MODIFY", n % self.inserts) for n in range(modifies // shrink)]
        events += [("REMOVE", self.inserts - 1 - n) for n in range(removes // shrink)]
        for at, (event_name, key) in enumerate(events):
            self.slots.append(_Slot(event_name, key, last.get(key)))
            last[key] = at
        self.length = len(self.slots)
        removed = removes // shrink
        self.survivors = [(key, last[key]) for key in range(self.inserts - removed)]


class _Template(NamedTuple):
    """The text of one record of the period, with ``%b`` where hash, versions and numbers go."""

    wire: bytes
    size: int  # SizeBytes
    key: int  # which of the cycle's keys
    shows_new: bool
    back: int | None  # how many positions ago the old image was written, if it is shown


class ChangeRun:
    """The bulk records of one shard; see ``shards.BulkRun``."""

    def __init__(
        self,
        filling: Filler,
        format_: RecordFormat,
        cycle: Cycle,
        hashes: HashRange,
        *,
        cycles: int,
        first_sequence: int,
        sequence_step: int,
        created_s: int,
        seed: int,
    ) -> None:
        self.count = cycles * cycle.length
        self.created_s = created_s
        self.cycles = cycles
        self.cycle = cycle
        self.filling = filling
        self.stride = (hashes.high - hashes.low) // (cycles * cycle.inserts)
        self.origin = hashes.low + random.Random(seed).randrange(self.stride)
        self._format = format_
        self._first_sequence = first_sequence
        self._step = sequence_step
        # An event id ends in the sequence number; its head is constant while that keeps its length.
        first, last = b"%d" % first_sequence, b"%d" % self.sequence(self.count)
        if len(first) != len(last):
            raise ValueError(f"bulk records from {first!r} to {last!r}: the length changes")
        self._id_head = format_.event_id(first).removesuffix(first)
        # Slots and variants repeat together after so many positions.
        self._period = math.lcm(cycle.length, VARIANTS)
        self._templates: dict[int, _Template] = {}

    def sequence(self, position: int) -> int:
        """The record's sequence number."""
        return self._first_sequence + position * self._step

    def read(self, position: int, stop: int, bytes_max: int) -> tuple[list[bytes], int]:
        """The records up to ``stop`` or ``bytes_max``, at least one, and their ``SizeBytes``.

        Written out flat, because benchmarks wait for this loop.
        """
        records: list[bytes] = []
        add, templates, period = records.append, self._templates, self._period
        length, inserts = self.cycle.length, self.cycle.inserts
        total = 0
        for at in range(position, stop):
            template = templates.get(at % period) or self._template(at % period)
            wire, size, key, shows_new, back = template
            total += size
            if total > bytes_max and records:
                total -= size
                break
            hash_ = b"%016x" % (self.origin + (at // length * inserts + key) * self.stride)
            sequence = b"%d" % (self._first_sequence + at * self._step)
            if back is None:
                if shows_new:
                    add(wire % (hash_, hash_, b"%d" % (VERSION_START + 2 * at), sequence, sequence))
                else:
                    add(wire % (hash_, sequence, sequence))
            else:
                old = b"%d" % (VERSION_START + 2 * (at - back))
                if shows_new:
                    new = b"%d" % (VERSION_START + 2 * at)
                    add(wire % (hash_, hash_, new, hash_, old, sequence, sequence))
                else:
                    add(wire % (hash_, hash_, old, sequence, sequence))
        return records, total

    def _template(self, at: int) -> _Template:
        slot_at = at % self.cycle.length
        slot = self.cycle.slots[slot_at]
        size = len(self.filling.hash_name.encode()) + len(key_at(0))
        shows_new = slot.event_name != "REMOVE" and self._format.has_new
        new = old = back = None
        if shows_new:
            new, new_size = self._image(at)
            size += new_size
        if slot.previous is not None and self._format.has_old:
            back = slot_at - slot.previous
            old, old_size = self._image(at - back)
            size += old_size
        wire = self._format.assemble(
            created_s=self.created_s,
            keys=b'{"%b":{"S":"~%%b"}}' % self.filling.hash_name.encode().replace(b"%", b"%%"),
            new=new,
            old=old,
            sequence=b"%b",
            size=size,
            event_id=self._id_head + b"%b",
            event_name=slot.event_name,
        )
        template = _Template(wire, size, slot.key, shows_new, back)
        self._templates[at] = template
        return template

    def _image(self, number: int) -> tuple[bytes, int]:
        variant = number % VARIANTS
        wire = self.filling.wires[variant].replace(b"%016x", b"%b").replace(b"%d", b"%b")
        return wire, self.filling.sizes[variant]


class SurvivingItems:
    """The items that a run of changes leaves in its shard's range; see ``items.BulkItems``."""

    def __init__(self, run: ChangeRun) -> None:
        self._run = run
        self._keys = [key for key, _ in run.cycle.survivors]
        self.count = run.cycles * len(self._keys)
        self.size_total = sum(self.item(n).size for n in range(min(self.count, VARIANTS)))
        if self.count > VARIANTS:  # sizes repeat; good enough for TableSizeBytes, which AWS rounds
            self.size_total = self.size_total * self.count // VARIANTS

    def hash_at(self, index: int) -> int:
        """The hash of an item."""
        number, at = divmod(index, len(self._keys))
        run = self._run
        return run.origin + (number * run.cycle.inserts + self._keys[at]) * run.stride

    def item(self, index: int) -> StoredItem:
        """The item as its last change left it."""
        number, at = divmod(index, len(self._keys))
        _, last_slot = self._run.cycle.survivors[at]
        return self._run.filling.item(
            self.hash_at(index), number * self._run.cycle.length + last_slot
        )

    def read(self, page: Page, first: int, end: int) -> int | None:
        """Put items on a page."""
        return next((index for index in range(first, end) if page.add(self.item(index))), None)

    def index_from(self, hash_: int) -> int:
        """The first index whose hash is at least ``hash_``."""
        run = self._run
        key = max(0, -((run.origin - hash_) // run.stride))
        number, within = divmod(key, run.cycle.inserts)
        return min(self.count, number * len(self._keys) + bisect.bisect_left(self._keys, within))
