"""Brings the jars of pinned Java programs onto this machine, outside the repository.

Each program has a lock file beside this one that lists every jar with its sha256, so that two
machines run the same bytes whatever client fetched them: ``KAFKA`` is the broker, ``CONNECT`` the
real Connect worker, ``SCHEMA_REGISTRY`` a real schema registry, which is one archive. They are
taken from ``mvn`` when it is on PATH, else by ``jgo`` (a Maven client in Python, from the dev
extra); jgo's own dependency resolution differs from Maven's, which is another reason why nothing is
resolved here.

The cache is ``$CONNECTD_CACHE``, or ``$XDG_CACHE_HOME/connectd``, or ``~/.cache/connectd``. The
directory ``<program>-<version>/libs`` appears by one rename when all jars are in it and checked; a
file lock keeps two runs from fetching at the same time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

DOWNLOAD_DEADLINE_S = 600.0
LOCK_DEADLINE_S = 900.0
HTTP_TIMEOUT_S = 60


class JarsUnavailableError(Exception):
    """The jars could not be fetched; the message names every route and why it failed."""


@dataclass(frozen=True)
class Jar:
    """One line of the lock file: a jar, or what else a Maven repository keeps."""

    group: str
    artifact: str
    version: str
    sha256: str
    packaging: str = "jar"
    classifier: str = ""

    @property
    def file_name(self) -> str:
        """The name that Maven clients give the file."""
        words = [self.artifact, self.version, self.classifier]
        return f"{'-'.join(filter(None, words))}.{self.packaging}"


@dataclass(frozen=True)
class JarSet:
    """The jars of one program, complete, as its lock file names them."""

    title: str
    """For people: what is being fetched."""
    name: str
    """First word of its directory in the cache."""
    lock_file: Path
    main_artifact: str
    """The artifact whose version is the program's."""

    def jars(self) -> list[Jar]:
        """The jars of the lock file, in its order."""
        jars = []
        for line in self.lock_file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                sha256, coordinates = line.split()
                group, artifact, version, *form = coordinates.split(":")
                jars.append(Jar(group, artifact, version, sha256, *form))
        return jars

    def version(self) -> str:
        """The pinned version of the program."""
        return next(jar.version for jar in self.jars() if jar.artifact == self.main_artifact)

    def libs(self) -> Path:
        """The directory with all its jars, fetched when it is not there yet.

        Raises JarsUnavailableError when no route delivers every jar with its pinned checksum.
        """
        jars = self.jars()
        home = cache_dir() / f"{self.name}-{self.version()}"
        libs = home / "libs"
        if _holds(libs, jars):
            return libs
        try:
            home.mkdir(parents=True, exist_ok=True)
            with locked(home / "lock"):
                if not _holds(libs, jars):
                    _fetch(self, libs)
        except OSError as error:
            raise JarsUnavailableError(f"The cache {home} cannot be written: {error}.") from error
        return libs


KAFKA = JarSet("Apache Kafka", "kafka", Path(__file__).with_name("kafka-jars.txt"), "kafka_2.13")
CONNECT = JarSet(
    "Apache Kafka Connect",
    "connect",
    Path(__file__).with_name("connect_jars.txt"),
    "connect-runtime",
)
SCHEMA_REGISTRY = JarSet(
    "Apicurio Registry",
    "schema-registry",
    Path(__file__).with_name("schema_registry_jars.txt"),
    "apicurio-registry-app",
)


