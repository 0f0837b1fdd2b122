"""The answers of the real classes, kept beside this file: one compressed line per case.

Cases are generated, so their answers alone are kept, in the order of the cases; the first line
says of which cases (a digest) and of which version of Apache Kafka. A change of ``cases`` makes
the digest differ, and then the answers have to be recorded again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.vectors import (
    cases,
    corner_cases,
    date_cases,
    encoding_cases,
    pattern_cases,
    reading_cases,
    settings_cases,
)
from tests.harness import jars, java

Json = Any
HERE = Path(__file__).parent
PROGRAM = HERE.parent / "java" / "Vectors.java"
RUN_DEADLINE_S = 300.0

FAMILIES: dict[str, Callable[[], Iterator[Json]]] = {
    "transforms": cases.transform_cases,
    "converters": cases.converter_cases,
    "corners": corner_cases.corner_cases,
    "reading": reading_cases.reading_cases,
    "headers": reading_cases.header_reading_cases,
    "encodings": encoding_cases.encoding_cases,
    "settings": settings_cases.settings_cases,
    "dates": date_cases.date_cases,
    "patterns": pattern_cases.pattern_cases,
}


class StaleAnswersError(Exception):
    """The kept answers belong to other cases."""


def load(family: str) -> list[tuple[Json, Json]]:
    """Every case of a family with the real answer.

    Raises StaleAnswersError when the cases have changed since the answers were recorded.
    """
    asked = list(FAMILIES[family]())
    with gzip.open(_path(family), "rt", encoding="utf-8") as lines:
        header = json.loads(next(lines))
        answers = [json.loads(line) for line in lines]
    if header["cases"] != digest(asked):
        raise StaleAnswersError(
            f"{_path(family).name} answers other cases; record it again with "
            "make conformance ARGS=--record"
        )
    return list(zip(asked, answers, strict=True))


def record(family: str) -> int:
    """Ask the real classes and keep what they answer; returns the number of cases."""
    asked = list(FAMILIES[family]())
    answers = [json.loads(line)["answer"] for line in _ask(asked)]
    header = {"kafka": jars.CONNECT.version(), "cases": digest(asked)}
    lines = [json.dumps(each, separators=(",", ":")) for each in (header, *answers)]
    content = gzip.compress("\n".join(lines).encode(), mtime=0)
    _path(family).write_bytes(content)
    return len(asked)


def digest(asked: Sequence[Json]) -> str:
    """Names a list of cases."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def _ask(asked: Sequence[Json]) -> list[str]:
    classes = f"{jars.CONNECT.libs()}/*"
    done = subprocess.run(
        [str(java.find_java().path), "-cp", classes, str(PROGRAM)],
        input="".join(f"{json.dumps(case)}\n" for case in asked),
        capture_output=True,
        text=True,
        timeout=RUN_DEADLINE_S,
    )
    lines = done.stdout.removesuffix("\n").split("\n")
    if done.returncode != 0 or len(lines) != len(asked):
        raise RuntimeError(f"{PROGRAM.name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return lines


def _path(family: str) -> Path:
    return HERE / f"{family}.jsonl.gz"
