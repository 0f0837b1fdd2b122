"""What the benchmarks' command lines have in common."""

from __future__ import annotations

import argparse


def size(text: str) -> int:
    """A number of things, for ``argparse``: at least one, since nothing cannot be measured."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is too few, expected at least 1")
    return number
