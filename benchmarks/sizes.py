"""What the benchmarks' command lines have in common."""

from __future__ import annotations

import argparse


def size(text: str) -> int:
    """A number of things, for ``argparse``: at least one, since nothing cannot be measured."""
    return _at_least(1, text)


def size_of_tenths(text: str) -> int:
    """The same where a tenth of them is measured, too."""
    return _at_least(10, text)


def _at_least(least: int, text: str) -> int:
    number = int(text)
    if number < least:
        raise argparse.ArgumentTypeError(f"{number} is too few, expected at least {least}")
    return number
