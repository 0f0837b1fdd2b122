"""Moving only what has to move (spec kafka-connect C.5.5): a pure function, and what it remembers.

A member that vanishes may come back, after a restart: what it ran waits for it for
``scheduled.rebalance.max.delay.ms``, and only then goes to others. Java's leader does not know the
worker again that has come back, and lets it wait as well; here a new member that is reached where
the lost one was is that worker, and gets its own back at once. What a new member is to get is
first taken from those who have it, and given in the next round, when they have let go of it: so no
task ever runs twice. The leader remembers the round before; a new leader remembers nothing, and
hands out at once what nobody runs.

``round_of`` is one round: memory and facts in, memory and shares out. Times in milliseconds, on a
clock that the caller chooses. Steps are numbered as in the spec.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group.shares import NOTHING, Share, union

T = TypeVar("T", str, ConnectorTaskId)

_BACKOFF_BASE: Final = 40
_BACKOFF_EXPONENT_MAX: Final = 10


@dataclass(frozen=True)
class Memory:
    """What a leader knows of its last round; ``scheduled_ms`` 0: no rebalance is scheduled.

    ``candidates`` are members that ran nothing while lost work waits: they are probably the lost
    member itself, come back, and get its work when the wait is over. ``homes`` is where each member
    is reached and what it was given, of lost ones as long as their work waits.
    """

    assignment: Share = NOTHING
    revocation: Share = NOTHING
    generation: int = -1
    members: frozenset[str] = frozenset()
    homes: Mapping[str, tuple[str, Share]] = field(default_factory=dict)
    candidates: frozenset[str] = frozenset()
    scheduled_ms: int = 0
    delay_ms: int = 0
    has_revoked: bool = False
    revoking_rounds: int = 0


@dataclass(frozen=True)
class Facts:
    """What is known in a round: ``running`` by member, as they say, and what is configured.

    ``last_generation`` is that of the last assignment this leader has seen completed; ``urls`` is
    where members are reached.
    """

    running: Mapping[str, Share]
    configured: Share
    last_generation: int
    generation: int
    now_ms: int
    delay_max_ms: int
    urls: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What members are to start and to stop, what each runs then, and when to meet again."""

    assigned: Mapping[str, Share]
    revoked: Mapping[str, Share]
    whole: Mapping[str, Share]
    delay_ms: int


@dataclass
class _Work:
    """The round's scratch pad."""

    memory: Memory
    next: dict[str, Share]
    revoked: dict[str, Share]
    to_assign: Share = field(default=NOTHING)


def round_of(memory: Memory, facts: Facts) -> tuple[Memory, Outcome]:
    """One round of the leader; there is at least one member."""
    active = union(facts.running.values())
    memory = _recalled(memory, facts, active)
    deleted = memory.assignment - facts.configured  # step 4
    lost = memory.assignment - active - deleted
    created = facts.configured - memory.assignment - active
    gone = deleted | _duplicated(facts.running)
    work = _Work(
        memory,
        next={member: share - gone for member, share in facts.running.items()},  # step 5
        revoked={member: share & gone for member, share in facts.running.items()},
    )
    back = _give_back(work, facts, lost)
    lost -= back
    if lost or not back:
        _handle_lost(work, facts, lost)
    else:
        work.memory = _without_delay(memory)
    _balance(work, facts)
    _assign(work.next, created | work.to_assign)  # step 8
    whole = {member: share - work.revoked[member] for member, share in work.next.items()}
    outcome = Outcome(
        assigned={member: share - facts.running[member] for member, share in whole.items()},
        revoked=work.revoked,
        whole=whole,
        delay_ms=work.memory.delay_ms,
    )
    revoked = union(work.revoked.values())
    remembered = replace(  # step 10
        work.memory,
        assignment=(union(work.next.values()) - revoked) | lost,
        revocation=revoked,
        generation=facts.generation,
        members=frozenset(facts.running),
        homes=_homes(memory, facts, whole, lost),
    )
    return remembered, outcome


def _recalled(memory: Memory, facts: Facts, active: Share) -> Memory:
    """Steps 1 to 3: what the memory is worth, when rounds were missed or not obeyed."""
    if memory.generation != facts.last_generation:
        memory = replace(memory, assignment=NOTHING)
    if memory.revocation & active:
        memory = replace(memory, assignment=active)
    return replace(memory, revocation=NOTHING)


def _duplicated(running: Mapping[str, Share]) -> Share:
    seen = twice = NOTHING
    for share in running.values():
        twice |= seen & share
        seen |= share
    return twice


def _give_back(work: _Work, facts: Facts, lost: Share) -> Share:
    """What workers have lost that are members again under another id goes back to them."""
    back = NOTHING
    newcomers = facts.running.keys() - work.memory.members
    new_by_url = {facts.urls.get(member): member for member in sorted(newcomers)}
    for member, (url, share) in work.memory.homes.items():
        newcomer = new_by_url.get(url)
        if member in facts.running or newcomer is None:
            continue
        own = (share & lost) - back
        work.next[newcomer] |= own
        back |= own
    return back


