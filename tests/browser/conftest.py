"""One worker for all tests of the dashboard, one browser for each module, one page for each test.

Where no browser can be had these tests are taken out of the run and named in one line at its end;
on CI that is an error. A page that meets an error in its own code, breaks its own security policy
or asks anybody but the worker for something fails its test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.browser.dashboard import Dashboard
from tests.harness import chromium
from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig, prefix_of

HERE = Path(__file__).parent
DEADLINE_MS = 30_000
BEGINNING, NOW = "2026-01-02T10:00:00", "2026-01-02T10:10:00"
EXPECTED = "Failed to load resource"
"""What the console says of an answer of 400 and above, and of none: the page is to cope."""

_not_run = pytest.StashKey[str]()


@dataclass
class Watch:
    """Errors that a page has met, and the hosts that it has asked for something."""

    faults: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def over(self, page: Page) -> None:
        """Begin to watch a page."""
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(EXPECTED):
            self.faults.append(message.text)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Install the browser before the first test: it takes longer than a test may."""
    needing = [item for item in items if HERE in item.path.parents]
    if not needing or config.option.collectonly:
        return
    try:
        chromium.executable()
    except chromium.ChromiumUnavailableError as error:
        what = f"{len(needing)} tests of the dashboard in a browser: {error}"
        if os.environ.get("CI") == "true":
            raise pytest.UsageError(f"not run: {what}") from error
        config.stash[_not_run] = what
        config.hook.pytest_deselected(items=needing)
        items[:] = [item for item in items if item not in set(needing)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run."""
    if what := terminalreporter.config.stash.get(_not_run, ""):
        terminalreporter.line(f"not run: {what}")


@pytest.fixture(scope="session")
def worker_of_browsers(
    kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """The worker that all pages are of, one after another."""
    with Rig(kafka_broker, prefix_of(__name__), tmp_path_factory.mktemp("ui-worker")) as rig:
        yield rig


@pytest.fixture
def rig(worker_of_browsers: Rig) -> Iterator[Rig]:
    """The worker, lent to one test."""
    with worker_of_browsers.lent() as rig:
        yield rig


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """While it is there no test can run an event loop of its own: so it ends with the module."""
    expect.set_options(timeout=DEADLINE_MS)
    with chromium.browser() as started:
        yield started


@pytest.fixture
def watch() -> Watch:
    """What the page of this test must not do; who provokes it takes it out again."""
    return Watch()


@pytest.fixture
def page(browser: Browser, watch: Watch) -> Iterator[Page]:
    """A page of a fresh profile. Its clock stands still until a test puts it forward."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    page = context.new_page()
    page.set_default_timeout(DEADLINE_MS)
    page.clock.install(time=BEGINNING)
    page.clock.pause_at(NOW)
    watch.over(page)
    yield page
    own = urlsplit(page.url).netloc
    context.close()
    assert watch.faults == []
    assert watch.hosts <= {own}


@pytest.fixture
def dashboard(page: Page, worker_of_browsers: Rig) -> Dashboard:
    """The dashboard, not opened yet."""
    return Dashboard(page, worker_of_browsers.worker.rest_url)
