"""What the page makes of what it is told: made-up answers, so that every situation is at hand."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.dashboard import Dashboard
from tests.browser.scripted_api import ScriptedApi, scanning, table

pytestmark = pytest.mark.kafka


@pytest.fixture
def api(page: Page) -> ScriptedApi:
    return ScriptedApi(page)


def set_hidden(page: Page, is_hidden: bool) -> None:
    """As when somebody looks at another tab."""
    page.evaluate(
        """isHidden => {
            Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )


def assert_nothing_was_asked(page: Page, api: ScriptedApi) -> None:
    """Whatever the page has begun to ask comes before what is asked here."""
    page.evaluate("fetch('connectors?expand=status').then((answer) => answer.text())")
    assert api.asked == ["/connectors"]


# -- tables -------------------------------------------------------------------------------------


def test_a_scan_has_a_bar_and_the_time_that_it_will_take(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("c", scanning("t", 250_000, 1_000_000, items_per_s=500.0, left_s=1500))
    api.open(dashboard)
    row = dashboard.row("t")
    expect(row).to_contain_text("25 %, about 25 min left")
    expect(row).to_contain_text("250,000 of about 1,000,000 items, 500/s")
    bar = row.get_by_role("progressbar", name="Initial scan of t")
    expect(bar).to_have_attribute("value", "25")


def test_speed_and_time_left_are_measured_where_the_worker_does_not_tell_them(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("c", scanning("t", 1_000, 101_000))
    api.open(dashboard)
    expect(dashboard.row("t")).not_to_contain_text("left")
    api.add("c", scanning("t", 11_000, 101_000))
    dashboard.refresh()
    expect(dashboard.row("t")).to_contain_text("10 %, about 45 s left")
    expect(dashboard.row("t")).to_contain_text("11,000 of about 101,000 items, 2,000/s")


@pytest.mark.parametrize("estimated", [0, 900])
def test_a_size_that_is_unknown_or_was_wrong_gives_no_percentage(
    dashboard: Dashboard, api: ScriptedApi, estimated: int
) -> None:
    api.add("c", scanning("t", 1_000, estimated, items_per_s=10.0))
    api.open(dashboard)
    expect(dashboard.row("t")).to_contain_text("of unknown size")
    bar = dashboard.row("t").get_by_role("progressbar")
    assert bar.get_attribute("value") is None


def test_the_lag_of_the_last_minutes_is_a_line(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.add("c", table("t", lag_s=0.4))
    api.open(dashboard)
    line = dashboard.row("t").locator("polyline")
    lags = (2.0, 75.0, 7_500.0)
    words = ("2 s", "75 s", "2 h 5 min")
    for count, (lag, text) in enumerate(zip(lags, words, strict=True), 2):
        api.add("c", table("t", lag_s=lag))
        dashboard.refresh()
        expect(dashboard.row("t").locator(".lag-words")).to_have_text(text)
        assert len((line.get_attribute("points") or "").split()) == count


def test_gaps_and_troubles_are_said_in_words(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.add(
        "c",
        table("lossy", gaps=2),
        table("slow", reason="shard 7: throttled (attempt 6)", last_read_age_s=75.0),
        table("odd", "SKIPPED", reason="its stream is disabled", items_scanned=1),
        table("deaf", lag_s=None, shards_open=0, last_read_age_s=None),
    )
    api.open(dashboard)
    expect(dashboard.row("lossy")).to_contain_text("2 gaps: changes were lost")
    expect(dashboard.row("slow")).to_contain_text("shard 7: throttled (attempt 6)")
    expect(dashboard.row("slow")).to_contain_text("last read 75 s ago")
    expect(dashboard.row("odd")).to_contain_text("its stream is disabled")
    expect(dashboard.row("odd").locator(".scan")).to_have_text("1 item")
    expect(dashboard.row("deaf")).to_contain_text("no shard is read now")


def test_a_table_that_stands_still_is_not_green(dashboard: Dashboard, api: ScriptedApi) -> None:
    why = "no progress for 400 s"
    api.add(
        "c",
        table("a"),
        table("still", degraded=True, reason=why),
        table("failed", "FAILED", degraded=True),
    )
    api.open(dashboard)
    badge = dashboard.row("still").locator(".badge")
    expect(badge).to_have_text("SYNC, degraded")
    expect(badge).to_have_attribute("data-tone", "warn")
    expect(dashboard.row("failed").locator(".badge")).to_have_text("FAILED")
    expect(dashboard.card("c")).to_contain_text("1 DEGRADED")
    assert dashboard.names() == ["failed", "still", "a"]
    dashboard.page.get_by_role("button", name="Show the tables in DEGRADED: 1 DEGRADED").click()
    assert dashboard.names() == ["still"]


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        (["RUNNING"], "Its task will end and give back what it holds."),
        (["RUNNING"] * 2, "Its 2 tasks will end and give back what they hold."),
    ],
)
def test_a_question_speaks_of_one_task_as_of_one(
    dashboard: Dashboard, api: ScriptedApi, tasks: list[str], words: str
) -> None:
    api.add("c", table("t"), tasks=tasks)
    api.open(dashboard)
    dashboard.button("Stop", "c").click()
    expect(dashboard.question).to_contain_text(words)


def test_a_long_name_of_a_connector_leaves_room_for_the_tables(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("n" * 300, table("orders"))
    api.open(dashboard)
    dashboard.page.set_viewport_size({"width": 1280, "height": 800})
    heading = dashboard.row("orders").get_by_role("rowheader").bounding_box()
    connector = dashboard.row("orders").get_by_role("cell").last.bounding_box()
    assert heading is not None
    assert connector is not None
    assert connector["width"] < heading["width"] * 2


def test_rows_of_another_plugin_need_nothing_but_a_name_and_a_state(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("c", {"table": "a.txt", "state": "WAITING", "reason": None})
    api.open(dashboard)
    expect(dashboard.row("a.txt").locator(".badge")).to_have_text("WAITING")


def test_a_thousand_tables_stay_one_short_page(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.add("many", *(table(f"t{number}", lag_s=number % 700) for number in range(1000)))
    api.add("other", table("failed", "FAILED", reason="AccessDenied"))
    api.open(dashboard)
    page = dashboard.page
    expect(dashboard.rows).to_have_count(50)
    expect(page.locator("#tables-count")).to_have_text("1 to 50 of 1,001 tables")
    assert dashboard.names()[:3] == ["failed", "t0", "t1"]  # what is wrong, then by name
    page.get_by_role("button", name="Lag").click()
    expect(page.locator(".table-name").first).to_have_text("t699")
    page.get_by_role("button", name="Lag").click()
    expect(page.locator(".table-name").first).to_have_text("failed")
    page.get_by_role("searchbox").fill("t99")
    expect(page.locator("#tables-count")).to_have_text("11 tables, of 1,001 in all")
    assert sorted(dashboard.names()) == ["t99", *(f"t{number}" for number in range(990, 1000))]
    page.get_by_role("searchbox").fill("denied")
    expect(dashboard.rows).to_have_count(1)
    page.get_by_role("searchbox").fill("nothing like this")
    expect(page.locator("#tables-empty")).to_have_text("No table fits these filters.")


def test_pages_are_turned_and_the_place_survives_a_refresh(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("c", *(table(f"t{number:03}") for number in range(120)))
    api.open(dashboard)
    pages = dashboard.page.get_by_role("navigation", name="Pages of tables")
    pages.get_by_role("button", name="Next").click()
    pages.get_by_role("button", name="Next").click()
    last = pages.get_by_role("button", name="Next")
    expect(last).to_have_attribute("aria-disabled", "true")
    last.press("Enter")  # nothing happens
    expect(dashboard.page.locator("#tables-count")).to_have_text("101 to 120 of 120 tables")
    api.add("c", *(table(f"t{number:03}") for number in range(120)), table("t100b"))
    dashboard.refresh()
    expect(dashboard.rows).to_have_count(21)
    api.add("c", table("t001"))
    dashboard.refresh()
    expect(dashboard.rows).to_have_count(1)


def test_the_overview_and_the_connector_lead_to_their_tables(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("a", table("a1"), table("a2", "FAILED"))
    api.add("b", table("b1"))
    api.open(dashboard)
    page = dashboard.page
    page.get_by_role("button", name="Show the tables in FAILED: 1 FAILED").click()
    expect(dashboard.rows).to_have_count(1)
    assert dashboard.names() == ["a2"]
    page.get_by_role("button", name="Show the 2 tables of a").click()
    assert dashboard.names() == ["a2", "a1"]
    expect(page.get_by_role("heading", name="Tables")).to_be_focused()
    page.get_by_role("combobox", name="Connector").select_option("b")
    assert dashboard.names() == ["b1"]


# -- connectors ---------------------------------------------------------------------------------


def test_what_fails_comes_first_with_its_trace(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.add("a")
    api.add("m", state="FAILED", tasks=(), connector_trace="ConfigError: no such role\n  at start")
    api.add("z", tasks=("RUNNING", "FAILED"), trace="FatalTaskError: denied\n  at poll")
    api.open(dashboard)
    page = dashboard.page
    assert page.get_by_role("heading", level=3).all_inner_texts() == ["m", "z", "a"]
    trace = dashboard.card("z").get_by_text("Task 1 has failed: FatalTaskError: denied")
    expect(trace).to_be_visible()
    expect(dashboard.card("z").get_by_text("at poll")).to_be_hidden()
    trace.click()
    expect(dashboard.card("z").get_by_text("at poll")).to_be_visible()
    dashboard.refresh()
    expect(dashboard.freshness).to_contain_text("Updated")
    expect(dashboard.card("z").get_by_text("at poll")).to_be_visible()  # still open
    head = dashboard.card("m").get_by_text("The connector has failed: ConfigError: no such role")
    expect(head).to_be_visible()
    assert page.title() == "(2 failing) connectd"


def test_an_answer_that_is_refused_is_told_and_can_be_tried_again(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("c")
    api.open(dashboard)
    api.change_status = 409
    dashboard.button("Pause", "c").click()
    dashboard.answer("Pause")
    expect(dashboard.question).to_contain_text("a rebalance is under way")
    api.change_status = 202
    dashboard.answer("Pause")
    expect(dashboard.question).to_be_hidden()
    assert api.changes == ["PUT connectors/c/pause"] * 2


def second_click(page: Page, at: tuple[float, float]) -> None:
    """The latter half of a double click: it falls on whatever is there by now."""
    page.mouse.move(*at)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)


def middle(button: Locator) -> tuple[float, float]:
    box = button.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def answered(page: Page) -> None:
    """Whatever the page has begun to ask comes before what is asked here."""
    page.evaluate("fetch('connectors?expand=status').then((answer) => answer.text())")


@pytest.mark.parametrize(
    ("action", "state", "answers"),
    [
        ("Pause", "RUNNING", ["Pause"]),
        ("Resume", "PAUSED", ["Resume"]),
        ("Restart", "RUNNING", ["Restart"]),
        ("Restart", "FAILED", ["Restart what has failed", "Restart everything"]),
        ("Stop", "RUNNING", ["Stop"]),
        ("Reset offsets", "RUNNING", ["Stop it first"]),
        ("Reset offsets", "STOPPED", []),  # wants more than a click
        ("Restart task 0 of", "RUNNING", ["Restart task"]),
    ],
)
def test_no_question_is_answered_by_a_double_click(
    dashboard: Dashboard, api: ScriptedApi, action: str, state: str, answers: list[str]
) -> None:
    """Neither by that which asked it, nor by that which answered the one before."""
    api.add("c", state=state, tasks=() if state == "STOPPED" else (state,))
    api.open(dashboard)
    page = dashboard.page
    if action.startswith("Restart task"):
        dashboard.card("c").get_by_text("1 task: RUNNING").click()
    for answer in answers or ["Reset offsets"]:
        dashboard.button(action, "c").click()
        at = middle(dashboard.question.get_by_role("button", name=answer, exact=True))
        second_click(page, at)
        answered(page)
        assert api.changes == []
        expect(dashboard.question).to_be_visible()
        page.mouse.click(*at)
        answered(page)
        if answers:
            expect(dashboard.news).not_to_have_text("")
        second_click(page, at)
        answered(page)
        assert len(api.changes) == len(answers[:1])
        api.changes.clear()
        dashboard.page.keyboard.press("Escape")
        expect(dashboard.question).to_be_hidden()


def test_what_cannot_be_undone_wants_the_name_in_writing(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("my  c", state="STOPPED", tasks=())
    api.open(dashboard)
    dashboard.page.get_by_role("button", name="Reset offsets my  c").click()
    reset = dashboard.question.get_by_role("button", name="Reset offsets", exact=True)
    expect(reset).to_be_disabled()
    dashboard.write_name("my")
    expect(reset).to_be_disabled()
    dashboard.write_name("my c")  # blanks are not seen to be two
    dashboard.answer("Reset offsets")
    expect(dashboard.question).to_be_hidden()
    assert api.changes == ["DELETE connectors/my%20%20c/offsets"]


def test_a_reason_that_is_a_book_leaves_room_for_others(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    book = "The end of the world. " * 200
    api.add("c", table("t", reason=f"{book}FIN"), tasks=("FAILED",), trace=f"{book}\n  at poll")
    api.open(dashboard)
    row = dashboard.row("t")
    trace = dashboard.card("c").locator("summary").filter(has_text="Task 0 has failed")
    expect(row).to_contain_text("The end of the world.")
    assert all((each.bounding_box() or {"height": 1e9})["height"] < 300 for each in (row, trace))
    trace.click()
    expect(dashboard.card("c").get_by_text("at poll")).to_be_visible()
    assert (trace.bounding_box() or {"height": 1e9})["height"] < 300
    row.get_by_text("The whole reason").click()
    expect(row.get_by_text("FIN")).to_be_visible()
    assert (row.bounding_box() or {"height": 1e9})["height"] < 600


def test_only_what_has_failed_can_be_restarted(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.add("c", tasks=("RUNNING", "FAILED"))
    api.open(dashboard)
    dashboard.do("Restart", "c", "Restart what has failed")
    dashboard.do("Restart", "c", "Restart everything")
    dashboard.card("c").get_by_text("2 tasks: 1 RUNNING, 1 FAILED").click()
    dashboard.do("Restart task 1 of", "c", "Restart task")
    restart = "POST connectors/c/restart?includeTasks=true"
    task = "POST connectors/c/tasks/1/restart"
    assert api.changes == [f"{restart}&onlyFailed=true", restart, task]


def test_what_makes_no_sense_asks_nothing_and_says_why(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("c", state="STOPPED", tasks=())
    api.open(dashboard)
    for label, reason in (
        ("Pause", "c is stopped: there is nothing to pause."),
        ("Restart", "c is stopped: resume it instead."),
        ("Stop", "c is stopped already."),
    ):
        button = dashboard.button(label, "c")
        expect(button).to_have_attribute("aria-disabled", "true")
        button.focus()
        button.press("Enter")
        expect(dashboard.news).to_have_text(reason)
        expect(button).to_be_focused()
    expect(dashboard.question).to_be_hidden()
    assert api.changes == []


# -- refreshing ---------------------------------------------------------------------------------


def test_it_asks_each_thing_once_per_refresh(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.add("a", table("t"))
    api.add("b")
    api.open(dashboard)
    api.asked.clear()
    api.tables["a"] = [table("new")]
    dashboard.refresh()
    expect(dashboard.row("new")).to_be_visible()
    tables = [f"/connectd/connectors/{name}/tables" for name in ("a", "b")]
    assert sorted(api.asked) == ["/", *tables, "/connectd/health/ready", "/connectors"]


def test_it_can_be_paused_and_rests_while_nobody_looks(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("c", table("t"))
    api.open(dashboard)
    page = dashboard.page
    page.get_by_role("button", name="Pause refresh").click()
    expect(dashboard.freshness).to_contain_text("Paused; this is the state of")
    api.asked.clear()
    page.clock.fast_forward(60_000)
    set_hidden(page, is_hidden=True)
    set_hidden(page, is_hidden=False)
    assert_nothing_was_asked(page, api)
    page.get_by_role("button", name="Resume refresh").click()
    expect(dashboard.freshness).to_contain_text("Updated")
    assert api.asked != []
    set_hidden(page, is_hidden=True)
    expect(dashboard.freshness).to_contain_text("Paused while nobody looks")
    api.asked.clear()
    page.clock.fast_forward(60_000)
    assert_nothing_was_asked(page, api)
    api.tables["c"] = [table("new")]
    set_hidden(page, is_hidden=False)
    expect(dashboard.row("new")).to_be_visible()
    expect(dashboard.freshness).to_contain_text("Updated")


def test_a_worker_that_is_away_is_a_banner_until_it_is_back(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("c", table("t"))
    api.open(dashboard)
    api.is_away = True
    dashboard.refresh()
    expect(dashboard.banner).to_contain_text("The worker cannot be reached. What you see is the")
    expect(dashboard.freshness).to_contain_text("Trying again every 5 s")
    expect(dashboard.row("t")).to_be_visible()
    api.is_away = False
    dashboard.refresh()
    expect(dashboard.freshness).to_contain_text("Updated")
    expect(dashboard.banner).to_be_hidden()


def test_a_worker_that_is_not_ready_says_why_until_it_is(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    """One that has lost its config topic would look like one that is new."""
    api.reasons_not_ready = ["The config topic is new.", "Kafka does <b>not</b> answer."]
    api.open(dashboard)
    words = "The worker is not ready. The config topic is new. Kafka does <b>not</b> answer."
    not_ready = dashboard.page.locator("#not-ready")
    expect(not_ready).to_have_text(words)
    expect(dashboard.banner).to_be_hidden()
    api.reasons_not_ready = []
    dashboard.refresh()
    expect(not_ready).to_be_hidden()


def test_tables_that_another_worker_did_not_show_are_missed_in_words(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.add("c", table("t"))
    api.add("d")
    api.unanswered = [{"url": "http://w2:8083/", "reason": "no answer within 5 s"}]
    api.open(dashboard)
    words = "Tables of other workers are missing here: http://w2:8083/ (no answer within 5 s)."
    expect(dashboard.page.locator("#unanswered")).to_have_text(words)
    expect(dashboard.row("t")).to_be_visible()
    api.unanswered = []
    dashboard.refresh()
    expect(dashboard.page.locator("#unanswered")).to_be_hidden()


def test_a_change_is_seen_at_once(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.add("c", state="PAUSED", tasks=("PAUSED",))
    api.open(dashboard)
    api.add("c")
    dashboard.do("Resume", "c")
    dashboard.expect_state("c", "RUNNING")
    expect(dashboard.news).to_have_text("c is being resumed.")


def test_an_empty_worker_says_so(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.open(dashboard)
    expect(dashboard.page.locator("#connectors-empty")).to_contain_text("There is no connector.")
    expect(dashboard.page.locator("#tables-empty")).to_contain_text("No connector shows a table")


DURATIONS = {
    0: "0 s", 0.44: "0.4 s", 9.96: "10 s", 42.4: "42 s", 99.4: "99 s",
    100: "2 min", 3_540: "59 min", 3_600: "1 h", 7_500: "2 h 5 min",
    172_800: "2 d", 273_600: "3 d 4 h",
}  # fmt: skip


def test_durations_have_their_largest_units(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.add("c", *(table(f"of {seconds} s", lag_s=seconds) for seconds in DURATIONS))
    api.open(dashboard)
    for seconds, words in DURATIONS.items():
        expect(dashboard.row(f"of {seconds} s").locator(".lag-words")).to_have_text(words)
