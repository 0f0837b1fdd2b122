"""The page on a real worker: what is clicked is done, whatever things are called."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watch
from tests.browser.dashboard import Dashboard
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import free_ports
from tests.harness.worker import WorkerProcess
from tests.integration.worker_rig import Rig, prefix_of

pytestmark = pytest.mark.kafka

HOSTILE = (
    "<img src=x onerror=document.body.remove()>",
    "a/b c",
    "..a/../b",
    "50%2Fx?y=1&z#top;p",
    "ünï-☃-\U0001f984",
    "'\"`${x}</script>",
    "__proto__",
    "007",
)
UNREACHABLE = ".."
"""Browsers take it as a direction, in any spelling; the API itself can be asked by other means."""


def path_of(connector: str) -> str:
    segment = "%2E%2E" if connector == UNREACHABLE else quote(connector, safe="")
    return f"/connectors/{segment}"


def copy_a_file(rig: Rig, connector: str, file: Path) -> None:
    """A connector that copies a file."""
    config = {
        "name": connector,
        "connector.class": "FileStreamSource",
        "file": str(file),
        "topic": rig.topic("lines"),
    }
    rig.expect(201, "POST", "/connectors", {"name": connector, "config": config})


def states(rig: Rig, connector: str) -> tuple[str, ...]:
    body: Any = rig.expect(200, "GET", f"{path_of(connector)}/status").body
    return (body["connector"]["state"], *(task["state"] for task in body["tasks"]))


def is_paused(rig: Rig, connector: str) -> bool:
    return states(rig, connector) == ("PAUSED", "PAUSED")


def in_sync(rig: Rig) -> str:
    """A connector whose table ``t`` with three items is followed; its name."""
    rig.create_table("t", items=3)
    rig.create()
    rig.wait_following("t")
    rig.wait_equal("t")
    rig.wait(lambda: rig.shard_offsets(), "stored positions")
    return rig.name


def test_it_shows_what_the_worker_says(rig: Rig, dashboard: Dashboard) -> None:
    name = in_sync(rig)
    dashboard.open()
    dashboard.expect_state(name, "RUNNING")
    card = dashboard.card(name)
    expect(card).to_contain_text(f"DynamoDBSource · source · 127.0.0.1:{rig.worker.rest_port}")
    expect(card).to_contain_text("1 task: RUNNING")
    expect(card).to_contain_text("1 table: SYNC")
    row = dashboard.row("t")
    expect(row.locator(".badge")).to_have_text("SYNC")
    expect(row).to_contain_text(f"→ {rig.topic('t')}")
    expect(row).to_contain_text("3 items")
    expect(row).to_contain_text("1 shard")


def test_pause_and_resume(rig: Rig, dashboard: Dashboard) -> None:
    name = in_sync(rig)
    dashboard.open()
    dashboard.button("Pause", name).click()
    expect(dashboard.question).to_contain_text(f"Pause {name}?")
    expect(dashboard.question).to_contain_text("Its task will stop reading and keep its place")
    dashboard.answer("Pause")
    rig.wait_states("PAUSED", "PAUSED")
    dashboard.refresh()
    dashboard.expect_state(name, "PAUSED")
    expect(dashboard.row("t").locator(".badge")).to_have_text("PAUSED")
    dashboard.do("Resume", name)
    rig.wait_states("RUNNING", "RUNNING")
    dashboard.refresh()
    dashboard.expect_state(name, "RUNNING")


def test_who_changes_their_mind_changes_nothing(rig: Rig, dashboard: Dashboard) -> None:
    name = in_sync(rig)
    dashboard.open()
    dashboard.do("Stop", name, "Cancel")
    dashboard.button("Stop", name).click()
    expect(dashboard.question.get_by_role("button", name="Cancel")).to_be_focused()
    dashboard.page.keyboard.press("Enter")
    expect(dashboard.question).to_be_hidden()
    dashboard.button("Stop", name).click()
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.question).to_be_hidden()
    expect(dashboard.button("Stop", name)).to_be_focused()
    assert rig.states() == ("RUNNING", "RUNNING")


def test_offsets_are_reset_after_a_stop_and_a_second_question(
    rig: Rig, dashboard: Dashboard
) -> None:
    name = in_sync(rig)
    dashboard.open()
    dashboard.button("Reset offsets", name).click()
    expect(dashboard.question).to_contain_text(f"Stop {name} first?")
    dashboard.answer("Stop it first")
    expect(dashboard.question).to_contain_text(f"Reset the offsets of {name}?")
    rig.wait_states("STOPPED")
    assert rig.offsets() != {}
    dashboard.write_name(name)
    dashboard.answer("Reset offsets")
    expect(dashboard.question).to_be_hidden()
    expect(dashboard.news).to_have_text(f"{name} has no saved positions any more.")
    assert rig.offsets() == {}
    dashboard.expect_state(name, "STOPPED")
    dashboard.do("Resume", name)
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_records("t", 6)  # all of it once more


def test_what_has_failed_shows_why_and_is_restarted(
    rig: Rig, dashboard: Dashboard, tmp_path: Path
) -> None:
    file = tmp_path / "lines.txt"
    file.mkdir()  # nothing that could be read
    copy_a_file(rig, rig.name, file)
    rig.wait_states("RUNNING", "FAILED")
    dashboard.open()
    card = dashboard.card(rig.name)
    card.get_by_text("Task 0 has failed").click()
    trace = rig.status()["tasks"][0]["trace"]
    assert card.locator(".failures pre").inner_text() == trace.rstrip("\n")
    file.rmdir()
    file.write_text("one\n")
    dashboard.do("Restart", rig.name, "Restart what has failed")
    rig.wait_states("RUNNING", "RUNNING")
    dashboard.refresh()
    expect(card).to_contain_text("1 task: RUNNING")
    expect(card.get_by_text("Task 0 has failed")).to_be_hidden()


def test_a_restart_begins_the_tasks_anew(rig: Rig, dashboard: Dashboard) -> None:
    name = in_sync(rig)
    dashboard.open()

    def starts() -> int:
        return int(rig.control.counts().get("GetShardIterator", 0))

    def has_begun_anew(before: int) -> bool:
        return starts() > before

    dashboard.card(name).get_by_text("1 task: RUNNING").click()
    for action, answer in (("Restart", "Restart"), ("Restart task 0 of", "Restart task")):
        before = starts()
        dashboard.do(action, name, answer)
        rig.wait(functools.partial(has_begun_anew, before), action)
        rig.wait_following("t")


@pytest.fixture
def hostile(rig: Rig, tmp_path: Path) -> Iterator[Rig]:
    """Connectors whose names mean something to HTML, to URLs or to JavaScript."""
    file = tmp_path / "<b>lines.txt"
    file.touch()
    for name in (*HOSTILE, UNREACHABLE):
        copy_a_file(rig, name, file)
    yield rig
    for name in (*HOSTILE, UNREACHABLE):
        rig.expect(204, "DELETE", path_of(name))


def test_names_are_harmless_and_their_buttons_work(hostile: Rig, dashboard: Dashboard) -> None:
    dashboard.open()
    for name in HOSTILE:
        dashboard.do("Pause", name)
    for name in HOSTILE:
        hostile.wait(functools.partial(is_paused, hostile, name), name)
    dashboard.refresh()
    for name in HOSTILE:
        dashboard.expect_state(name, "PAUSED")
    assert dashboard.page.locator("main img, main script, main b").count() == 0
    file = dashboard.page.get_by_role("combobox", name="Connector")
    file.select_option(HOSTILE[0])
    expect(dashboard.rows).to_have_count(1)


def test_a_name_that_browsers_cannot_send_is_shown_and_left_alone(
    hostile: Rig, dashboard: Dashboard
) -> None:
    dashboard.open()
    dashboard.expect_state(UNREACHABLE, "RUNNING")
    expect(dashboard.card(UNREACHABLE)).to_contain_text("A browser cannot send requests")
    dashboard.button("Pause", UNREACHABLE).press("Enter")
    expect(dashboard.question).to_be_hidden()
    assert states(hostile, UNREACHABLE) == ("RUNNING", "RUNNING")


def test_a_worker_that_is_killed_is_missed_and_found_again(rig: Rig, dashboard: Dashboard) -> None:
    name = in_sync(rig)
    dashboard.open()
    rig.worker.kill9()
    dashboard.refresh()
    expect(dashboard.banner).to_contain_text("The worker cannot be reached.")
    dashboard.expect_state(name, "RUNNING")  # what was known stays to be read
    rig.worker.start()
    rig.worker.wait_healthy()
    rig.wait(rig.rows, "a life of its tasks")  # before, states are those of the life that is over
    rig.wait_states("RUNNING", "RUNNING")
    dashboard.refresh()
    expect(dashboard.banner).to_be_hidden()
    expect(dashboard.freshness).to_contain_text("Updated")
    dashboard.expect_state(name, "RUNNING")


REFUSED = {
    "a request to another host": "await fetch(elsewhere)",
    "HTML that is parsed": "document.body.innerHTML = '<b>x</b>'",
    "a script of no file": "const script = document.createElement('script'); script.text = '1'",
}


@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
def test_the_policy_refuses(rig: Rig, dashboard: Dashboard, watch: Watch, code: str) -> None:
    dashboard.open()
    elsewhere = f"http://127.0.0.1:{free_ports(1)[0]}/"
    attempt = f"""async elsewhere => {{
        try {{ {code}; return "done"; }} catch (error) {{ return error.name; }}
    }}"""
    assert dashboard.page.evaluate(attempt, elsewhere) == "TypeError"
    assert watch.faults != []
    watch.faults.clear()
    watch.hosts.discard(elsewhere.split("/")[2])


# -- where people log in ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(
    kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker that asks who one is, with a connector ``c``."""
    home = tmp_path_factory.mktemp("guarded")
    users = home / "users.properties"
    users.write_text("admin=s3cret\n")
    prefix = prefix_of(__name__)
    login = {"Authorization": "Basic YWRtaW46czNjcmV0"}
    properties = {"connectd.rest.basic.auth.credentials.file": str(users)}
    with WorkerProcess(
        kafka_broker.bootstrap,
        group_id=f"{prefix}guarded",
        topics_prefix=prefix,
        headers=login,
        home=home / "worker",
        properties=properties,
    ) as worker:
        worker.wait_healthy()
        file = home / "lines.txt"
        file.touch()
        config = {"connector.class": "FileStreamSource", "file": str(file), "topic": f"{prefix}l"}
        created = worker.request("POST", "/connectors", {"name": "c", "config": config})
        assert created.status == 201
        yield worker


