"""Fixtures of the whole suite, and the report of what was not run.

One broker per session, started by the first test that asks for it. Tests say what they need of it:
``@pytest.mark.kafka`` runs on any broker, ``@pytest.mark.kafka("exact", "control")`` only where the
broker has these capabilities (``tests.harness.kafka_launch.Capability``). What a machine therefore
cannot run is taken out of the run and named at its end; on CI it is an error instead.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
from collections.abc import Iterator

import pytest
import structlog

from connectd.observe import logs, redaction
from tests.harness import kafka_launch
from tests.harness.kafka import KafkaBroker
from tests.harness.kafka_launch import Capability
from tests.harness.processes import HarnessError

_not_run = pytest.StashKey[list[str]]()
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """The session's broker. A test that takes it away brings it back (``away``, ``paused``)."""
    with KafkaBroker(home=tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(autouse=True)
def _levels_of_loggers_stay() -> Iterator[None]:
    """Loggers belong to the process; what a test sets (the REST API can) is set back."""
    root, known = logging.getLogger(), logging.getLogger().manager.loggerDict
    before = {name: each.level for name, each in known.items() if isinstance(each, logging.Logger)}
    root_level = root.level
    yield
    if root.level != root_level:
        root.setLevel(root_level)
    for name, each in list(known.items()):
        level = before.get(name, logging.NOTSET)
        if isinstance(each, logging.Logger) and each.level != level:
            each.setLevel(level)


@pytest.fixture(autouse=True)
def _output_of_logs_ends_with_the_test() -> Iterator[None]:
    """Commands that are run in the process of the tests send all logs to an output of that test."""
    root, was_configured = logging.getLogger(), structlog.is_configured()
    before = list(root.handlers)
    yield
    for each in list(root.handlers):
        if type(each).__module__ == logs.__name__ and each not in before:
            root.removeHandler(each)
    if structlog.is_configured() and not was_configured:
        structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _secrets_of_a_test_end_with_it() -> Iterator[None]:
    """They belong to the process too: a word that is one somewhere is just a word elsewhere."""
    with redaction.forgetting():
        yield


@pytest.fixture
def kafka_prefix(request: pytest.FixtureRequest) -> str:
    """A prefix for topics and groups that no other test of any run uses; ends with ``-``."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")
    return f"{words[:60]}-{os.getpid()}-{next(_numbers)}-"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what the broker of this machine cannot prove; fetches the broker when needed."""
    needing = [item for item in items if item.get_closest_marker("kafka") is not None]
    if not needing or config.option.collectonly:
        return
    try:
        launch = kafka_launch.choose()
    except HarnessError as error:
        raise pytest.UsageError(str(error)) from error
    lacking = {item: _needs(item) - launch.capabilities for item in needing}
    unfit = [item for item, lacks in lacking.items() if lacks]
    config.stash[_not_run] = [
        f"{item.nodeid} (needs {', '.join(sorted(lacking[item]))})" for item in unfit
    ]
    if unfit and os.environ.get("CI") == "true":
        raise pytest.UsageError(f"{launch.kind} cannot run {config.stash[_not_run]}")
    config.hook.pytest_deselected(items=unfit)
    items[:] = [item for item in items if item not in set(unfit)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was not run for lack of the real broker."""
    names = terminalreporter.config.stash.get(_not_run, [])
    if not names:
        return
    launch = kafka_launch.choose()
    terminalreporter.section("not run for lack of a real broker of our own")
    terminalreporter.line(f"broker: {launch.kind}; it cannot prove these {len(names)} tests:")
    for name in sorted(names):
        terminalreporter.line(f"  {name}")


def _needs(item: pytest.Item) -> set[Capability]:
    return {Capability(need) for mark in item.iter_markers("kafka") for need in mark.args}
