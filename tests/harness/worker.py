"""A connectd worker as its own process, for tests that break it from outside and for the demo.

``WorkerProcess`` writes a properties file, runs ``python -m connectd run <file>`` and waits until
the REST API answers. A worker that was killed or stopped can be started again: it keeps its port,
its group and its internal topics, which is what a crash test is about.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.processes import HarnessError, ManagedProcess, RealPart, free_ports

START_DEADLINE_S = 30.0
STOP_DEADLINE_S = 40.0
REST_TIMEOUT_S = 30.0

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class RestAnswer:
    """One HTTP answer: its status code and its JSON body (None when empty)."""

    status: int
    body: Any


class WorkerProcess(RealPart):
    """One worker; owns its process and, unless ``home`` is given, its directory."""

    start_deadline_s = START_DEADLINE_S

    def __init__(
        self,
        bootstrap: str,
        *,
        group_id: str,
        topics_prefix: str = "",
        rest_port: int | None = None,
        properties: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        home: Path | None = None,
    ) -> None:
        """Nothing is started yet.

        ``topics_prefix`` is put before the three internal topics; tests give their own one.
        ``properties`` add to or replace the worker's settings; ``env`` adds to its environment;
        ``headers`` go with every request of this object, for a worker that asks who one is.
        """
        self._own_home = home is None
        self._home = home
        self._headers = dict(headers or {})
        self._env = {**NO_CREDENTIALS_FROM_OUTSIDE, **(env or {})}
        self.rest_port = rest_port or free_ports(1)[0]
        self.rest_url = f"http://127.0.0.1:{self.rest_port}"
        self.properties = {
            "bootstrap.servers": bootstrap,
            "group.id": group_id,
            "key.converter": JSON_CONVERTER,
            "key.converter.schemas.enable": "false",
            "value.converter": JSON_CONVERTER,
            "value.converter.schemas.enable": "false",
            "config.storage.topic": f"{topics_prefix}connect-configs",
            "config.storage.replication.factor": "1",
            "offset.storage.topic": f"{topics_prefix}connect-offsets",
            "offset.storage.replication.factor": "1",
            "status.storage.topic": f"{topics_prefix}connect-status",
            "status.storage.replication.factor": "1",
            "offset.flush.interval.ms": "1000",
            "listeners": self.rest_url,
            **(properties or {}),
        }
        self._process: ManagedProcess | None = None

    @property
    def pid(self) -> int:
        """Process id of the newest start."""
        return self._started().pid

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.running

    def start(self) -> None:
        """Start it and wait for ``GET /`` to answer 200; raises HarnessError with its log."""
        self.launch()
        self._started().wait_until(
            self._answers, what="200 from GET /", deadline_s=self.start_deadline_s
        )

    def wait_healthy(self) -> None:
        """Wait for ``GET /health`` to answer 200: then the worker has joined its group.

        Raises HarnessError with its log when that takes too long.
        """
        self._started().wait_until(
            lambda: rest_status(f"{self.rest_url}/health", self._headers) == 200,
            what="200 from GET /health",
            deadline_s=self.start_deadline_s,
        )

    def launch(self) -> None:
        """Start it and wait for nothing: for tests of a start that fails."""
        if self.running:
            raise HarnessError(f"the worker already runs as pid {self.pid}; stop it first.")
        home = self._home = self._home or Path(tempfile.mkdtemp(prefix="connectd-worker-"))
        home.mkdir(parents=True, exist_ok=True)
        self._properties_file(home).write_text(properties_text(self.properties), encoding="utf-8")
        self._process = ManagedProcess(
            f"connectd worker on {self.rest_url}",
            self.command(home),
            log_path=home / "worker.log",
            env=self._env,
            cwd=ROOT,
        )
        self._process.start()

    def command(self, home: Path) -> list[str]:
        """The command line, as a person would type it."""
        return [sys.executable, "-m", "connectd", "run", str(self._properties_file(home))]

    def sigterm(self, *, deadline_s: float = STOP_DEADLINE_S) -> int:
        """Ask it to stop; returns its exit code.

        Raises HarnessError with its log when it is still there after ``deadline_s``.
        """
        process = self._started()
        process.send_signal(signal.SIGTERM)
        return process.wait_exit(deadline_s=deadline_s)

    def kill9(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._started().kill()

    def wait_exit(self, *, deadline_s: float) -> int:
        """Wait for its own end; returns the exit code."""
        return self._started().wait_exit(deadline_s=deadline_s)

    def pause(self) -> None:
        """SIGSTOP: a worker that hangs."""
        self._started().pause()

    def resume(self) -> None:
        """SIGCONT after ``pause``."""
        self._started().resume()

    def log_tail(self) -> str:
        """The end of its log, over all starts."""
        return self._started().log_tail()

    def request(self, method: str, path: str, body: object = None) -> RestAnswer:
        """One REST request. An answer of any status is returned; no answer is a HarnessError."""
        try:
            return rest_request(f"{self.rest_url}{path}", method, body, self._headers)
        except OSError as error:
            found = f"gave no answer to {method} {path}: {error}"
            raise self._started().failure(found) from error

    def close(self) -> None:
        """Stop it as an orderly person would, and kill it when that takes too long."""
        self._stop()
        if self._own_home and self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
            self._home = None

    def _stop(self) -> None:
        if self._process is not None:
            self._process.stop(grace_s=STOP_DEADLINE_S)
            self._process = None

    def _properties_file(self, home: Path) -> Path:
        return home / "worker.properties"

    def _answers(self) -> bool:
        try:
            return rest_status(f"{self.rest_url}/", self._headers) == 200
        except OSError:
            return False

    def _started(self) -> ManagedProcess:
        if self._process is None:
            raise HarnessError("the worker has not been started; call start() first.")
        return self._process


JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"

NO_CREDENTIALS_FROM_OUTSIDE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}
"""A test must not find, use or wait for the credentials of whoever runs it."""


def rest_request(
    url: str, method: str, body: object = None, headers: Mapping[str, str] | None = None
) -> RestAnswer:
    """One HTTP request with a JSON body; raises OSError when nothing answers within 30 s."""
    content = None if body is None else json.dumps(body).encode()
    status, answered = _exchange(url, method, content, headers or {})
    return RestAnswer(status, _json(answered))


def rest_status(url: str, headers: Mapping[str, str]) -> int:
    """The status of GET ``url``, whatever its body is; raises OSError when nothing answers."""
    return _exchange(url, "GET", None, headers)[0]


def _exchange(
    url: str, method: str, content: bytes | None, headers: Mapping[str, str]
) -> tuple[int, bytes]:
    kind = {} if content is None else {"Content-Type": "application/json"}
    request = urllib.request.Request(url, method=method, data=content, headers={**kind, **headers})
    try:
        with urllib.request.urlopen(request, timeout=REST_TIMEOUT_S) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.read()


def properties_text(properties: Mapping[str, str]) -> str:
    """A Java properties file; values are written as they are, so they must fit on one line."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())


def _json(content: bytes) -> Any:
    return json.loads(content) if content else None
