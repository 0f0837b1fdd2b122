"""The fake in a process of its own, and its script over HTTP.

``with FakeProcess(partitions=4) as fake:`` gives ``fake.url`` and ``fake.control``, which takes
the same commands as ``control.Control``: ``fake.control.split_shard(table="orders", shard=id)``.
Results are plain JSON values. The process ends with the ``with`` block, or with its parent.

``FakeProcess(tls=True)`` is also at ``fake.tls_url``, with a certificate made at its start. Clients
that trust the file ``fake.ca_bundle`` get there; the script stays at ``url``.
"""

from __future__ import annotations

import http.client
import json
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.kit import certificates

START_DEADLINE_S = 15.0
STOP_DEADLINE_S = 5.0
COMMAND_DEADLINE_S = 60.0
_ROOT = Path(__file__).resolve().parents[2]


class RemoteControl:
    """Runs the script's commands on a fake elsewhere; arguments by name only."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.hostname is None or parts.port is None:
            raise ValueError(f"control of a fake at {url}: expected http://host:port")
        self._host, self._port = parts.hostname, parts.port

    def run(self, command: str, /, **arguments: object) -> Any:
        """Run one command; its result.

        Raises:
            ValueError: with the fake's words, when the command fails.
        """
        body = json.dumps({"command": command, "arguments": arguments})
        connection = http.client.HTTPConnection(self._host, self._port, timeout=COMMAND_DEADLINE_S)
        try:
            connection.request("POST", "/_control", body)
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["result"]

    def __getattr__(self, command: str) -> Callable[..., Any]:
        if command.startswith("_"):
            raise AttributeError(command)
        return lambda **arguments: self.run(command, **arguments)


class FakeProcess:
    """Starts ``python -m tests.fakes.server`` and ends it."""

    def __init__(
        self, *, partitions: int = 1, port: int = 0, region: str = "eu-west-1", tls: bool = False
    ) -> None:
        self._arguments = [f"--port={port}", f"--partitions={partitions}", f"--region={region}"]
        self._is_tls = tls
        self._home: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.tls_url = ""

    @property
    def control(self) -> RemoteControl:
        """The script of the running fake."""
        return RemoteControl(self.url)

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None, "the fake is not running"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended, by itself or by somebody else."""
        return self._process is not None and self._process.poll() is None

    @property
    def ca_bundle(self) -> Path:
        """The certificate of the authority that vouches for ``tls_url``, while that is there."""
        assert self._home is not None, "the fake does not run with tls=True"
        return self._home / "authority.pem"

    def _certificate(self) -> list[str]:
        """Make one, in files that go with the process."""
        self._home = Path(tempfile.mkdtemp(prefix="connectd-fake-"))
        self.ca_bundle.write_text(certificates.authority().certificate_pem())
        server, path = certificates.identity("fake"), self._home / "server.pem"
        path.write_text(server.key_pem() + server.certificate_pem())
        return [f"--certificate={path}"]

    def start(self) -> Self:
        """Start the process and wait until it listens."""
        arguments = self._arguments + (self._certificate() if self._is_tls else [])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.server", "--until-stdin-ends", *arguments],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], START_DEADLINE_S)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            self.stop()
            raise RuntimeError(f"the fake said nothing within {START_DEADLINE_S} s of its start")
        told = json.loads(line)
        self.url, self.tls_url = told["url"], told["tls_url"]
        return self

    def stop(self) -> None:
        """End the process; safe to repeat."""
        process, self._process = self._process, None
        home, self._home = self._home, None
        if home is not None:
            shutil.rmtree(home)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
