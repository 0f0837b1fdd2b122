"""What a driver's last lines mean: in plain words where that is known, else the line that tells.

Most of what a driver writes is no reason of anything: frames of stacks, Spark's progress, advice.
A reason is told where the error begins; what stands last is usually a frame.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Meaning:
    """What a line means; whether another start may help; the line, where it says more."""

    text: str
    is_retriable: bool
    line: str = ""


@dataclass(frozen=True)
class _Sign:
    pattern: str
    means: str
    is_retriable: bool = False
    is_quoted: bool = False


_NEVER: Final = "(No such file|Permission denied|Exec format error|Is a directory)"
"""Why a program cannot be run now or later; for want of memory it may be later."""

_REFUSED: Final = "Spark refuses one of its settings"

_SIGNS: Final = (
    _Sign("JAVA_HOME is not set", "no Java was found; install Java 17 or set spark.java.home"),
    _Sign("UnsupportedClassVersionError", "this Java is too old for Spark, which needs 17"),
    _Sign("Could not create the Java Virtual Machine", "Java refuses its options", is_quoted=True),
    # The script of Spark asks a Java for the command, which has answered something else.
    _Sign("CMD: bad array subscript", "the Java that was found does not run Spark's launcher"),
    _Sign("Could not find valid SPARK_HOME", "spark-submit finds no Spark beside it"),
    _Sign("Failed to find Spark jars directory", "spark-submit finds no Spark beside it"),
    _Sign("Could not parse Master URL", "spark.master is not one that Spark knows"),
    _Sign("Master must either be yarn or start with", "spark.master is not one that Spark knows"),
    _Sign("No module named 'connectd", "the driver's Python has no connectd"),
    _Sign("No module named 'pyspark", "the driver's Python has no pyspark"),
    _Sign(f"Cannot run program .*{_NEVER}", "a program is missing", is_quoted=True),
    _Sign(f"cannot be started: {_NEVER}", "a program is missing", is_quoted=True),
    _Sign("All masters are unresponsive", "the Spark master cannot be reached", is_retriable=True),
    _Sign("Failed to connect to master", "the Spark master cannot be reached", is_retriable=True),
    _Sign(r"\[INVALID_(CONF|SPARK|DRIVER|EXECUTOR|KRYO)[\w.]*\]", _REFUSED, is_quoted=True),
    _Sign("requirement failed: ", _REFUSED, is_quoted=True),
    _Sign(
        "has to be >= the number of cpus per task",
        "no executor has the cores of one task; compare spark.task.cpus with spark.executor.cores, "
        "or with the N of local[N]",
        is_quoted=True,
    ),
    _Sign(
        "Failed to create (a temp directory|any local dir)",
        "Spark cannot write where it is to (spark.local.dir, or SPARK_LOCAL_DIRS)",
        is_quoted=True,
    ),
    _Sign(
        r"File file:\S+ does not exist", "a file that a setting names is missing", is_quoted=True
    ),
    # Where Spark has been there before, another driver may get on; at its start it is told twice.
    _Sign(
        "OutOfMemoryError",
        "the driver's JVM has too little memory, see spark.driver.memory",
        is_retriable=True,
        is_quoted=True,
    ),
    _Sign(
        r"(?<!WARN )(ClassNotFoundException|NoClassDefFoundError): ",
        "a class that a setting names is not on Spark's class path",
        is_quoted=True,
    ),
)

_OUTSIDE: Final = re.compile(
    r"(?i)unreachable|unresponsive|cannot be reached|unknown\s?host|no route to|refused|"
    r"connection (reset|closed|lost)|broken pipe|timed? ?out|timeout|temporar|unavailable|"
    r"address already in use|cannot allocate|no space left|too many open files"
)
"""Reasons that pass without anybody's doing: the network's, and of a machine that is full."""

_OF_ONE_START: Final = re.compile(r"connectd-scan-[\w-]+|[0-9a-f]+(-[0-9a-f]+)+|\d+")
"""What differs from start to start: names of directories, numbers of processes, times."""

_FRAME: Final = re.compile(r"\s|at \S+\(|\.\.\. \d+ more|Traceback \(|Caused by: *$")
"""Frames of Java and Python, which are indented but for the first line of a stack."""

_LOG_LINE: Final = re.compile(r"\d\S+ \d\d:\d\d:\d\d\S* (?P<level>[A-Z]+) ")
_NOISE: Final = (
    "Setting default log level",
    "Setting Spark log level",
    "Using Spark's default log4j profile",
    "Using incubator modules",
    "To adjust logging level",
    "Picked up ",
    "NOTE: Picked up",
    "Exception thrown in awaitResult",
    "Could not create the Java Virtual Machine",
    "A fatal exception has occurred. Program will exit",
)
"""Parts of lines that are written always, or that only say that another one follows."""

_TELLS: Final = (
    re.compile(r"Exception in thread "),
    re.compile(r"(?!Caused by)([\w$]+\.)*\w*(Exception|Error)\b"),
    re.compile(r"(?i).*\b(caused by|error|exception|fatal|failed|cannot|could not)\b"),
    re.compile(r".*: line \d+: "),
)
"""What tells a reason, the surest first."""


def meaning(lines: Sequence[str]) -> Meaning | None:
    """What these lines mean; None: they say nothing that is known."""
    for sign in _SIGNS:
        for line in lines:
            if re.search(sign.pattern, line):
                said = telling_line(lines) if _is_noise(line) else line.strip()
                return Meaning(sign.means, sign.is_retriable, said if sign.is_quoted else "")
    return None


def lasting_reason(text: str) -> str:
    """A reason in a form that is the same at the next start; "" where waiting may mend it."""
    return "" if _OUTSIDE.search(text) else _OF_ONE_START.sub("#", text)


def telling_line(lines: Sequence[str]) -> str:
    """The first line that tells a reason, or the last that may; "" when there is none."""
    kept = [line.strip() for line in lines if line.strip() and not _is_noise(line)]
    for tells in _TELLS:
        for line in kept:
            if tells.match(line):
                return line
    return kept[-1] if kept else ""


def _is_noise(line: str) -> bool:
    if _FRAME.match(line) or any(each in line for each in _NOISE):
        return True
    log_line = _LOG_LINE.match(line)
    return log_line is not None and log_line["level"] not in ("ERROR", "FATAL")