@pytest.fixture
def logged_in(browser: Browser) -> Iterator[Page]:
    """A page of somebody who gives the browser their password when it asks for it."""
    context = browser.new_context(
        http_credentials={"username": "admin", "password": "s3cret"}  # as in the browser's dialog
    )
    yield context.new_page()
    context.close()


def test_the_login_that_the_browser_asks_for_is_enough(
    guarded: WorkerProcess, logged_in: Page
) -> None:
    dashboard = Dashboard(logged_in, guarded.rest_url)
    dashboard.open()
    dashboard.do("Pause", "c")
    dashboard.expect_state("c", "PAUSED")


class _EmptyPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody asks."""


@pytest.fixture
def foreign_port() -> Iterator[int]:
    """Of a web server that is not the worker."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _EmptyPage) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_no_other_page_profits_from_a_login(
    guarded: WorkerProcess, logged_in: Page, foreign_port: int
) -> None:
    Dashboard(logged_in, guarded.rest_url).open()
    url = f"{guarded.rest_url}/connectors/c/restart"
    for host in ("localhost", "127.0.0.1"):  # another site, and another origin of this one
        logged_in.goto(f"http://{host}:{foreign_port}/")
        with logged_in.expect_response(url) as answered:
            # The only change that a browser sends elsewhere without asking first.
            logged_in.evaluate(
                """url => {
                    fetch(url, { method: "POST", mode: "no-cors", credentials: "include" });
                }""",
                url,
            )
        assert answered.value.status == 403
