"""``connectd reconcile`` against a worker, a table and a topic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connectd import cli
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import free_ports
from tests.harness.worker import properties_text
from tests.integration.worker_rig import Rig, prefix_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

CapSys = pytest.CaptureFixture[str]

ALL_TYPES: dict[str, Any] = {
    "s": {"S": 'zähle "bis" ✓'},
    "n": {"N": "12345678901234567890.123456789012345678"},
    "b": {"B": "AAEC/w=="},
    "yes": {"BOOL": True},
    "nothing": {"NULL": True},
    "ss": {"SS": ["b", "a"]},
    "ns": {"NS": ["2", "1.5"]},
    "bs": {"BS": ["AQ==", "AA=="]},
    "m": {"M": {"M": {"S": "inner"}, "a.b": {"L": [{"N": "1"}, {"B": "AA=="}]}}},
    "l": {"L": [{"S": "x"}, {"SS": ["y"]}]},
}


@pytest.fixture(scope="module")
def shared(kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(kafka_broker, prefix_of(__name__), tmp_path_factory.mktemp("worker")) as rig:
        yield rig


@pytest.fixture
def rig(shared: Rig) -> Iterator[Rig]:
    with shared.lent() as rig:
        yield rig


@dataclass
class Outcome:
    """How a run of the command ended."""

    code: int
    report: Any
    err: str

    @property
    def differences(self) -> set[tuple[str, str]]:
        """Kind and id of each."""
        return {(each["kind"], each["key"]["id"]) for each in self.report["differences"]}


class Command:
    """``connectd reconcile`` of the rig's connector and table ``t``."""

    def __init__(self, rig: Rig, capsys: CapSys, home: Path) -> None:
        self._rig = rig
        self._capsys = capsys
        self.worker_file = home / "worker.properties"
        self.worker_file.write_text(properties_text(rig.worker.properties), encoding="utf-8")

    def __call__(
        self,
        *arguments: str,
        settle: str = "0",
        connector: str | None = None,
        table: str = "t",
        source: tuple[str, ...] | None = None,
    ) -> Outcome:
        where = source or ("--url", self._rig.worker.rest_url)
        name = connector or self._rig.name
        self._capsys.readouterr()
        code = cli.main(
            ["reconcile", name, table, "-w", str(self.worker_file), "--json",
             "--settle", settle, *where, *arguments]
        )  # fmt: skip
        out, err = self._capsys.readouterr()
        return Outcome(code, json.loads(out) if out else None, err)


@pytest.fixture
def reconcile(rig: Rig, capsys: CapSys, tmp_path: Path) -> Command:
    return Command(rig, capsys, tmp_path)


def stopped(rig: Rig) -> None:
    """Stop the connector: from here on its topic does not follow."""
    rig.expect(204, "PUT", f"{rig.path}/stop")
    rig.wait_states("STOPPED")


def in_sync(rig: Rig, items: int = 3, **keys: str) -> None:
    rig.create_table("t", items=items)
    rig.create(dynamodb__table__whitelist="t", **keys)
    rig.wait_following("t")


ENVELOPES = {
    "0.1 typed": {"envelope__version": "0.1"},
    "1.0 with schemas": {
        "envelope__version": "1.0",
        "key__converter": "JsonConverter",
        "value__converter": "JsonConverter",
    },
    "0.1 plain with old images": {
        "document__format": "plain",
        "include__old__image": "true",
        "include__user__identity": "true",
    },
}


@pytest.mark.parametrize("keys", ENVELOPES.values(), ids=ENVELOPES)
def test_a_topic_that_followed_its_table_equals_it(
    rig: Rig, reconcile: Command, keys: dict[str, str]
) -> None:
    in_sync(rig, **keys)
    rig.put("t", 1, **ALL_TYPES)
    rig.put("t", 7, **ALL_TYPES)
    rig.control.delete(table="t", key={"id": {"S": "k2"}})
    rig.wait_records("t", 7)

    outcome = reconcile()

    assert outcome.code == 0, outcome
    assert outcome.report["equal"] is True
    assert outcome.report["compared"] == "documents"
    assert outcome.report["topics"] == [rig.topic("t")]
    assert outcome.report["counts"] == {
        "items": 3, "records": 7, "keys": 3, "equal": 3, "missing": 0, "stale": 0, "extra": 0,
        "skipped": 0, "foreign": 0, "unchecked": 0,
    }  # fmt: skip


def test_what_is_missing_stale_and_extra_is_told_and_repaired(rig: Rig, reconcile: Command) -> None:
    in_sync(rig, items=5)
    stopped(rig)
    rig.put("t", 1, **ALL_TYPES)
    rig.put("t", 8, **ALL_TYPES)
    rig.control.delete(table="t", key={"id": {"S": "k2"}})

    told = reconcile()
    repaired = reconcile("--repair")
    after = reconcile()

    assert told.code == 1
    assert told.differences == {("stale", "k1"), ("missing", "k8"), ("extra", "k2")}
    assert told.report["repaired"] is None
    assert told.report["counts"]["unchecked"] == 0
    assert repaired.code == 0, repaired
    assert repaired.report["repaired"] == {"records": 2, "tombstones": 1}
    assert (after.code, after.report["counts"]["equal"]) == (0, 5)
    rig.assert_topic_equals_table("t")
    assert rig.ops("t")[-2:] == ["r", "r"]
