"""Levels of loggers at run time (spec kafka-connect A.10)."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from connectd.errors import ConfigError
from connectd.observe import levels, logs
from connectd.observe.levels import LevelRegistry, LoggerLevel
from connectd.observe.logs import LogFormat

NOW_MS = 1_700_000_000_000


class StillClock:
    """A clock that stands."""

    def monotonic(self) -> float:
        return 0.0

    def wall_s(self) -> float:
        return NOW_MS / 1000

    async def sleep(self, duration_s: float) -> None:
        raise AssertionError("nobody waits here")


@pytest.fixture(autouse=True)
def _loggers_as_they_were() -> Iterator[None]:
    root, known = logging.getLogger(), logging.getLogger().manager.loggerDict
    before = dict(known)
    level_by_name = {
        name: each.level for name, each in known.items() if isinstance(each, logging.Logger)
    }
    root_level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(root_level)
    root.handlers[:] = handlers
    for name, each in list(known.items()):
        if isinstance(each, logging.Logger):
            each.setLevel(level_by_name.get(name, logging.NOTSET))
        if name not in before:
            del known[name]
    structlog.reset_defaults()


@pytest.fixture
def registry() -> LevelRegistry:
    stream = io.StringIO()
    logs.configure(LogFormat.JSON, "INFO", stream)
    return LevelRegistry(StillClock())


def test_every_known_logger_is_listed_with_the_level_at_which_it_writes(
    registry: LevelRegistry,
) -> None:
    logging.getLogger("lib.a")
    listed = registry.levels()
    assert list(listed) == sorted(listed)
    assert listed["root"] == LoggerLevel("WARN", None)
    assert listed["lib.a"] == LoggerLevel("WARN", None)
    assert listed["connectd.observe.levels"] == LoggerLevel("INFO", None)


def test_one_of_them_can_be_asked_for_and_the_root_in_any_case(registry: LevelRegistry) -> None:
    assert registry.level("ROOT") == LoggerLevel("WARN", None)
    assert registry.level("connectd.observe") == LoggerLevel("INFO", None)
    assert registry.level("connectd.nobody") is None
    assert registry.level("org.apache.kafka.connect") is None


def test_a_level_reaches_all_names_that_begin_so_and_creates_the_one_named(
    registry: LevelRegistry,
) -> None:
    for name in ("lib.test.a", "lib.test.b", "lib.tester", "lib.other"):
        logging.getLogger(name)
    changed = registry.set_level("lib.test", " debug ")
    assert changed == ["lib.test", "lib.test.a", "lib.test.b", "lib.tester"]
    assert registry.level("lib.test") == LoggerLevel("DEBUG", NOW_MS)
    assert registry.level("lib.tester") == LoggerLevel("DEBUG", NOW_MS)
    assert registry.level("lib.other") == LoggerLevel("WARN", None)


def test_only_what_writes_differently_now_is_told_and_stamped(registry: LevelRegistry) -> None:
    assert registry.set_level("lib.new", "WARN") == []
    assert registry.level("lib.new") == LoggerLevel("WARN", None)
    assert registry.set_level("lib.new", "TRACE") == ["lib.new"]
    assert registry.set_level("lib.new", "trace") == []


def test_the_root_is_everybody(registry: LevelRegistry) -> None:
    logging.getLogger("lib.a")
    changed = registry.set_level("Root", "ERROR")
    assert {"root", "lib.a", "connectd", "connectd.observe.levels"} <= set(changed)
    assert {each.level for each in registry.levels().values()} == {"ERROR"}


def test_libraries_that_log_signed_requests_are_turned_up_by_name_only(
    registry: LevelRegistry,
) -> None:
    registry.set_level("root", "ALL")
    assert logging.getLogger("botocore.auth").getEffectiveLevel() == logging.INFO
    assert logging.getLogger("lib.later").getEffectiveLevel() == 1
    registry.set_level("botocore", "DEBUG")
    assert logging.getLogger("botocore.auth").getEffectiveLevel() == logging.DEBUG


def test_java_names_stand_for_the_package_that_does_the_work(registry: LevelRegistry) -> None:
    changed = registry.set_level("org.apache.kafka.connect.storage", "DEBUG")
    assert {"connectd.stores", "org.apache.kafka.connect.storage"} <= set(changed)
    assert registry.level("connectd") == LoggerLevel("INFO", None)
    changed = registry.set_level("org.apache.kafka.connect", "DEBUG")
    assert {"org.apache.kafka.connect", "connectd", "connectd.observe"} <= set(changed)
    registry.set_level("org.apache.kafka.connect.runtime.SomeClass", "OFF")
    assert registry.level("connectd") == LoggerLevel("DEBUG", NOW_MS)


@pytest.mark.parametrize(
    "level", ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"]
)
def test_every_level_of_log4j_comes_back_as_it_was_set(registry: LevelRegistry, level: str) -> None:
    registry.set_level("lib.x", "INFO" if level == "WARN" else "WARN")
    registry.set_level("lib.x", level)
    assert registry.level("lib.x") == LoggerLevel(level, NOW_MS)


@pytest.mark.parametrize("text", ["loud", "", "WARNING", "10"])
def test_other_levels_are_refused_with_the_known_ones(registry: LevelRegistry, text: str) -> None:
    assert levels.level_named(text) is None
    with pytest.raises(ConfigError, match=r"Expected one of OFF, FATAL, ERROR, WARN"):
        registry.set_level("lib.x", text)
    assert registry.level("lib.x") is None


def test_levels_take_effect_on_what_is_written() -> None:
    stream = io.StringIO()
    logs.configure(LogFormat.JSON, "INFO", stream)
    registry = LevelRegistry(StillClock())
    log = structlog.get_logger("connectd.test.deep")
    log.debug("before")
    registry.set_level("connectd.test", "DEBUG")
    log.debug("during")
    registry.set_level("connectd.test", "off")
    log.critical("after")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["during"]


def test_requests_cannot_create_loggers_without_end(
    registry: LevelRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "_CREATED_MAX", 2)
    registry.set_level("lib.one", "DEBUG")
    registry.set_level("lib.two", "DEBUG")
    registry.set_level("lib.two", "INFO")
    with pytest.raises(ConfigError, match=r"Logger lib\.three is not known"):
        registry.set_level("lib.three", "DEBUG")
