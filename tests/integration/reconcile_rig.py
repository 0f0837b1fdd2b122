"""``connectd reconcile`` of a rig's connector, with a worker and without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from connectd import cli
from tests.component.dynamodb.exports import data_file, files_manifest, summary
from tests.fakes.objects import Objects
from tests.harness.worker import properties_text
from tests.integration.worker_rig import Rig

CapSys = pytest.CaptureFixture[str]

EXPORT = "s3://exports/some/AWSDynamoDB/01693685827463-2d8752fd"
EXPORT_ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/t/export/01693685827463-2d8752fd"

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


Alone = Callable[..., Outcome]
"""The command with a connector's config of its own, in a file."""


def alone_with(rig: Rig, reconcile: Command, home: Path) -> Alone:
    """For table ``t``, which gets two items and has no topic yet."""
    rig.create_table("t", view_type=None)
    rig.put("t", 1, **ALL_TYPES)
    rig.put("t", 2, tenant={"S": "acme"})

    def run(*arguments: str, table: str = "t", **keys: str) -> Outcome:
        file = home / "connector.json"
        config = rig.config(dynamodb__table__whitelist=table, **keys)
        file.write_text(json.dumps({"name": rig.name, "config": config}))
        return reconcile(*arguments, table=table, source=("--file", str(file)))

    return run


def stopped(rig: Rig) -> None:
    """Stop the connector: from here on its topic does not follow."""
    rig.expect(204, "PUT", f"{rig.path}/stop")
    rig.wait_states("STOPPED")


def in_sync(rig: Rig, items: int = 3, /, **keys: str) -> None:
    rig.create_table("t", items=items)
    rig.create(dynamodb__table__whitelist="t", **keys)
    rig.wait_following("t")


def exported(numbers: Iterable[int]) -> Objects:
    """What a full export of these items leaves in S3."""
    items = [{"id": {"S": f"k{number}"}} for number in numbers]
    folder = EXPORT.removeprefix("s3://exports/")
    data, files = f"{folder}/data/a.json.gz", f"{folder}/manifest-files.json"
    content = data_file(items)
    table_arn = EXPORT_ARN.partition("/export/")[0]
    return {
        ("exports", f"{folder}/manifest-summary.json"): summary(
            EXPORT_ARN, table_arn, files, len(items)
        ),
        ("exports", files): files_manifest({data: (content, len(items))}),
        ("exports", data): content,
    }


def create_topic(bootstrap: str, topic: str, policy: str = "compact") -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    made = admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": policy})])
    made[topic].result(20)


def append_envelope(rig: Rig, topic: str, *, key: bytes | None, table: str) -> None:
    """A record as another connector writes it of its table."""
    value = {"version": "0.1", "document": "{}", "source": {"table_name": table}, "op": "r"}
    conf = {"bootstrap.servers": rig.broker.bootstrap, "partitioner": "murmur2_random"}
    producer = Producer({**conf, "log_level": 0})
    producer.produce(rig.topic(topic), key=key, value=json.dumps(value).encode())
    assert producer.flush(20) == 0
