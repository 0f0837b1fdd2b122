"""A runbook as steps, read from its Markdown.

What a page may hold beside prose:

* a block of kind ``console``: lines that begin with ``$ `` are commands, ``> `` continues one, and
  what follows up to the next command is the answer that is expected
* a comment ``before: NAME``: something happens to the operator (``events``); ``check: NAME``:
  something must be true here (``checks``)
* a comment ``file: NAME``: the block behind it is saved under that name
* a block of kind ``text``: shown, not run

Everything else that looks like one of these is an error, so that nothing is left out by a slip.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

_FENCE: Final = re.compile(r"^(?P<indent> *)```(?P<kind>\S*) *$")
_COMMENT: Final = re.compile(r"^ *<!-- (?P<word>before|check|file): (?P<name>[\w.-]+) -->$")
_PROMPT: Final = "$ "
_CONTINUATION: Final = "> "


class PageError(Exception):
    """A page cannot be read; names the page and the line."""


@dataclass(frozen=True)
class Event:
    """Something happens that the operator does not do."""

    line: int
    name: str


@dataclass(frozen=True)
class Check:
    """Something must be true at this point."""

    line: int
    name: str


@dataclass(frozen=True)
class File:
    """The operator saves this text."""

    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """The operator types ``text`` and expects ``answer``; both without a final line break."""

    line: int
    text: str
    answer: str


Step: TypeAlias = Event | Check | File | Command


@dataclass(frozen=True)
class Page:
    """A page's name (that of its file, without ``.md``) and its steps in order."""

    name: str
    steps: tuple[Step, ...]

    @property
    def commands(self) -> tuple[Command, ...]:
        """What the operator types."""
        return tuple(step for step in self.steps if isinstance(step, Command))


@dataclass(frozen=True)
class _Block:
    """A fenced block; ``line`` is that of its first line inside."""

    kind: str
    line: int
    lines: tuple[str, ...]


def load(path: Path) -> Page:
    """Read a page's file; raises ``PageError``."""
    return parse(path.stem, path.read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Page:
    """Read a page; raises ``PageError`` for what has no meaning."""
    steps: list[Step] = []
    file: Event | None = None
    for part in _parts(name, text):
        if isinstance(part, _Block):
            steps += [_saved(file, part)] if file else _steps_of(name, part)
            file = None
            continue
        line, word, called = part
        if file is not None:
            raise PageError(f"{name}:{file.line}: expected a block behind the file {file.name}")
        if word == "file":
            file = Event(line, called)
        else:
            steps.append(Event(line, called) if word == "before" else Check(line, called))
    if file is not None:
        raise PageError(f"{name}:{file.line}: expected a block behind the file {file.name}")
    return Page(name, tuple(steps))


def _parts(name: str, text: str) -> Iterator[_Block | tuple[int, str, str]]:
    """Blocks and comments (line, word, name)."""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if fence := _FENCE.match(line):
            inside = _inside(name, number, lines, fence["indent"])
            yield _Block(fence["kind"], number + 1, tuple(inside))
        elif comment := _COMMENT.match(line):
            yield number, comment["word"], comment["name"]
        elif "<!--" in line or "```" in line:
            raise PageError(f"{name}:{number}: found {line.strip()!r}, which means nothing here")


def _inside(name: str, opened: int, lines: Iterator[tuple[int, str]], indent: str) -> Iterator[str]:
    """The block's lines, without the indentation of the list that it stands in."""
    for _, line in lines:
        if line.strip() == "```":
            return
        yield line.removeprefix(indent)
    raise PageError(f"{name}:{opened}: the block does not end")


def _saved(file: Event, block: _Block) -> File:
    return File(block.line, file.name, "\n".join(block.lines))


def _steps_of(name: str, block: _Block) -> list[Step]:
    if block.kind == "text":
        return []
    if block.kind != "console":
        raise PageError(
            f"{name}:{block.line - 1}: found a block of kind {block.kind!r}, expected console "
            "(it is run), text (it is not), or a comment 'file: NAME' before it"
        )
    typed: list[tuple[int, list[str], list[str]]] = []
    for number, line in enumerate(block.lines, block.line):
        if line.startswith(_PROMPT):
            typed.append((number, [line.removeprefix(_PROMPT)], []))
        elif not typed:
            raise PageError(f"{name}:{number}: found {line!r}, expected a command behind '$ '")
        elif line.startswith(_CONTINUATION) and not typed[-1][2]:
            typed[-1][1].append(line.removeprefix(_CONTINUATION))
        else:
            typed[-1][2].append(line.rstrip())
    if not typed:
        raise PageError(f"{name}:{block.line}: the block has no command")
    return [
        Command(number, "\n".join(command), "\n".join(answer).strip("\n"))
        for number, command, answer in typed
    ]
