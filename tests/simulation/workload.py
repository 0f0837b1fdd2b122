"""A table under load, and the oracle of what its topic must hold.

Every write carries a version that no other write has (attribute ``v``), so a record tells which
write it stands for. Three things must hold once everything has come to rest, whatever was killed:

1. the last record of each key equals the table (``tests.harness.compare``);
2. every version ever written is in the topic, since all writes are younger than the lookback;
3. per key, stream records appear for the first time in the order of the writes. Replays may follow.
"""

from __future__ import annotations

import json
import random
import threading
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.process import RemoteControl
from tests.harness.compare import compare_items_with_records
from tests.harness.topics import TopicRecord, read_topic

KEYS = 400
DELETE_SHARE = 0.15


@dataclass
class Workload:
    """Writes to one table from a thread of its own; ``stop`` ends it."""

    control: RemoteControl
    table: str
    seed: int
    writes_max: int
    pause_s: float = 0.002
    version: int = 0
    error: Exception | None = None
    _thread: threading.Thread | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)

    def load(self, count: int) -> None:
        """The items that are there before the connector is."""
        for number in range(count):
            self._put(number % KEYS)

    def start(self) -> None:
        """Write until ``writes_max`` writes are done, or ``stop``."""
        self._thread = threading.Thread(target=self._run, name=f"load-{self.table}", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the thread still writes."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """End the thread; raises what stopped it before."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(30)
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        dice = random.Random(self.seed)
        try:
            for _ in range(self.writes_max):
                # A few keys are hot: their order is the hardest to keep.
                number = dice.randrange(KEYS) if dice.random() < 0.7 else dice.randrange(5)
                if dice.random() < DELETE_SHARE:
                    self.control.delete(table=self.table, key={"id": {"S": f"key-{number}"}})
                else:
                    self._put(number)
                if self._stopped.wait(self.pause_s):
                    return
        except Exception as error:
            self.error = error

    def _put(self, number: int) -> None:
        self.version += 1
        item = {
            "id": {"S": f"key-{number}"},
            "v": {"N": str(self.version)},
            "m": {"M": {"M": {"L": [{"S": "é"}, {"NULL": True}]}}},
            "b": {"B": "AP8="},
        }
        self.control.put(table=self.table, item=item)


@dataclass(frozen=True)
class Verdict:
    """What the topic lacks; empty means that all promises held."""

    faults: tuple[str, ...]
    records: int
    writes: int

    @property
    def replay_share(self) -> float:
        """Records beyond one per write (scan rows included), relative to the writes."""
        return max(0.0, self.records / max(1, self.writes) - 1.0)


def judge(control: RemoteControl, table: str, bootstrap: str, topic: str) -> Verdict:
    """Compare the topic with the table and its history; the table must be at rest."""
    records = list(read_topic(bootstrap, topic))
    faults = []
    comparison = compare_items_with_records(control.table_items(table=table), records, topic)
    if not comparison.equal:
        faults.append(str(comparison))
    histories = control.history(table=table)
    by_key = _versions_by_key(records)
    writes = 0
    for history in histories:
        key = history["key"]["id"]["S"]
        written = [int(state["v"]["N"]) for state in history["states"] if state is not None]
        writes += len(history["states"])
        faults.extend(_faults_of_key(key, written, by_key.get(key, [])))
    return Verdict(tuple(faults[:10]), len(records), writes)


def _faults_of_key(key: str, written: list[int], seen: list[tuple[str, int]]) -> list[str]:
    faults = []
    missing = sorted(set(written) - {version for _, version in seen})
    if missing:
        faults.append(f"{key}: versions never seen in the topic: {missing[:5]}")
    first_seen: list[int] = []
    for op, version in seen:
        if op != "r" and version not in first_seen:
            first_seen.append(version)
    if first_seen != sorted(first_seen):
        faults.append(f"{key}: stream records out of order: {first_seen[:20]}")
    return faults


def _versions_by_key(records: list[TopicRecord]) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for record in records:
        value: Any = record.value_json
        if value is None or not value["document"]:
            continue
        document = json.loads(value["document"])
        if "v" in document:
            entry = (str(value["op"]), int(document["v"]["n"]))
            found.setdefault(record.key_json["id"], []).append(entry)
    return found
