"""One worker for all clients, and the environment that they are installed in.

Where the clients cannot be installed (no index, no room) their tests are taken out of the run and
named in one line at its end; on CI that is an error.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator

import pytest

from tests.clients.interpreter import Interpreter
from tests.harness.client_env import ClientEnv, ClientsUnavailableError, client_env
from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig, prefix_of

FIXTURE = "clients"

_not_run = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Install the clients before the first test: it takes longer than a test may."""
    needing = [item for item in items if FIXTURE in getattr(item, "fixturenames", ())]
    if not needing or config.option.collectonly:
        return
    try:
        env = client_env()
        lacking = [
            item for item in needing if item.path.stem == "test_bkkt" and not env.has("bkkt")
        ]
        reason = f"bkkt does not support Python {platform.python_version()}"
    except ClientsUnavailableError as error:
        lacking, reason = needing, str(error)
    if not lacking:
        return
    what = f"{len(lacking)} tests of public clients, which could not be installed: {reason}"
    if os.environ.get("CI") == "true":
        raise pytest.UsageError(f"not run: {what}")
    config.stash[_not_run] = what
    config.hook.pytest_deselected(items=lacking)
    items[:] = [item for item in items if item not in set(lacking)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run."""
    if what := terminalreporter.config.stash.get(_not_run, ""):
        terminalreporter.line(f"not run: {what}")


@pytest.fixture(scope="session")
def clients() -> ClientEnv:
    """Where the clients are installed."""
    return client_env()


@pytest.fixture
def python(clients: ClientEnv) -> Iterator[Interpreter]:
    """A Python session in which the clients can be imported."""
    with Interpreter(clients) as session:
        yield session


@pytest.fixture(scope="session")
def worker_of_clients(
    kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """The worker that all clients talk to, one after another."""
    home = tmp_path_factory.mktemp("clients-worker")
    with Rig(kafka_broker, prefix_of("clients"), home) as started:
        yield started


@pytest.fixture
def rig(worker_of_clients: Rig) -> Iterator[Rig]:
    """The worker, lent to one test: without connectors, and with a name for one of its own."""
    with worker_of_clients.lent():
        yield worker_of_clients
