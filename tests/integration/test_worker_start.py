"""How a worker starts when something is wrong: it waits and says so, or it ends and says why.

Exit codes: 1 when a service gave up, 2 when the configuration or what it points to cannot be used.
"""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from tests.harness.kafka import KafkaBroker
from tests.harness.processes import free_ports, wait_for
from tests.harness.worker import WorkerProcess
from tests.integration.worker_rig import Rig

EXIT_DEADLINE_S = 20.0
ADMIN_DEADLINE_S = 60.0

MakeWorker = Callable[..., WorkerProcess]


@pytest.fixture
def make_worker(kafka_prefix: str, tmp_path: Path) -> Iterator[MakeWorker]:
    """Workers that are not started yet."""
    workers = []

    def make(bootstrap: str, properties: Mapping[str, str] | None = None) -> WorkerProcess:
        worker = WorkerProcess(
            bootstrap,
            group_id=f"{kafka_prefix}group",
            topics_prefix=kafka_prefix,
            home=tmp_path,
            properties=properties,
        )
        workers.append(worker)
        return worker

    yield make
    for worker in workers:
        worker.close()


def exit_of(worker: WorkerProcess) -> tuple[int, str]:
    """Exit code and log of a worker that ends by itself."""
    worker.launch()
    return worker.wait_exit(deadline_s=EXIT_DEADLINE_S), worker.log_tail()


def create_topic(broker: KafkaBroker, topic: str, partitions: int, policy: str) -> None:
    admin = broker.admin()
    new = NewTopic(topic, partitions, 1, config={"cleanup.policy": policy})
    admin.create_topics([new])[topic].result(ADMIN_DEADLINE_S)


def nowhere() -> str:
    """An address where no broker listens."""
    return f"127.0.0.1:{free_ports(1)[0]}"


# -- the broker --------------------------------------------------------------------------------


@pytest.mark.kafka("control")
def test_a_worker_waits_for_a_broker_and_then_does_its_work(
    kafka_prefix: str, tmp_path: Path
) -> None:
    broker = KafkaBroker(home=tmp_path / "broker")
    with Rig(broker, kafka_prefix, tmp_path, starts_worker=False) as rig:
        rig.worker.start()
        rig.wait(lambda: "no Kafka broker answers yet" in rig.log_text(), "a word about the broker")
        assert broker.bootstrap in rig.log_text()
        assert rig.expect(200, "GET", "/").body["kafka_cluster_id"] is None
        with broker:
            rig.create_table("t", items=5)
            rig.create()  # waits until the worker is ready
            assert rig.expect(200, "GET", "/").body["kafka_cluster_id"] is not None
            rig.wait_equal("t")
            rig.worker.close()


@pytest.mark.kafka("control")
def test_health_says_starting_while_the_broker_is_silent_and_healthy_afterwards(
    kafka_broker: KafkaBroker, make_worker: MakeWorker
) -> None:
    worker = make_worker(kafka_broker.bootstrap)
    with kafka_broker.paused():
        worker.start()
        answer = worker.request("GET", "/health")  # takes as long as a probe may
        assert answer.status == 503
        assert answer.body["status"] == "starting"
        assert "waiting for a Kafka broker to answer" in answer.body["message"]

    healthy = worker.request("GET", "/health")
    assert wait_for(lambda: worker.request("GET", "/health").status == 200, deadline_s=20), healthy


def test_a_worker_without_a_broker_gives_up_after_its_time_and_says_where_it_looked(
    make_worker: MakeWorker,
) -> None:
    bootstrap = nowhere()

    code, log = exit_of(make_worker(bootstrap, {"default.api.timeout.ms": "1000"}))

    assert code == 1, log
    assert "no Kafka broker answered within 1 s" in log
    assert f"bootstrap.servers ({bootstrap})" in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_waits_for_its_broker_stops_when_it_is_told_to(
    make_worker: MakeWorker, number: signal.Signals
) -> None:
    worker = make_worker(nowhere())
    worker.start()

    os.kill(worker.pid, number)

    assert worker.wait_exit(deadline_s=10.0) == 0


# -- the internal topics -----------------------------------------------------------------------


