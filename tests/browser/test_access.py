"""Who can use the page: with a keyboard, with a screen reader, in the dark, on a telephone."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard
from tests.browser.scripted_api import ScriptedApi, scanning, table

pytestmark = pytest.mark.kafka

CONTRAST_MIN = 4.5
"""WCAG 2.2, 1.4.3, for text of ordinary size."""

FOCUSED = """() => {
    const node = document.activeElement;
    const style = getComputedStyle(node);
    return {
        words: node.getAttribute("aria-label") || node.id || node.textContent.trim(),
        isInDialog: node.closest("dialog") !== null,
        isBody: node === document.body,
        outline: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
    };
}"""

NAMELESS = """() => {
    const nameOf = (node) => node.getAttribute("aria-label")
        || document.getElementById(node.getAttribute("aria-labelledby"))?.textContent
        || [...(node.labels ?? [])].map((label) => label.textContent).join("")
        || node.textContent;
    const all = document.querySelectorAll("button, a, input, select, summary, dialog, table, nav, "
        + "[role=group], [role=search], progress, section");
    return [...all].filter((node) => node.checkVisibility() && nameOf(node).trim() === "")
        .map((node) => node.outerHTML);
}"""

PALE = """(least) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = ([r, g, b]) => [r, g, b].map((value) => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    }).reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
    const groundOf = (node) => {
        for (let each = node; each; each = each.parentElement) {
            const color = rgba(getComputedStyle(each).backgroundColor);
            if (color[3] === 255) return color;
        }
        throw new Error("no ground");
    };
    const hasText = (node) => [...node.childNodes].some((child) =>
        child.nodeType === Node.TEXT_NODE && child.textContent.trim() !== "");
    const found = [];
    for (const node of document.querySelectorAll("body *")) {
        if (!hasText(node) || !node.checkVisibility() || node.closest("noscript")) continue;
        const pair = [rgba(getComputedStyle(node).color), groundOf(node)].map(luminance);
        const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
        if (contrast < least) found.push([node.className || node.tagName, contrast].join(": "));
    }
    return [...new Set(found)];
}"""


@pytest.fixture
def api(page: Page) -> ScriptedApi:
    """One of everything."""
    api = ScriptedApi(page)
    api.add("a", scanning("big", 10, 100, items_per_s=1.0), scanning("odd", 10, 0), table("t"))
    api.add("b", table("f", "FAILED", reason="denied", gaps=1), tasks=("FAILED",), trace="why\nso")
    api.add("p", table("rest", "PAUSED"), state="PAUSED", tasks=("PAUSED",))
    api.add("s", state="STOPPED", tasks=())
    api.add("u", table("again", "RESYNC", reason="a gap"), state="UNASSIGNED", tasks=())
    return api


def focused(page: Page) -> Any:
    return page.evaluate(FOCUSED)


def test_everything_is_reached_by_tab_and_is_seen_to_be(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.open(dashboard)
    page = dashboard.page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    interactive = "a[href], button, input, select, summary, pre[tabindex='0']"
    wanted = page.locator(interactive).filter(visible=True).count()
    page.keyboard.press("Tab")
    reached = [focused(page)]
    while not reached[-1]["isBody"] and len(reached) <= wanted:
        page.keyboard.press("Tab")
        reached.append(focused(page))
    words = [each["words"] for each in reached if not each["isBody"]]
    assert len(words) == wanted
    for label in ("Pause", "Resume", "Restart", "Stop", "Reset offsets"):
        assert f"{label} a" in words
    assert "Restart task 0 of b" in words
    assert [each["words"] for each in reached if not each["isBody"] and each["outline"] < 2] == []


def test_a_question_is_answered_without_a_mouse_and_holds_the_focus(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.open(dashboard)
    page = dashboard.page
    dashboard.button("Restart", "b").focus()
    page.keyboard.press("Enter")
    expect(dashboard.question).to_be_visible()
    assert focused(page)["words"] == "Cancel"
    visited = []
    for _ in range(8):
        page.keyboard.press("Tab")
        at = focused(page)
        assert at["isInDialog"] or at["isBody"]  # the browser's own frame comes in between
        visited.append(at["words"])
    assert {"Cancel", "Restart what has failed", "Restart everything"} <= set(visited)
    while focused(page)["words"] != "Restart what has failed":
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(dashboard.question).to_be_hidden()
    assert api.changes == ["POST connectors/b/restart?includeTasks=true&onlyFailed=true"]
    assert focused(page)["words"] == "Restart b"


def test_a_refresh_leaves_focus_and_words_where_they_are(
    dashboard: Dashboard, api: ScriptedApi
) -> None:
    api.open(dashboard)
    page = dashboard.page
    search = page.get_by_role("searchbox")
    search.press_sequentially("bi")
    for lag in (1.5, 2.5):
        api.add("a", scanning("big", 20, 100, items_per_s=1.0), table("big2", lag_s=lag))
        dashboard.refresh()
        expect(dashboard.row("big2")).to_contain_text(f"{lag} s")
    expect(search).to_be_focused()
    expect(search).to_have_value("bi")
    search.press("g")
    expect(dashboard.rows).to_have_count(2)


def test_screen_readers_find_names_and_structure(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.open(dashboard)
    page = dashboard.page
    assert page.evaluate(NAMELESS) == []
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("heading", level=1).count() == 1
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => h.tagName).join()")
    assert levels.startswith("H1,H2,H3")
    duplicates = "() => new Set([...document.querySelectorAll('[id]')].map(n => n.id)).size"
    assert page.evaluate(duplicates) == page.locator("[id]").count()
    for landmark in ("banner", "main", "contentinfo", "search"):
        expect(page.get_by_role(landmark)).to_have_count(1)
    expect(page.get_by_role("columnheader", name="State")).to_have_attribute(
        "aria-sort", "ascending"
    )
    expect(page.get_by_role("rowheader")).to_have_count(6)
    live = page.locator("[aria-live], [role=status], [role=alert]").count()
    assert live <= 5  # each of them interrupts somebody


def test_a_refresh_says_nothing_aloud(dashboard: Dashboard, api: ScriptedApi) -> None:
    api.open(dashboard)
    page = dashboard.page
    page.evaluate(
        """() => {
            window.spoken = 0;
            const regions = document.querySelectorAll("[aria-live], [role=status], [role=alert]");
            const count = (changes) => { window.spoken += changes.length; };
            const observer = new MutationObserver(count);
            const all = { childList: true, characterData: true, attributes: true, subtree: true };
            for (const region of regions) observer.observe(region, all);
        }"""
    )
    api.add("p", table("rest", lag_s=7.0))
    dashboard.refresh()
    expect(dashboard.row("rest")).to_contain_text("7 s")
    assert page.evaluate("window.spoken") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(
    dashboard: Dashboard, api: ScriptedApi, scheme: Literal["light", "dark"]
) -> None:
    page = dashboard.page
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    api.open(dashboard)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    is_dark = sum(int(part) for part in ground[4:-1].split(",")) < 3 * 128
    assert is_dark == (scheme == "dark")
    page.get_by_text("Task 0 has failed").click()
    assert page.evaluate(PALE, CONTRAST_MIN) == []
    api.change_status = 409
    for action, answer in (("Stop", "Stop"), ("Pause", "Pause")):
        dashboard.button(action, "a").click()
        dashboard.answer(answer)
        expect(dashboard.question).to_contain_text("a rebalance is under way")
        assert page.evaluate(PALE, CONTRAST_MIN) == []
        dashboard.answer("Cancel")


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_screen_needs_no_sideways_scrolling(
    dashboard: Dashboard, api: ScriptedApi, width: int
) -> None:
    page = dashboard.page
    page.set_viewport_size({"width": width, "height": 800})
    api.add("n" * 80, table("t" * 120, reason="r" * 200), trace="x" * 300, tasks=("FAILED",))
    api.open(dashboard)
    page.get_by_role("button", name="Stop a", exact=True).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("dialog").evaluate("node => node.scrollWidth <= node.clientWidth")
    dashboard.answer("Cancel")
    # Rows are cards now, and still rows of a table for those who cannot see that.
    expect(dashboard.row("t" * 120).get_by_role("cell")).to_have_count(5)
