"""What a report of ``connectd reconcile`` says in words, and what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connectd.connectors.dynamodb.reconciling import (
    Compared,
    Counts,
    Kind,
    names_table,
    owner_of,
    reason_of,
)
from connectd.connectors.dynamodb.second_look import Candidate
from connectd.errors import ConnectdError

CANDIDATES_MAX: Final = 200_000
"""Keys that are looked at a second time: what a busy table changes in an hour, and 100 MB of
memory. A topic that differs in more of them is not merely behind."""

OWNERS_MAX: Final = 5
"""Other tables that are named."""

REASONS_MAX: Final = 3
"""Reasons that are given why items cannot be converted."""


@dataclass
class Leftovers:
    """What a repair does not write, of the keys that were looked at a second time.

    ``nameless``: extra, and the record does not name its table; ``aimless``: extra, and its key
    does not lead back to an item; ``keyless``: extra without a key. ``owners``: the tables that
    hold keys of ours. ``reasons``: the first few why items cannot be converted.
    """

    aimless: int = 0
    nameless: int = 0
    keyless: int = 0
    owners: set[str] = field(default_factory=set)
    reasons: list[str] = field(default_factory=list)

    def add(self, candidate: Candidate) -> None:
        """Count one."""
        reason = reason_of(candidate.expected)
        if reason is not None:
            if reason not in self.reasons and len(self.reasons) < REASONS_MAX:
                self.reasons.append(reason)
            return
        owner = owner_of(candidate.found)
        if owner is not None and len(self.owners) <= OWNERS_MAX:
            self.owners.add(owner)
        if candidate.kind is not Kind.EXTRA:
            return
        if candidate.key is None:
            self.keyless += 1
        elif candidate.item_key is None:
            self.aimless += 1
        elif not names_table(candidate.found):
            self.nameless += 1


def of_way(compared: Compared, asked_of_table: int | None) -> list[str]:
    """How it was compared; ``asked_of_table``: keys looked at again beside an export's."""
    notes = []
    if asked_of_table is not None:
        notes.append(
            f"the table was compared as its export shows it; {asked_of_table} keys that differed "
            "were looked at again in the table itself. Changes made after the export that the "
            "topic lacks are not found"
        )
    if compared is not Compared.DOCUMENTS:
        how = "as JSON" if compared is Compared.JSON else "byte for byte"
        notes.append(
            f"the values are no envelopes of ours and were compared as a whole, {how}; fields "
            "that tell of the change rather than the item (__op, __ts_ms) count as differences"
        )
    return notes


def of_doubt(counts: Counts, looked_at: int, denied: ConnectdError | None) -> list[str]:
    """What may be no difference at all; ``looked_at``: keys that had a second look."""
    if denied is not None:
        return [f"differences were not looked at again: {denied}"]
    beyond = counts.different - looked_at
    if beyond <= 0:
        return []
    return [
        f"{beyond} differences were not looked at again, and may be changes that were on their "
        f"way: of all keys that differ only {CANDIDATES_MAX} are"
    ]


def of_leftovers(left: Leftovers, unrecorded: int, *, removes_extra: bool) -> list[str]:
    """What a repair leaves, and what helps; ``removes_extra``: with ``--repair-extra``.
    ``unrecorded``: items that have no record in the topic."""
    notes = []
    if left.owners:
        names = sorted(left.owners)
        more = ", …" if len(names) > OWNERS_MAX else ""
        notes.append(
            "the last record of keys in conflict is another table's "
            f"({', '.join(names[:OWNERS_MAX])}{more}), so that these tables overwrite one another; "
            "--repair leaves them as they are. Give each table a topic of its own "
            "(kafka.topic.map), or keys that differ, by a transform"
        )
    if left.keyless:
        notes.append(
            f"{left.keyless} extra records have no key: no tombstone can remove them, they stay "
            "until the topic's retention takes them (cleanup.policy=delete)"
        )
    if left.aimless:
        notes.append(_aimless(left, unrecorded, removes_extra=removes_extra))
    if left.nameless and not removes_extra:
        notes.append(
            f"{left.nameless} extra records do not say which table they are of, and might be "
            "another's; --repair leaves them. Where no other table's records are in the topic, "
            "--repair-extra writes their tombstones"
        )
    return notes


def _aimless(left: Leftovers, unrecorded: int, *, removes_extra: bool) -> str:
    found = (
        f"the keys of {left.aimless} extra records do not lead back to an item (a transform, "
        "another converter or somebody else has made them), so that they were looked at again in "
        "the topic alone"
    )
    if not removes_extra:
        return (
            f"{found}; --repair leaves them. Where no other table's records are in the topic, "
            "--repair-extra writes their tombstones"
        )
    if unrecorded:
        return f"{found}. They were left, for they may be of the items that have no record now"
    return (
        f"{found}. They came while the table was read, or stand in a topic that is not named "
        "(--topic), and were left: run it again"
    )


def of_items(counts: Counts, left: Leftovers, policies: Mapping[str, str | None]) -> list[str]:
    """What explains items that the topic lacks; ``policies``: cleanup.policy of each topic."""
    notes = []
    if counts.unconvertible:
        told = "; ".join(left.reasons)
        notes.append(
            f"{counts.unconvertible} items cannot be converted, so that the connector fails at "
            "them, or leaves them out (errors.tolerance=all); mend its transforms and converters"
            f"{f': {told}' if told else ''}"
        )
    if counts.skipped:
        notes.append(
            f"{counts.skipped} items are to have nothing in the topic, which is no difference: a "
            "transform drops them, or makes tombstones of them"
        )
    deleting = [topic for topic, policy in policies.items() if policy and "delete" in policy]
    if deleting and counts.missing:
        notes.append(
            f"cleanup.policy of {', '.join(deleting)} is delete: what is missing may have been "
            "written, and removed by the topic's retention"
        )
    return notes


def absent(topic: str) -> str:
    """A connector that has had nothing to copy."""
    return (
        f"topic {topic} does not exist, and nothing is to be there: the connector makes it with "
        "the first record"
    )


def left_out(topic: str) -> str:
    """The connector's topic without transforms, that nothing goes to with them."""
    return (
        f"no item goes to topic {topic}, so that it was not read; if the connector has ever "
        "written there, name it with --topic"
    )


def asked_again(overtaken: int) -> str:
    """What a repair beside an export has done about changes in that very moment."""
    return (
        "every key that was written was asked of the table once more when Kafka had its record; "
        f"{overtaken} had changed meanwhile, and were compared with the table itself"
    )


def overwritten(keys: int) -> str:
    """Records of other tables that came in the moment of a repair."""
    return (
        f"{keys} keys had a record of another table written in the very moment of the repair, "
        "which has written over it; run connectd reconcile for the other tables of the topic"
    )
