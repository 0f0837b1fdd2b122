"""Text for people: tables, and colours where a terminal shows them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
    """Where a command declares itself."""

N = TypeVar("N", int, float)


class Colour(Enum):
    """Escape codes of terminals."""

    RED = "31"
    GREEN = "32"
    FAINT = "2"


def add_command(commands: Commands, name: str, summary: str, text: str) -> argparse.ArgumentParser:
    """A command with its explanation, printed as it is written."""
    return commands.add_parser(
        name,
        help=summary,
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def number(kind: type[N], low: N, high: N, what: str) -> Callable[[str], N]:
    """What reads a number of a command line, ``type`` of an argument."""

    def read(text: str) -> N:
        problem = argparse.ArgumentTypeError(f"{text!r} is not {what} from {low} to {high}")
        try:
            value = kind(text)
        except ValueError:
            raise problem from None
        if not low <= value <= high:
            raise problem
        return value

    return read


def coloured(text: str, colour: Colour) -> str:
    """The text in a colour, if standard output is a terminal and nobody set NO_COLOR."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\033[{colour.value}m{text}\033[0m"


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need to be, the last one free."""
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads) - 1)]
    for number, row in enumerate((heads, *rows)):
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
        line = "  ".join([*cells, row[-1]]).rstrip()
        print(coloured(line, Colour.FAINT) if number == 0 else line)


def print_json(document: object) -> None:
    """A document, indented."""
    print(json.dumps(document, indent=2, ensure_ascii=False))
