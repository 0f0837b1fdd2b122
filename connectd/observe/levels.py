"""Levels of loggers, to be looked at and changed at run time (spec kafka-connect A.10).

The names of levels are those of log4j; the loggers are the standard library's, named after Python
modules. ``LevelRegistry`` is what ``/admin/loggers`` and the cluster's own records work on. It
follows Kafka Connect 4: every known logger is listed with the level at which it writes; setting a
level sets it on every known logger whose name *begins* with the text given, and answers with those
that write differently now.

Operators have runbooks with Java names. ``org.apache.kafka.connect`` and some others stand for the
package here that does the same work: setting one sets the level of that package too.

State: when a level was changed last, per logger; the levels themselves are the standard library's.
All of it belongs to the event loop.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from connectd.aio import clock as clocks
from connectd.errors import ConfigError

ROOT: Final = "root"
TRACE: Final = 5

_NUMBER_BY_LEVEL: Final = {
    "OFF": logging.CRITICAL + 10,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": TRACE,
    "ALL": 1,
}
_OUR_PACKAGES: Final = ("connectd", "spark_jobs")
_NEEDS_ITS_NAME: Final = ("boto3", "botocore", "urllib3")
"""Their DEBUG lines show signed requests: the root logger's level does not reach below INFO."""

_CREATED_MAX: Final = 1_000
"""Loggers that requests may bring into being; a process never gets rid of one."""

_PACKAGE_BY_JAVA_NAME: Final = {
    "com.amazonaws": "connectd.aws",
    "com.trustpilot.connector.dynamodb": "connectd.connectors.dynamodb",
    "org.apache.kafka.clients": "connectd.kafka",
    "org.apache.kafka.common.config.provider": "connectd.config_providers",
    "org.apache.kafka.connect": "connectd",
    "org.apache.kafka.connect.file": "connectd.connectors.file",
    "org.apache.kafka.connect.json": "connectd.converters",
    "org.apache.kafka.connect.runtime": "connectd.runtime",
    "org.apache.kafka.connect.runtime.AbstractWorkerSourceTask": "connectd.pipeline",
    "org.apache.kafka.connect.runtime.WorkerSourceTask": "connectd.pipeline",
    "org.apache.kafka.connect.runtime.WorkerTask": "connectd.pipeline",
    "org.apache.kafka.connect.runtime.rest": "connectd.rest",
    "org.apache.kafka.connect.storage": "connectd.stores",
    "org.apache.kafka.connect.transforms": "connectd.transforms",
    "software.amazon.awssdk": "connectd.aws",
}


def level_named(text: str) -> str | None:
    """The level that a text names, as log4j spells it; None: there is none."""
    name = text.strip().upper()
    return name if name in _NUMBER_BY_LEVEL else None


def number_of(text: str) -> int:
    """The standard library's number of a level.

    Raises:
        ConfigError: there is no such level.
    """
    level = level_named(text)
    if level is None:
        expected = ", ".join(_NUMBER_BY_LEVEL)
        raise ConfigError(f"invalid log level '{text}'. Expected one of {expected}")
    return _NUMBER_BY_LEVEL[level]


def name_of(number: int) -> str:
    """The level that a number of the standard library comes to."""
    reached = {level: each for level, each in _NUMBER_BY_LEVEL.items() if each <= max(number, 1)}
    return max(reached, key=lambda level: reached[level])


@dataclass(frozen=True)
class LoggerLevel:
    """At which level a logger writes, and when that was changed last (ms since the Unix epoch)."""

    level: str
    last_modified_ms: int | None


class LevelRegistry:
    """Looks at the loggers of this process and changes them; see the module's docstring."""

    def __init__(
        self, clock: clocks.Clock, *, on_set: Callable[[str, str], None] | None = None
    ) -> None:
        """``on_set`` hears of every namespace and level that were set."""
        self._clock = clock
        self._on_set = on_set
        self._modified_ms_by_name: dict[str, int] = {}
        self._created = 0

    def levels(self) -> dict[str, LoggerLevel]:
        """Every known logger and the root, by name."""
        return {name: self._describe(name) for name in sorted({*_known(), ROOT})}

    def level(self, name: str) -> LoggerLevel | None:
        """One of them; None: there is no logger of that name."""
        if _is_root(name):
            return self._describe(ROOT)
        return self._describe(name) if name in _known() else None

    def set_level(self, namespace: str, level: str) -> list[str]:
        """Set the level of all known loggers whose names begin so, and of the one of that name,
        which is created if need be; ``root`` is all of them. Returns those that changed, sorted.

        Raises:
            ConfigError: there is no such level, or too many loggers were created by now.
        """
        number = number_of(level)
        before = {name: _logger(name).getEffectiveLevel() for name in {*_known(), ROOT}}
        if _is_root(namespace):
            self._set_root(number, before)
        else:
            self._set_namespace(namespace, number, before)
        changed = sorted(
            name for name, earlier in before.items() if _logger(name).getEffectiveLevel() != earlier
        )
        if self._on_set is not None:
            self._on_set(namespace, level)
        now_ms = clocks.wall_ms(self._clock)
        self._modified_ms_by_name.update(dict.fromkeys(changed, now_ms))
        return changed

    def _set_root(self, number: int, known: Iterable[str]) -> None:
        for name in {*known, *_NEEDS_ITS_NAME}:
            shows_secrets = name.partition(".")[0] in _NEEDS_ITS_NAME
            _logger(name).setLevel(max(number, logging.INFO) if shows_secrets else number)

    def _set_namespace(self, namespace: str, number: int, before: dict[str, int]) -> None:
        if namespace not in before:
            if self._created >= _CREATED_MAX:
                raise ConfigError(
                    f"Logger {namespace} is not known, and {_CREATED_MAX} loggers have been "
                    "created by requests already; name one that GET /admin/loggers lists"
                )
            self._created += 1
        packages = [
            package
            for java_name, package in _PACKAGE_BY_JAVA_NAME.items()
            if java_name.startswith(namespace)
        ]
        beginnings = [namespace, *packages]
        for name in beginnings:
            before.setdefault(name, logging.getLogger(name).getEffectiveLevel())
        for name in before:
            if name != ROOT and name.startswith(tuple(beginnings)):
                _logger(name).setLevel(number)

    def _describe(self, name: str) -> LoggerLevel:
        level = name_of(_logger(name).getEffectiveLevel())
        return LoggerLevel(level, self._modified_ms_by_name.get(name))


def _known() -> set[str]:
    """The loggers of this process. Ours exist from the time when their module is loaded."""
    for name in list(sys.modules):
        if name.partition(".")[0] in _OUR_PACKAGES:
            logging.getLogger(name)
    loggers = logging.getLogger().manager.loggerDict
    return {name for name, each in loggers.items() if isinstance(each, logging.Logger)}


def _is_root(name: str) -> bool:
    return name.lower() == ROOT


def _logger(name: str) -> logging.Logger:
    return logging.getLogger() if _is_root(name) else logging.getLogger(name)
