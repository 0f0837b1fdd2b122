"""All pages, and how one is played on a stage."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Final

from tests.runbooks import page
from tests.runbooks.checks import CHECKS
from tests.runbooks.events import EVENTS
from tests.runbooks.runner import run_page
from tests.runbooks.shell import PageShell
from tests.runbooks.stage import Stage

FOLDER: Final = Path(__file__).parents[2] / "docs" / "runbooks"
INDEX: Final = FOLDER / "README.md"


def names() -> list[str]:
    """The names of all pages, without the index."""
    return sorted(path.stem for path in FOLDER.glob("*.md") if path != INDEX)


@dataclasses.dataclass(frozen=True)
class OnStage:
    """Events and checks by their names (``runner.Surroundings``)."""

    stage: Stage

    def before(self, event: str) -> None:
        """Let it happen."""
        EVENTS[event](self.stage)

    def check(self, name: str) -> None:
        """Look."""
        CHECKS[name](self.stage)


def play(name: str, stage: Stage, home: Path) -> None:
    """Run a page in a shell at ``home``; raises ``runner.RunbookError`` where it is not true."""
    variables = stage.variables
    with PageShell(home, {**stage.environment, **variables}) as shell:
        run_page(page.load(FOLDER / f"{name}.md"), shell, OnStage(stage), variables)
