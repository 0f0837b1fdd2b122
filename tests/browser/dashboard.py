"""The dashboard as people see it: what stands where, and what they click."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

REFRESH_MS = 5_000


class Dashboard:
    """One open page. Elements are found by role and name, as assistive technology finds them."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self) -> None:
        """Load the page and wait until it shows what the worker says."""
        self.page.goto(f"{self.url}/ui")
        expect(self.freshness).to_contain_text("Updated")

    def refresh(self) -> None:
        """Let the time pass until the next refresh."""
        self.page.clock.fast_forward(REFRESH_MS)

    @property
    def freshness(self) -> Locator:
        """What the page says of its own age."""
        return self.page.locator("#freshness")

    @property
    def banner(self) -> Locator:
        """What is wrong between page and worker."""
        return self.page.locator("#banner")

    @property
    def news(self) -> Locator:
        """What screen readers are told."""
        return self.page.locator("#news")

    def card(self, connector: str) -> Locator:
        """The place of a connector."""
        heading = self.page.get_by_role("heading", name=connector, exact=True, level=3)
        return self.page.get_by_role("listitem").filter(has=heading)

    def button(self, label: str, connector: str) -> Locator:
        """A button of a connector."""
        return self.page.get_by_role("button", name=f"{label} {connector}", exact=True)

    def row(self, table: str) -> Locator:
        """The row of a table."""
        name = self.page.locator(".table-name").get_by_text(table, exact=True)
        return self.page.locator("tbody").get_by_role("row").filter(has=name)

    @property
    def rows(self) -> Locator:
        """All rows that are in the document."""
        return self.page.locator("tbody").get_by_role("row")

    def names(self) -> list[str]:
        """Names of the tables, in the order of their rows."""
        return self.page.locator(".table-name").all_inner_texts()

    @property
    def question(self) -> Locator:
        """The dialog."""
        return self.page.get_by_role("dialog")

    def answer(self, label: str) -> None:
        """Click a button of the dialog."""
        self.question.get_by_role("button", name=label, exact=True).click()

    def write_name(self, connector: str) -> None:
        """What a question wants before it is answered."""
        self.question.get_by_role("textbox", name="Write the connector's name").fill(connector)

    def do(self, action: str, connector: str, *answers: str) -> None:
        """Click a connector's button, answer what is asked, and see the question gone."""
        self.button(action, connector).click()
        for answer in answers or (action,):
            self.answer(answer)
        expect(self.question).to_be_hidden()

    def expect_state(self, connector: str, state: str) -> None:
        """Wait until the page shows it."""
        expect(self.card(connector).locator(".badge").first).to_have_text(state)
