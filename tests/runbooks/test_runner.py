"""A page that is not true fails, with its place; and nothing on a page is passed over."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.runbooks import page
from tests.runbooks.page import Command, PageError
from tests.runbooks.runner import RunbookError, run_page
from tests.runbooks.shell import PageShell, ShellError

VARIABLES = {"TABLE": "orders"}


@dataclass
class Scene:
    """Notes what happens around a page."""

    happened: list[str] = field(default_factory=list)

    def before(self, event: str) -> None:
        self.happened.append(event)

    def check(self, name: str) -> None:
        assert name != "false", "it is not so"
        self.happened.append(name)


def run(text: str, home: Path, scene: Scene | None = None) -> None:
    with PageShell(home, VARIABLES) as shell:
        run_page(page.parse("p", text), shell, scene or Scene(), VARIABLES)


def console(*lines: str) -> str:
    return "\n".join(["```console", *lines, "```"])


def test_a_page_that_is_true_passes(tmp_path: Path) -> None:
    scene = Scene()
    text = "\n".join(
        [
            "# Title",
            "<!-- before: first -->",
            "<!-- file: f.json -->",
            "```json",
            '{"table": "$TABLE"}',
            "```",
            console("$ cat f.json", '{"table": "$TABLE"}', "", "$ X=1", "$ echo $X \\", "> two"),
        ]
    )
    with pytest.raises(RunbookError, match="the page does not have"):
        run(text, tmp_path / "a", scene)
    run(text.replace("> two", "> two\n1 two"), tmp_path / "b", scene)
    assert scene.happened == ["first", "first"]


def test_a_wrong_answer_fails_with_place_and_both_answers(tmp_path: Path) -> None:
    with pytest.raises(RunbookError) as error:
        run("\n\n" + console("$ echo $TABLE", "customers"), tmp_path)
    told = str(error.value)
    assert told.startswith("p.md:4: echo $TABLE\n")
    assert "expected 'customers', found 'orders'" in told


def test_a_command_that_fails_fails_the_page_whatever_it_wrote(tmp_path: Path) -> None:
    with pytest.raises(RunbookError, match="exit code 3"):
        run(console("$ echo $TABLE; (exit 3)", "orders"), tmp_path)


def test_a_command_that_does_not_exist_fails_the_page(tmp_path: Path) -> None:
    with pytest.raises(RunbookError, match="exit code 127"):
        run(console("$ no-such-command"), tmp_path)


def test_a_command_that_is_not_complete_fails_by_itself(tmp_path: Path) -> None:
    with pytest.raises(RunbookError, match="syntax error"):
        run(console("$ if true; then", "$ echo yes", "yes"), tmp_path)


def test_what_a_command_says_on_standard_error_is_a_part_of_its_answer(tmp_path: Path) -> None:
    with pytest.raises(RunbookError, match="found 'oops'"):
        run(console("$ echo oops >&2"), tmp_path)


def test_a_check_that_does_not_hold_fails_the_page(tmp_path: Path) -> None:
    with pytest.raises(RunbookError, match=r"p\.md:1: check false: it is not so"):
        run("<!-- check: false -->", tmp_path)


def test_a_name_that_stands_for_nothing_fails_the_page(tmp_path: Path) -> None:
    with pytest.raises(RunbookError, match=r"\$TOPIC is none of TABLE"):
        run(console("$ echo x", "$TOPIC"), tmp_path)


def test_an_answer_that_fits_everything_fails_the_page(tmp_path: Path) -> None:
    with pytest.raises(RunbookError, match="written wrongly"):
        run(console("$ echo x", "…"), tmp_path)


def test_a_command_that_does_not_end_is_told_with_what_it_wrote(tmp_path: Path) -> None:
    with (
        PageShell(tmp_path, {}) as shell,
        pytest.raises(ShellError, match="so far it wrote:\nhello"),
    ):
        shell.run("echo hello; tail -f /dev/null", deadline_s=0.5)


def test_a_command_that_ends_the_shell_fails(tmp_path: Path) -> None:
    with pytest.raises(RunbookError, match="it ended the shell"):
        run(console("$ exit 0"), tmp_path)


def test_what_runs_in_the_background_ends_with_the_shell(tmp_path: Path) -> None:
    with PageShell(tmp_path, {}) as shell:
        shell.run("tail -f /dev/null & echo $! > pid")
        pid = int((tmp_path / "pid").read_text())
        assert Path(f"/proc/{pid}").exists()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("```sh\ncurl -s x\n```", "kind 'sh'"),
        ("```\ncurl -s x\n```", "kind ''"),
        ("```console\n202\n```", "expected a command"),
        ("```console\n```", "no command"),
        ("```console\n$ true\n", "does not end"),
        ("<!-- befor: x -->", "means nothing here"),
        ("<!-- before: x --> <!-- check: y -->", "means nothing here"),
        ("text ``` text", "means nothing here"),
        ("<!-- file: x -->\n<!-- before: y -->", "expected a block"),
        ("<!-- file: x -->", "expected a block"),
    ],
)
def test_what_has_no_meaning_on_a_page_is_an_error(text: str, told: str) -> None:
    with pytest.raises(PageError, match=told):
        page.parse("p", text)


def test_a_block_inside_of_a_list_loses_the_indentation_of_the_list() -> None:
    found = page.parse("p", "1. Do:\n\n   ```console\n   $ a\n     b\n   > c\n   ```")
    assert found.commands == (Command(4, "a", "  b\n> c"),)