def cache_dir() -> Path:
    """Where everything fetched is kept; see the module's text for the order."""
    if own := os.environ.get("CONNECTD_CACHE"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "connectd"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on ``path`` between processes; waits at most 15 minutes for it."""
    with path.open("w") as handle:
        give_up_at = time.monotonic() + LOCK_DEADLINE_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as busy:
                if time.monotonic() > give_up_at:
                    raise JarsUnavailableError(
                        f"Another run has held {path} for {LOCK_DEADLINE_S:g} s; end it."
                    ) from busy
                time.sleep(0.2)
        yield


def _holds(libs: Path, jars: list[Jar]) -> bool:
    """A finished directory of exactly this lock file (contents were checked before the rename)."""
    return libs.is_dir() and {each.name for each in libs.iterdir()} == {j.file_name for j in jars}


def _fetch(wanted: JarSet, libs: Path) -> None:
    routes: list[tuple[str, Callable[[list[Jar], Path], None]]] = [("jgo", _fetch_with_jgo)]
    if shutil.which("mvn"):
        routes.insert(0, ("mvn", _fetch_with_mvn))
    jars = wanted.jars()
    what = f"{wanted.title} {wanted.version()}"
    reasons = []
    for name, route in routes:
        _say(f"fetching {what} ({len(jars)} jars) with {name} ...")
        started = time.monotonic()
        staging = Path(tempfile.mkdtemp(prefix="fetch-", dir=libs.parent))
        try:
            route(jars, staging)
            _check(wanted, staging)
            shutil.rmtree(libs, ignore_errors=True)
            staging.rename(libs)
        except (OSError, RuntimeError, subprocess.SubprocessError, ImportError) as error:
            reasons.append(f"{name}: {error}")
            continue
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        _say(f"{what} is in {libs} ({time.monotonic() - started:.0f} s)")
        return
    raise JarsUnavailableError(f"{what} could not be fetched. " + " | ".join(reasons))


def _check(wanted: JarSet, directory: Path) -> None:
    for jar in wanted.jars():
        path = directory / jar.file_name
        if not path.is_file():
            raise RuntimeError(f"{jar.file_name} was not delivered")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != jar.sha256:
            raise RuntimeError(
                f"{jar.file_name} has sha256 {found}, "
                f"expected {jar.sha256} of {wanted.lock_file.name}"
            )


def _fetch_with_mvn(jars: list[Jar], directory: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="connectd-pom-") as project:
        (Path(project) / "pom.xml").write_text(pom_of(jars), encoding="utf-8")
        answer = subprocess.run(
            ["mvn", "-B", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={directory}"],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_DEADLINE_S,
        )
    if answer.returncode != 0:
        last_words = (answer.stdout + answer.stderr).strip().splitlines()[-3:]
        raise RuntimeError(f"exit code {answer.returncode}: {' / '.join(last_words)}")


def pom_of(jars: list[Jar]) -> str:
    """A Maven project that depends on exactly these jars: their own dependencies are excluded."""
    entries = "".join(
        f"""
    <dependency>
      <groupId>{escape(jar.group)}</groupId>
      <artifactId>{escape(jar.artifact)}</artifactId>
      <version>{escape(jar.version)}</version>
      <type>{escape(jar.packaging)}</type>
      <classifier>{escape(jar.classifier)}</classifier>
      <exclusions>
        <exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>
      </exclusions>
    </dependency>"""
        for jar in jars
    )
    return f"""<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>connectd</groupId>
  <artifactId>libs</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>{entries}
  </dependencies>
</project>
"""


def _fetch_with_jgo(jars: list[Jar], directory: Path) -> None:
    from jgo.maven import MavenContext

    context = MavenContext(timeout=HTTP_TIMEOUT_S)
    for done, jar in enumerate(jars, start=1):
        component = context.project(jar.group, jar.artifact).at_version(jar.version)
        artifact = component.artifact(jar.classifier, jar.packaging)
        shutil.copyfile(artifact.resolve(), directory / jar.file_name)
        _progress(f"{done}/{len(jars)} {jar.file_name}")


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[2K  {text}", end="", file=sys.stderr, flush=True)


def _say(text: str) -> None:
    lead = "\r\x1b[2K" if sys.stderr.isatty() else ""
    print(f"{lead}connectd: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    print(KAFKA.libs(), CONNECT.libs(), SCHEMA_REGISTRY.libs(), sep="\n")
