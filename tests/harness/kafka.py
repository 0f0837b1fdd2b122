"""A Kafka broker for tests, benchmarks and the demo: one node on 127.0.0.1, ready in seconds.

``with KafkaBroker() as broker`` gives ``broker.bootstrap``. Which broker that is, and what it can
be trusted with, is decided in ``kafka_launch``. Faults are part of the interface: ``stop``,
``kill`` (``with broker.away()``), ``pause``/``resume`` (``with broker.paused()``) and ``restart``
on the same ports and data. A broker named by ``KAFKA_BOOTSTRAP`` belongs to somebody else and
refuses all of these.

For people: ``python -m tests.harness.kafka --port 9092`` runs one until Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.harness import kafka_launch
from tests.harness.kafka_launch import Capability, Launch
from tests.harness.processes import (
    HarnessError,
    ManagedProcess,
    NotOursError,
    RealPart,
    accepts_connections,
    free_ports,
    sigterm_is_ctrl_c,
    wait_for,
)

START_DEADLINE_S = 120.0
METADATA_TIMEOUT_S = 2.0


class KafkaBroker(RealPart):
    """One broker; owns its process and, unless ``home`` is given, its directory."""

    def __init__(
        self, launch: Launch | None = None, *, port: int | None = None, home: Path | None = None
    ) -> None:
        """``port`` 0 or None: a free one. ``home``: where data and log go; it is then kept."""
        self._launch = launch or kafka_launch.choose()
        self._keep_home = home is not None
        self._home = home.resolve() if home else None
        self._process: ManagedProcess | None = None
        if isinstance(self._launch, kafka_launch.Existing):
            self.bootstrap = self._launch.bootstrap
        else:
            self._port, self._controller_port = free_ports(2)
            self._port = port or self._port
            self.bootstrap = f"127.0.0.1:{self._port}"

    @property
    def kind(self) -> str:
        """Which broker this is, for people and reports."""
        return self._launch.kind

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can be trusted with."""
        return self._launch.capabilities

    @property
    def missing(self) -> list[Capability]:
        """What it cannot be trusted with; empty for the real one."""
        return [each for each in Capability if each not in self._launch.capabilities]

    @property
    def running(self) -> bool:
        """Whether its process is there; an existing broker counts as running."""
        return self._is_existing or (self._process is not None and self._process.running)

    @property
    def pid(self) -> int:
        """Process id of the broker; raises NotOursError for an existing one."""
        return self._own().pid

    def start(self) -> None:
        """Start it and wait until it answers a metadata request.

        Raises HarnessError with the broker's log when that takes longer than two minutes.
        """
        if self._is_existing:
            self._await_existing()
            return
        if self._process is None or not self._process.running:
            self._process = self._prepared_process()
        self._process.start()
        self._process.wait_until(
            self._answers, what="an answer to a metadata request", deadline_s=START_DEADLINE_S
        )

    def stop(self) -> None:
        """SIGTERM and wait; data stays for ``restart``."""
        process = self._own()
        process.stop(grace_s=self._launch.stop_grace_s)
        self._launch.after_stop(process.log_path.parent)

    def kill(self) -> None:
        """SIGKILL; data stays for ``restart``."""
        self._own().kill()

    def restart(self) -> None:
        """Stop it if it runs, and start it on the same ports and data."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing is answered."""
        self._own().pause()

    def resume(self) -> None:
        """SIGCONT after ``pause``."""
        self._own().resume()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The broker is silent inside the block and answers again after it."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """The broker is down (killed) inside the block and ready again after it."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    def admin(self) -> AdminClient:
        """A quiet AdminClient; keep a reference to it while waiting on its futures."""
        return AdminClient({"bootstrap.servers": self.bootstrap, **_QUIET_CLIENT})

    def log_tail(self) -> str:
        """The end of the broker's log."""
        return self._own().log_tail()

    def close(self) -> None:
        """Stop what this object started and remove its data; an existing broker is left alone."""
        if self._process is None:
            return
        home = self._process.log_path.parent
        self.stop()
        self._process = None
        if self._keep_home:
            shutil.rmtree(home / "data", ignore_errors=True)
        else:
            shutil.rmtree(home, ignore_errors=True)
            self._home = None

    @property
    def _is_existing(self) -> bool:
        return isinstance(self._launch, kafka_launch.Existing)

    def _own(self) -> ManagedProcess:
        if self._is_existing:
            raise NotOursError(
                f"{self.bootstrap} was named by KAFKA_BOOTSTRAP; this run may not stop, kill or "
                "pause it. Unset KAFKA_BOOTSTRAP to get a broker of one's own."
            )
        if self._process is None:
            raise HarnessError(f"{self.kind} has not been started; call start() first.")
        return self._process

    def _prepared_process(self) -> ManagedProcess:
        if self._home is None:
            self._home = Path(tempfile.mkdtemp(prefix="connectd-kafka-"))
        home = self._home
        home.mkdir(parents=True, exist_ok=True)
        self._launch.prepare(home, self._port, self._controller_port)
        return ManagedProcess(
            f"{self.kind} on {self.bootstrap}",
            self._launch.argv(home, self._port),
            log_path=home / "broker.log",
        )

    def _answers(self) -> bool:
        host, _, port = self.bootstrap.split(",")[0].rpartition(":")
        return accepts_connections(host, int(port)) and _answers_metadata(self.bootstrap)

    def _await_existing(self) -> None:
        if not wait_for(self._answers, deadline_s=START_DEADLINE_S):
            raise HarnessError(
                f"The broker {self.bootstrap} of KAFKA_BOOTSTRAP did not answer within "
                f"{START_DEADLINE_S:g} s. Start it, or unset KAFKA_BOOTSTRAP."
            )


_QUIET_CLIENT = {"log_level": 0, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500}


def _answers_metadata(bootstrap: str) -> bool:
    admin = AdminClient({"bootstrap.servers": bootstrap, **_QUIET_CLIENT})
    try:
        return bool(admin.list_topics(timeout=METADATA_TIMEOUT_S).brokers)
    except KafkaException:
        return False


def main(argv: list[str] | None = None) -> int:
    """Run a broker until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.kafka", description=main.__doc__)
    parser.add_argument("--port", type=int, default=9092, help="port on 127.0.0.1 (0: a free one)")
    parser.add_argument("--home", type=Path, help="keep data and log in this directory")
    options = parser.parse_args(argv)
    started = time.monotonic()
    with KafkaBroker(port=options.port, home=options.home) as broker:
        took_s = time.monotonic() - started
        print(f"{broker.kind} is ready on {broker.bootstrap} ({took_s:.1f} s). Ctrl-C stops it.")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
    print(f"{broker.kind} has stopped.")
    return 0


if __name__ == "__main__":
    sigterm_is_ctrl_c()
    sys.exit(main())
