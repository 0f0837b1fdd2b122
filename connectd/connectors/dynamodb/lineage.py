"""The shards of a table's stream: which to read, from where, and what is missing.

A shard closes when its partition splits, moves, or after about four hours; its children take over,
and hold the later changes of the same items. So a child is read only after its parent has been read
to its end and that end is durable, and always from its beginning. The oldest unsealed shards carry
the position of their lineage: if what lies behind it may have been trimmed, changes are lost.

Facts: spec streams-and-leases 4.5 (shards) and 2.2 (a listing is read page by page, so it may show
an open parent beside its child, or not yet show a child). Decisions that follow:

* Listings find new shards; they never end known ones. A known shard that is not listed is read
  until the service says that it is gone.
* A position that is fresh (younger than the windows) cannot have lost anything, even if its whole
  shard is gone: everything made before it was handed over, everything after it is still there.
* A shard that is not known but has known descendants with progress was finished and forgotten.

Pure: listings, positions and the time in, a plan out. ``stream_sync`` performs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.offsets import PositionKind, ShardPosition
from connectd.connectors.dynamodb.source_api import Shard

_SHARD_ID: Final = re.compile(r"shardId-(?P<born_ms>[0-9]{20})-")
"""Spec streams-and-leases 4.1."""

Positions = Mapping[str, ShardPosition]


@dataclass(frozen=True)
class Windows:
    """Ages in milliseconds: what the stream keeps, and what is trusted without asking."""

    retention_ms: int
    safe_zone_ms: int


@dataclass(frozen=True)
class Baseline:
    """Where unknown shards begin while nothing is known yet."""

    stream_arn: str
    init_sync_start_ms: int
    position_ms: int


@dataclass(frozen=True)
class Plan:
    """What to do about the shards of a stream.

    ``read``: positions of all shards that may be read now. ``adopted``: those of them that were
    not known before. ``waiting``: shards whose parents are not sealed. ``leaves``: sealed shards
    whose children have not been seen. ``orphans``: shards with an unknown parent although
    everything known is fresh; a listing that hides something. ``forgettable``: sealed and no
    longer listed, with known children that do not need them. ``gaps``: what is lost.
    """

    read: tuple[ShardPosition, ...] = ()
    adopted: tuple[ShardPosition, ...] = ()
    waiting: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    forgettable: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()


def open_shards(listed: Iterable[Shard]) -> frozenset[str]:
    """Shards that may still grow: without an end, and without a child in the same listing."""
    shards = tuple(listed)
    parents = {shard.parent_shard_id for shard in shards}
    return frozenset(
        shard.shard_id
        for shard in shards
        if shard.ending_sequence_number is None and shard.shard_id not in parents
    )


def hidden_parents(listed: Iterable[Shard], *, now_ms: int, windows: Windows) -> frozenset[str]:
    """Parents that must exist although a listing does not show them.

    A parent is unlisted when it was trimmed, which takes a whole retention from the moment in which
    its child was born; the child's id tells that moment. So a young child of an unlisted parent
    means that the listing, which is read page by page, has not caught up.
    """
    shards = tuple(listed)
    names = {shard.shard_id for shard in shards}
    return frozenset(
        shard.parent_shard_id
        for shard in shards
        if shard.parent_shard_id is not None
        and shard.parent_shard_id not in names
        and now_ms - _born_ms(shard.shard_id) < windows.safe_zone_ms
    )


def _born_ms(shard_id: str) -> int:
    """When a shard was born, by its id; 0 for ids that do not tell (emulators)."""
    match = _SHARD_ID.match(shard_id)
    return 0 if match is None else int(match["born_ms"])


def first_positions(
    listed: Iterable[Shard], baseline: Baseline, *, latest: bool = False
) -> tuple[ShardPosition, ...]:
    """Positions of all listed shards when the table is met for the first time.

    From TRIM_HORIZON: every shard at its beginning. From LATEST: open shards are pinned at their
    tips, closed ones count as read.
    """
    shards = tuple(listed)
    still_open = open_shards(shards)

    def kind(shard: Shard) -> PositionKind:
        if not latest:
            return PositionKind.TRIM_HORIZON
        is_open = shard.shard_id in still_open
        return PositionKind.LATEST if is_open else PositionKind.SHARD_END

    return tuple(
        ShardPosition(
            shard_id=shard.shard_id,
            stream_arn=baseline.stream_arn,
            init_sync_start_ms=baseline.init_sync_start_ms,
            kind=kind(shard),
            position_ms=baseline.position_ms,
            parent_shard_id=shard.parent_shard_id,
            pinned_at_ms=baseline.position_ms if latest else None,
        )
        for shard in shards
    )


def plan_reading(
    listed: Iterable[Shard],
    positions: Positions,
    *,
    now_ms: int,
    windows: Windows,
    live: AbstractSet[str] = frozenset(),
) -> Plan:
    """What to read of a stream of which something is known.

    ``positions`` are not empty; SHARD_END in them means that this end is durable. ``live`` names
    shards that are being read or were sealed by this process: their readers notice losses
    themselves, their age says nothing.
    """
    planner = _Planner(listed, positions, now_ms, windows, live)
    for position in positions.values():
        if not position.is_sealed:
            planner.place_known(position)
    for shard in planner.listed.values():
        planner.place_unknown(shard)
    return planner.plan()


def readable_unlisted(
    positions: Positions, *, now_ms: int, windows: Windows
) -> tuple[ShardPosition, ...]:
    """What may be read on before there is a listing: nothing that it could show would matter.

    That is a position fresh enough to be trusted whether its shard is listed or not, whose parent
    is none, is sealed, or, because the shard itself has been begun, must have been.
    """
    found = []
    for position in positions.values():
        parent = positions.get(position.parent_shard_id or "")
        if position.is_sealed or (parent is not None and not parent.is_sealed):
            continue
        is_root = position.parent_shard_id is None or parent is not None
        if position.kind is PositionKind.TRIM_HORIZON and not is_root:
            continue
        if parent is not None and position.is_sentinel:
            position = position.known_good_at(parent.position_ms)
        if gap_of_age(position, is_listed=False, now_ms=now_ms, windows=windows) is None:
            found.append(position)
    return tuple(found)


def gap_of_age(
    position: ShardPosition, *, is_listed: bool, now_ms: int, windows: Windows
) -> Gap | None:
    """The gap that the age of an unsealed position stands for, if any.

    A position at the beginning of a shard, or in a shard that is gone, is trusted within the safe
    zone. A sequence number is trusted as long as the stream keeps it: within that time the service
    itself refuses it when it is trimmed.
    """
    age_ms = now_ms - position.position_ms
    age_text = f"last known good {age_ms / 3_600_000:.1f} hours ago"
    if not is_listed and age_ms > windows.safe_zone_ms:
        kind, detail = GapKind.SHARD_UNLISTED, f"was not read to its end and is gone, {age_text}"
    elif position.is_sentinel and age_ms > windows.safe_zone_ms:
        kind, detail = GapKind.POSITION_TOO_OLD, f"has not been read yet, {age_text}"
    elif age_ms > windows.retention_ms:
        kind, detail = GapKind.POSITION_TOO_OLD, f"was not read to its end, {age_text}"
    else:
        return None
    detail = f"shard {position.shard_id} {detail}"
    return Gap(kind, detail, shard_id=position.shard_id, since_ms=position.position_ms)


def gap_of_orphan(shard_id: str, parent_id: str, since_ms: int) -> Gap:
    """The gap before a shard whose parent is neither known nor listed."""
    detail = f"shard {shard_id} follows shard {parent_id}, which is gone and was never read"
    return Gap(GapKind.LINEAGE_UNKNOWN, detail, shard_id=shard_id, since_ms=since_ms)


def after_skipping(gap: Gap, positions: Positions, *, now_ms: int) -> ShardPosition | None:
    """The position with which the shard of a gap goes on when the gap is let pass.

    None: the gap is not that of one known shard.
    """
    position = None if gap.shard_id is None else positions.get(gap.shard_id)
    if position is None:
        return None
    if gap.kind is GapKind.SHARD_UNLISTED:
        return position.sealed()
    return ShardPosition(
        shard_id=position.shard_id,
        stream_arn=position.stream_arn,
        init_sync_start_ms=position.init_sync_start_ms,
        kind=PositionKind.TRIM_HORIZON,
        position_ms=now_ms,
        parent_shard_id=position.parent_shard_id,
        pinned_at_ms=position.pinned_at_ms,
    )


def adopt(
    shard: Shard, positions: Positions, parent: ShardPosition | None, position_ms: int
) -> ShardPosition:
    """The first position of a shard that appeared later: its beginning, whatever the start was.

    What is known to be handed over before it is what its parent stands for.
    """
    known = parent if parent is not None else next(iter(positions.values()))
    return ShardPosition(
        shard_id=shard.shard_id,
        stream_arn=known.stream_arn,
        init_sync_start_ms=known.init_sync_start_ms,
        kind=PositionKind.TRIM_HORIZON,
        position_ms=parent.position_ms if parent is not None else position_ms,
        parent_shard_id=shard.parent_shard_id,
    )


def frontier(positions: Positions) -> tuple[ShardPosition, ...]:
    """The positions that stand for their lineages: what was made before them is handed over.

    Not those that wait for a parent, nor those that a known child continues.
    """
    continued = {each.parent_shard_id for each in positions.values()}
    found = []
    for position in positions.values():
        parent = positions.get(position.parent_shard_id or "")
        if position.is_sealed and position.shard_id in continued:
            continue
        if parent is not None and not parent.is_sealed:
            continue
        if parent is not None and position.is_sentinel:
            position = position.known_good_at(parent.position_ms)
        found.append(position)
    return tuple(found)


class _Planner:
    """One plan under construction: every shard is placed once."""

    def __init__(
        self,
        listed: Iterable[Shard],
        positions: Positions,
        now_ms: int,
        windows: Windows,
        live: AbstractSet[str],
    ) -> None:
        self.listed = {shard.shard_id: shard for shard in listed}
        self._positions = positions
        self._now_ms = now_ms
        self._windows = windows
        self._live = live
        self._newest_ms = max(position.position_ms for position in positions.values())
        self._forgotten = self._ancestors_of_progress()
        self._read: list[ShardPosition] = []
        self._adopted: list[ShardPosition] = []
        self._waiting: list[str] = []
        self._orphans: list[str] = []
        self._gaps: list[Gap] = []

    def place_known(self, position: ShardPosition) -> None:
        """An unsealed shard with a position."""
        if self._is_blocked(position.parent_shard_id):
            # Its own age says nothing while an older shard carries the position of the lineage.
            self._waiting.append(position.shard_id)
            return
        is_live = position.shard_id in self._live
        parent = self._positions.get(position.parent_shard_id or "")
        if parent is not None and position.is_sentinel:
            # It was waiting until now: what its parent stands for, it stands for.
            position = position.known_good_at(parent.position_ms)
            is_live = is_live or parent.shard_id in self._live
        if is_live or not self._is_lost(position):
            self._read.append(position)

    def place_unknown(self, shard: Shard) -> None:
        """A listed shard; those with a position, or finished long ago, are passed over."""
        if shard.shard_id in self._positions or shard.shard_id in self._forgotten:
            return
        parent_id = shard.parent_shard_id
        parent = None if parent_id is None else self._positions.get(parent_id)
        if self._is_blocked(parent_id):
            self._waiting.append(shard.shard_id)
        elif parent is None and parent_id is not None:
            self._place_orphan(shard.shard_id, parent_id)
        else:
            position = adopt(shard, self._positions, parent, self._newest_ms)
            is_live = parent is not None and parent.shard_id in self._live
            if is_live or not self._is_lost(position):
                self._adopted.append(position)
                self._read.append(position)

    def plan(self) -> Plan:
        """What has been placed."""
        parents_listed = {shard.parent_shard_id for shard in self.listed.values()}
        parents_known = {position.parent_shard_id for position in self._positions.values()}
        sealed = sorted(name for name, each in self._positions.items() if each.is_sealed)
        return Plan(
            read=tuple(self._read),
            adopted=tuple(self._adopted),
            waiting=tuple(sorted(self._waiting)),
            leaves=tuple(
                name
                for name in sealed
                if name in self.listed and name not in parents_listed | parents_known
            ),
            orphans=tuple(sorted(self._orphans)),
            forgettable=tuple(
                name for name in sealed if name not in self.listed and name in parents_known
            ),
            gaps=tuple(self._gaps),
        )

    def _place_orphan(self, shard_id: str, parent_id: str) -> None:
        if self._now_ms - self._newest_ms <= self._windows.safe_zone_ms:
            self._orphans.append(shard_id)
        else:
            self._gaps.append(gap_of_orphan(shard_id, parent_id, self._newest_ms))

    def _is_lost(self, position: ShardPosition) -> bool:
        gap = gap_of_age(
            position,
            is_listed=position.shard_id in self.listed,
            now_ms=self._now_ms,
            windows=self._windows,
        )
        if gap is not None:
            self._gaps.append(gap)
        return gap is not None

    def _is_blocked(self, parent_id: str | None) -> bool:
        """Whether an ancestor is still to be read. A parent may be trimmed and known to nobody."""
        if parent_id is None:
            return False
        parent = self._positions.get(parent_id)
        if parent is not None:
            return not parent.is_sealed
        return parent_id in self.listed and parent_id not in self._forgotten

    def _ancestors_of_progress(self) -> frozenset[str]:
        """Unknown ancestors of shards that have been begun: finished, and forgotten since."""
        found: set[str] = set()
        for position in self._positions.values():
            if position.kind is PositionKind.TRIM_HORIZON:
                continue
            parent_id = position.parent_shard_id
            while parent_id is not None and parent_id not in self._positions:
                if parent_id in found:
                    break
                found.add(parent_id)
                parent = self.listed.get(parent_id)
                parent_id = None if parent is None else parent.parent_shard_id
        return frozenset(found)
