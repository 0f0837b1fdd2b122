"""A real schema registry as its own process: Apicurio Registry, with the REST API of Confluent's.

Confluent's own registry is in no public package index; Apicurio's is on Maven Central as one
archive with everything in it (``jars.SCHEMA_REGISTRY``). It parses the schemas that it is offered,
judges whether a version may follow the others, and needs Java 21. By itself it allows any version
to follow; here it starts with Confluent's rule, BACKWARD.

What it keeps lies in a file, so that it is there again after ``away``.
"""

from __future__ import annotations

import contextlib
import shutil
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.harness import jars, java
from tests.harness.processes import (
    HarnessError,
    ManagedProcess,
    RealPart,
    accepts_connections,
    free_ports,
)

OLDEST_JAVA = 21
HEAP = "400m"
START_DEADLINE_S = 120.0
STOP_GRACE_S = 20.0
REQUEST_TIMEOUT_S = 5.0


class SchemaRegistry(RealPart):
    """One registry; owns its process and, unless ``home`` is given, its directory."""

    def __init__(self, *, home: Path | None = None) -> None:
        """Find the program and two free ports; nothing is started.

        Raises JarsUnavailableError or JavaUnavailableError where the program cannot be had.
        """
        self._program = program()
        self._runtime = java.find_java(OLDEST_JAVA)
        self._keeps_home = home is not None
        self._home = home
        self._port, self._management_port = free_ports(2)
        self._process: ManagedProcess | None = None
        self.url = f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    @property
    def version(self) -> str:
        """The version of Apicurio Registry."""
        return jars.SCHEMA_REGISTRY.version()

    @property
    def pid(self) -> int:
        """Its process id; raises HarnessError before the first start."""
        return self._own().pid

    def start(self) -> None:
        """Start it and wait until it lists its subjects.

        Raises HarnessError with its log when that takes longer than two minutes.
        """
        if self._process is None:
            self._process = self._prepared_process()
        self._process.start()
        self._process.wait_until(
            self._answers, what="a list of subjects", deadline_s=START_DEADLINE_S
        )

    def stop(self) -> None:
        """SIGTERM and wait; what it knows stays for the next start."""
        self._own().stop(grace_s=STOP_GRACE_S)

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Nothing listens on its port inside the block; it is ready again after it."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def log_tail(self) -> str:
        """The end of its log."""
        return self._own().log_tail()

    def close(self) -> None:
        """Stop it and remove its data; the log stays where ``home`` was given."""
        if self._process is None:
            return
        home = self._process.log_path.parent
        self.stop()
        self._process = None
        shutil.rmtree(home / "data" if self._keeps_home else home, ignore_errors=True)

    def _own(self) -> ManagedProcess:
        if self._process is None:
            raise HarnessError("The schema registry has not been started; call start() first.")
        return self._process

    def _prepared_process(self) -> ManagedProcess:
        home = self._home or Path(tempfile.mkdtemp(prefix="connectd-schema-registry-"))
        (home / "data").mkdir(parents=True, exist_ok=True)
        settings = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": str(self._port),
            "quarkus.http.access-log.enabled": "false",
            "quarkus.management.host": "127.0.0.1",
            "quarkus.management.port": str(self._management_port),
            "apicurio.datasource.url": f"jdbc:h2:file:{home.resolve()}/data/registry",
            "apicurio.rules.global.compatibility": "BACKWARD",
        }
        return ManagedProcess(
            f"Apicurio Registry {self.version} on {self.url}",
            [
                str(self._runtime.path),
                f"-Xmx{HEAP}",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",  # a start is most of what it does here
                *(f"-D{name}={value}" for name, value in settings.items()),
                "-jar",
                str(self._program / "quarkus-run.jar"),
            ],
            log_path=home / "registry.log",
            cwd=home,
        )

    def _answers(self) -> bool:
        if not accepts_connections("127.0.0.1", self._port):
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=REQUEST_TIMEOUT_S):
                return True
        except OSError:
            return False


def program() -> Path:
    """The unpacked program, fetched and unpacked when it is not there yet.

    Raises JarsUnavailableError when it cannot be fetched, or not be kept.
    """
    libs = jars.SCHEMA_REGISTRY.libs()
    unpacked = libs.parent / "program"
    if not unpacked.is_dir():
        with jars.locked(libs.parent / "lock"):
            if not unpacked.is_dir():
                _unpack(libs, unpacked)
    return unpacked


def _unpack(libs: Path, unpacked: Path) -> None:
    staging = Path(tempfile.mkdtemp(prefix="unpack-", dir=unpacked.parent))
    try:
        for jar in jars.SCHEMA_REGISTRY.jars():
            with tarfile.open(libs / jar.file_name) as archive:
                archive.extractall(staging, filter="data")
        staging.rename(unpacked)
    except (OSError, tarfile.TarError) as error:
        raise jars.JarsUnavailableError(f"Unpacking into {unpacked} failed: {error}.") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
