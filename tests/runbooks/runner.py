"""Types a page into a shell, from its first line to its last, and compares every answer.

The first thing that is not as the page says ends it, with the place, the command and both answers.
Whatever waits, waits in the page's own commands: the runner has no patience of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Protocol

from tests.runbooks.notation import Expected, NotationError
from tests.runbooks.page import Check, Command, Event, File, Page
from tests.runbooks.shell import PageShell, ShellError

_VARIABLE: Final = re.compile(r"\$(?P<name>[A-Z][A-Z_]*)")


class RunbookError(AssertionError):
    """A page is not true; the message is for whoever has to mend it."""


class Surroundings(Protocol):
    """What happens around a page."""

    def before(self, event: str) -> None:
        """Let an event happen, and wait until it has."""
        ...

    def check(self, name: str) -> None:
        """Raise AssertionError unless it is true."""
        ...


def run_page(
    page: Page, shell: PageShell, surroundings: Surroundings, variables: Mapping[str, str]
) -> None:
    """Run it; ``variables`` are those of the shell, and stand in files and answers as ``$NAME``.

    Raises:
        RunbookError: a command failed, an answer is another one, or a check does not hold.
    """
    for step in page.steps:
        place = f"{page.name}.md:{step.line}"
        if isinstance(step, Event):
            surroundings.before(step.name)
        elif isinstance(step, Check):
            try:
                surroundings.check(step.name)
            except AssertionError as error:
                raise RunbookError(f"{place}: check {step.name}: {error}") from error
        elif isinstance(step, File):
            shell.save(step.name, filled(step.text, variables))
        else:
            _run_command(place, step, shell, variables)


def filled(text: str, variables: Mapping[str, str]) -> str:
    """The text with each ``$NAME`` replaced; raises ``RunbookError`` for an unknown one."""

    def value(found: re.Match[str]) -> str:
        if found["name"] not in variables:
            raise RunbookError(f"{found[0]} is none of {', '.join(sorted(variables))}")
        return variables[found["name"]]

    return _VARIABLE.sub(value, text)


def _run_command(
    place: str, command: Command, shell: PageShell, variables: Mapping[str, str]
) -> None:
    told = f"{place}: {command.text}\n"
    try:
        expected = Expected.parse(filled(command.answer, variables))
    except NotationError as error:
        raise RunbookError(f"{told}the answer is written wrongly: {error}") from error
    try:
        answer = shell.run(command.text)
    except ShellError as error:
        raise RunbookError(f"{told}{error}") from error
    if answer.exit_code != 0:
        raise RunbookError(f"{told}exit code {answer.exit_code}:\n{answer.text}")
    if difference := expected.difference(answer.text):
        raise RunbookError(f"{told}{difference}\nThe whole answer:\n{answer.text}")