@pytest.mark.kafka("exact")
@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("config", "connector configurations"),
        ("offset", "source connector offsets"),
        ("status", "connector and task statuses"),
    ],
)
def test_an_internal_topic_that_deletes_its_records_is_refused_in_kafkas_words(
    kafka_broker: KafkaBroker, kafka_prefix: str, make_worker: MakeWorker, kind: str, what: str
) -> None:
    topic = f"{kafka_prefix}of-its-own"
    create_topic(kafka_broker, topic, 1, "delete")

    code, log = exit_of(make_worker(kafka_broker.bootstrap, {f"{kind}.storage.topic": topic}))

    assert code == 2, log
    assert (
        f"Topic '{topic}' supplied via the '{kind}.storage.topic' property is required to have "
        f"'cleanup.policy=compact' to guarantee consistency and durability of {what}, but found "
        "the topic currently has 'cleanup.policy=delete'."
    ) in log


@pytest.mark.kafka("exact")
def test_a_config_topic_with_three_partitions_is_refused(
    kafka_broker: KafkaBroker, kafka_prefix: str, make_worker: MakeWorker
) -> None:
    create_topic(kafka_broker, f"{kafka_prefix}connect-configs", 3, "compact")

    code, log = exit_of(make_worker(kafka_broker.bootstrap))

    assert code == 2, log
    assert "is required to have a single partition" in log
    assert "but found 3 partitions." in log


@pytest.mark.kafka("exact")
def test_missing_internal_topics_are_not_created_when_that_is_not_wanted(
    kafka_broker: KafkaBroker, kafka_prefix: str, make_worker: MakeWorker
) -> None:
    wanted = {"internal.topics.automatic.creation.enable": "false"}

    code, log = exit_of(make_worker(kafka_broker.bootstrap, wanted))

    assert code == 2, log
    assert f"topic {kafka_prefix}connect-status of status.storage.topic does not exist" in log
    assert not [
        topic
        for topic in kafka_broker.admin().list_topics(timeout=ADMIN_DEADLINE_S).topics
        if topic.startswith(kafka_prefix)
    ]


@pytest.mark.kafka("exact")
def test_more_replicas_than_brokers_are_refused_naming_the_key(
    kafka_broker: KafkaBroker, make_worker: MakeWorker
) -> None:
    wanted = {"offset.storage.replication.factor": "3"}

    code, log = exit_of(make_worker(kafka_broker.bootstrap, wanted))

    assert code == 2, log
    assert "offset.storage.replication.factor" in log


# -- the configuration -------------------------------------------------------------------------


def test_an_address_in_use_ends_the_start_naming_it(make_worker: MakeWorker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        code, log = exit_of(make_worker(nowhere(), {"listeners": url}))

    assert code == 2, log
    assert f"listeners: cannot listen on {url}: Address already in use" in log


def test_unknown_keys_are_warned_of_and_do_not_stop_the_worker(make_worker: MakeWorker) -> None:
    worker = make_worker(nowhere(), {"listenrs": "http://:1", "plugin.path": "/opt"})
    worker.start()

    log = worker.log_tail()
    assert "unknown configuration key 'listenrs' is ignored; did you mean 'listeners'?" in log
    assert "configuration key 'plugin.path' has no effect here" in log
    assert '"level": "warning"' in log


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("offset.flush.interval.ms", "soon", "offset.flush.interval.ms"),
        ("group.id", "", "group.id"),
        ("listeners", "ftp://:1", "ftp"),
        ("config.providers", "file", "config.providers.file.class is not set"),
        ("ssl.engine.factory.class", "com.evil.Engine", "ssl.engine.factory.class: not allowed"),
    ],
)
def test_a_wrong_value_ends_the_start_naming_its_key(
    make_worker: MakeWorker, key: str, value: str, text: str
) -> None:
    code, log = exit_of(make_worker(nowhere(), {key: value}))

    assert code == 2, log
    assert text in log
    assert "Traceback" not in log


@pytest.mark.kafka
def test_a_worker_that_is_stopped_while_it_loads_ends_cleanly(
    kafka_broker: KafkaBroker, make_worker: MakeWorker
) -> None:
    """As the first process of a container, it hears SIGTERM only with a handler of its own."""
    worker = make_worker(kafka_broker.bootstrap)
    worker.launch()
    assert wait_for(lambda: _hears_sigterm(worker.pid), deadline_s=EXIT_DEADLINE_S)
    assert worker.sigterm() in (0, 3)


def _hears_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) & 1 << (signal.SIGTERM - 1))
