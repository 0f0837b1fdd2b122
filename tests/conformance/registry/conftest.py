"""What the tests of this package need: a real registry, which the first of them starts.

A test marked ``real_registry`` asks it. Where the program or a Java for it cannot be had, such
tests are taken out of the run and named at its end; on CI that is an error.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.harness import java, schema_registry
from tests.harness.jars import JarsUnavailableError
from tests.harness.schema_registry import SchemaRegistry

_ANSWER_S = 30

_not_run = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistry]:
    """A registry with the rule BACKWARD; whoever takes it away brings it back (``away``)."""
    with SchemaRegistry(home=tmp_path_factory.mktemp("schema-registry")) as running:
        yield running


@pytest.fixture(scope="session")
def client(registry: SchemaRegistry) -> Iterator[SchemaRegistryClient]:
    """Confluent's client: how others see what we have registered.

    By itself it waits for ever, and a registry that has just come back may leave a question
    without an answer; each of the URLs is asked in turn.
    """
    settings = {"url": f"{registry.url},{registry.url}", "timeout": _ANSWER_S}
    with SchemaRegistryClient(settings) as asking:
        yield asking


@pytest.fixture
def topic() -> str:
    """A topic whose subjects no other test knows."""
    return f"topic-{uuid.uuid4().hex}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what asks a real registry when none can be had; fetches it when needed."""
    asking = [item for item in items if item.get_closest_marker("real_registry") is not None]
    if not asking or config.option.collectonly:
        return
    try:
        schema_registry.program()
        java.find_java(schema_registry.OLDEST_JAVA)
    except (JarsUnavailableError, java.JavaUnavailableError) as error:
        if os.environ.get("CI") == "true":
            raise pytest.UsageError(f"CI needs a real schema registry: {error}") from error
        config.stash[_not_run] = f"{len(asking)} tests ask a real schema registry: {error}"
        config.hook.pytest_deselected(items=asking)
        items[:] = [item for item in items if item not in set(asking)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run for lack of a real registry."""
    reason = terminalreporter.config.stash.get(_not_run, "")
    if reason:
        terminalreporter.section("not run for lack of a real schema registry")
        terminalreporter.line(reason)
