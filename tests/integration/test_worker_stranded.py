"""A worker that has heard of no broker for a moment is itself again soon after it.

All brokers of a cluster are fenced for a moment when their controller has not heard of them; with
``metadata.recovery.strategy=none`` it is certain that every client then loses all it knows.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.harness.kafka import KafkaBroker
from tests.harness.metadata_proxy import MetadataProxy
from tests.integration.worker_rig import DEADLINE_S, Rig, prefix_of

pytestmark = pytest.mark.kafka("exact")

_CLIENTS = {
    "metadata.recovery.strategy": "none",
    "metadata.max.age.ms": "300",
    "socket.connection.setup.timeout.ms": "1000",
    "reconnect.backoff.max.ms": "100",
}


@dataclass
class Stage:
    """A worker, and the door through which it comes to Kafka."""

    rig: Rig
    door: MetadataProxy

    def available(self) -> dict[str, int]:
        """By client, whether Kafka answers it, as the metrics have it."""
        url = f"{self.rig.worker.rest_url}/metrics"
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        return {
            sample.labels["client"]: int(sample.value)
            for family in families
            if family.name == "connectd_kafka_available"
            for sample in family.samples
        }


@pytest.fixture
def stage(kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("worker")
    with MetadataProxy(kafka_broker.bootstrap) as door:
        properties = {**door.settings, **_CLIENTS}
        properties |= {f"producer.{key}": value for key, value in _CLIENTS.items()}
        with Rig(kafka_broker, prefix_of(__name__), home, properties=properties) as rig:
            yield Stage(rig, door)


def test_its_clients_are_replaced_and_nothing_is_lost(stage: Stage) -> None:
    rig = stage.rig
    rig.create_table("t", items=3)
    rig.create()
    rig.wait_following("t")
    rig.wait_equal("t")
    clients = stage.available()
    assert len(clients) == 4
    assert set(clients.values()) == {1}

    stage.door.is_ready = False
    rig.wait(lambda: not any(stage.available().values()), "no client to have a broker")
    for number in range(3, 9):
        rig.put("t", number)
    stage.door.is_ready = True

    rig.wait_equal("t")
    rig.wait(lambda: all(stage.available().values()), "all clients to have one again")
    offsets = rig.shard_offsets()
    rig.put("t", 9)
    rig.wait_equal("t")
    rig.wait(lambda: rig.shard_offsets() != offsets, "a position behind that")
    assert rig.expect(200, "GET", "/connectd/health/ready")
    rig.name = "another"
    rig.create(init__sync__skip="true")
    rig.wait_states("RUNNING", "RUNNING")