def _homes(
    memory: Memory, facts: Facts, whole: Mapping[str, Share], lost: Share
) -> dict[str, tuple[str, Share]]:
    waiting = lost - union(whole.values())
    gone = {
        member: (url, share & waiting)
        for member, (url, share) in memory.homes.items()
        if member not in whole and share & waiting
    }
    return gone | {member: (facts.urls.get(member, ""), whole[member]) for member in whole}


def _handle_lost(work: _Work, facts: Facts, lost: Share) -> None:
    """Step 6: work of members that have vanished waits for them, once."""
    memory, now_ms = work.memory, facts.now_ms
    if not lost and not memory.has_revoked:
        work.memory = _without_delay(memory)
        return
    has_nobody_left = memory.members <= facts.running.keys()
    if (memory.scheduled_ms <= 0 and has_nobody_left) or facts.delay_max_ms == 0:
        work.to_assign = lost
        return
    if 0 < memory.scheduled_ms <= now_ms:
        waiting = sorted(memory.candidates & work.next.keys())
        if waiting:
            _hand_out(work.next, waiting, lost)
        else:
            work.to_assign = lost
        work.memory = replace(_without_delay(memory), has_revoked=False)
        return
    idle = frozenset(member for member, share in work.next.items() if not share)
    left_ms = memory.scheduled_ms - now_ms
    delay_ms = left_ms if left_ms > 0 else facts.delay_max_ms
    work.memory = replace(
        memory,
        candidates=memory.candidates | idle,
        delay_ms=delay_ms,
        scheduled_ms=now_ms + delay_ms,
    )


def _without_delay(memory: Memory) -> Memory:
    return replace(memory, candidates=frozenset(), scheduled_ms=0, delay_ms=0)


def _hand_out(shares: dict[str, Share], members: Sequence[str], lost: Share) -> None:
    for member, connector in zip(itertools.cycle(members), sorted(lost.connectors), strict=False):
        shares[member] |= Share(connectors=frozenset({connector}))
    for member, task in zip(itertools.cycle(members), sorted(lost.tasks), strict=False):
        shares[member] |= Share(tasks=frozenset({task}))


def _balance(work: _Work, facts: Facts) -> None:
    """Step 7: take from those who have too much, though not in every round."""
    memory = work.memory
    if memory.delay_ms:
        work.memory = replace(memory, has_revoked=False)
        return
    surplus = _surplus(work.next, facts.configured)
    if not any(surplus.values()):
        work.memory = replace(
            memory,
            has_revoked=False,
            revoking_rounds=0 if memory.has_revoked else memory.revoking_rounds,
        )
        return
    if memory.has_revoked:
        rounds = memory.revoking_rounds + 1
        delay_ms = min(_BACKOFF_BASE ** min(rounds, _BACKOFF_EXPONENT_MAX), facts.delay_max_ms)
        memory = replace(memory, revoking_rounds=rounds, delay_ms=delay_ms)
        if delay_ms:
            work.memory = replace(memory, scheduled_ms=facts.now_ms + delay_ms)
            return
    work.memory = replace(memory, has_revoked=True)
    for member, share in surplus.items():
        work.revoked[member] |= share
        work.next[member] -= share


def _surplus(shares: Mapping[str, Share], configured: Share) -> dict[str, Share]:
    connectors = _too_many(
        {member: sorted(share.connectors) for member, share in shares.items()},
        len(configured.connectors),
    )
    tasks = _too_many(
        {member: sorted(share.tasks) for member, share in shares.items()}, len(configured.tasks)
    )
    return {
        member: Share(frozenset(connectors[member]), frozenset(tasks[member])) for member in shares
    }


def _too_many(items: Mapping[str, list[T]], total: int) -> dict[str, list[T]]:
    """What each has above its part of ``total``; of those with more, some may keep one more."""
    least, extras = divmod(total, len(items))
    sizes = [len(each) for each in items.values()]
    is_even = sizes.count(least + 1) == extras and sizes.count(least) == len(sizes) - extras
    surplus: dict[str, list[T]] = {member: [] for member in items}
    if total == 0 or not any(sizes) or is_even:
        return surplus
    for member in sorted(items):
        if len(items[member]) <= least:
            continue
        kept = least + 1 if extras > 0 else least
        extras -= 1
        surplus[member] = items[member][kept:]
    return surplus


def _assign(shares: dict[str, Share], share: Share) -> None:
    """Step 8: to whoever has least of that kind, the member id deciding between equals."""
    connectors = {member: set(each.connectors) for member, each in shares.items()}
    _deal_out(connectors, sorted(share.connectors), lambda member: len(connectors[member]))
    tasks = {member: set(each.tasks) for member, each in shares.items()}
    _deal_out(tasks, sorted(share.tasks), lambda member: len(tasks[member]))
    for member in shares:
        shares[member] = Share(frozenset(connectors[member]), frozenset(tasks[member]))


def _deal_out(held: Mapping[str, set[T]], items: Sequence[T], load: Callable[[str], int]) -> None:
    members = sorted(held, key=lambda member: (load(member), member))
    left = iter(items)
    while True:
        least = load(members[0])
        for member in members:
            if load(member) > least:
                break
            item = next(left, None)
            if item is None:
                return
            held[member].add(item)
