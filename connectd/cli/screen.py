"""Text for people: tables, and colours where a terminal shows them.

Who reads may stop (``connectd reference | head``), and is told nothing wrong by that: what a
command prints it prints in a ``telling`` block, and its exit code says how it came out, whether or
not anybody has read to the end. A text that could not be written for another reason is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from connectd.errors import ConnectdError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
    """Where a command declares itself."""

N = TypeVar("N", int, float)


class Colour(Enum):
    """Escape codes of terminals."""

    RED = "31"
    GREEN = "32"
    FAINT = "2"


def open_streams() -> None:
    """Give text a place to go to where a stream was closed before the start (``>&-``)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


@contextmanager
def telling() -> Iterator[None]:
    """What is printed within goes out; that nobody reads it any more is no error.

    Raises:
        ConnectdError: it cannot be written, to a disk that is full.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
    except OSError as error:
        _forget_stdout()
        raise ConnectdError(f"printing what was found: {error}") from error


def complain(text: str) -> None:
    """A line on standard error, if anybody reads that."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _forget_stdout() -> None:
    """Send what is still buffered nowhere, or Python complains of it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


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


def topic(text: str) -> str:
    """A topic of a command line, ``type`` of an argument."""
    from connectd.kafka import topic_names

    problem = topic_names.problem(text)
    if problem is not None:
        raise argparse.ArgumentTypeError(f"{text!r} is no topic: {problem}")
    return text


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
