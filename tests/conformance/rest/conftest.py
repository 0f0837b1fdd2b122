"""What the tests of this package need: a stage for each side, and the real worker's jars.

A test marked ``real_connect`` asks the real worker. Where its jars or a Java cannot be had, such
tests are taken out of the run and named at its end; on CI that is an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.conformance.rest.sides import Side
from tests.conformance.rest.stage import Stage
from tests.harness import jars, java
from tests.harness.kafka import KafkaBroker

_not_run = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def our_stage(kafka_broker: KafkaBroker) -> Iterator[Stage]:
    """connectd, started by the first scenario that is played."""
    with Stage(Side.OURS, kafka_broker.bootstrap) as stage:
        yield stage


@pytest.fixture(scope="session")
def real_stage(kafka_broker: KafkaBroker) -> Iterator[Stage]:
    """The real worker, started by the first scenario that is played."""
    with Stage(Side.REAL, kafka_broker.bootstrap) as stage:
        yield stage


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what asks the real worker when it cannot be had; fetches it when needed."""
    asking = [item for item in items if item.get_closest_marker("real_connect") is not None]
    if not asking or config.option.collectonly:
        return
    try:
        jars.CONNECT.libs()
        java.find_java()
    except (jars.JarsUnavailableError, java.JavaUnavailableError) as error:
        if os.environ.get("CI") == "true":
            raise pytest.UsageError(f"CI needs the real Connect worker: {error}") from error
        config.stash[_not_run] = f"{len(asking)} tests ask the real Connect worker: {error}"
        config.hook.pytest_deselected(items=asking)
        items[:] = [item for item in items if item not in set(asking)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run for lack of the real worker."""
    reason = terminalreporter.config.stash.get(_not_run, "")
    if reason:
        terminalreporter.section("not run for lack of the real Connect worker")
        terminalreporter.line(reason)
