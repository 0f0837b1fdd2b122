"""``python -m tests.conformance.vectors [--record]``: compare with, or ask, the real classes."""

from __future__ import annotations

import argparse
import sys

from tests.conformance.vectors import compare, stored


def main(arguments: list[str] | None = None) -> int:
    """The last line says how many vectors differ without being listed; exit code 1 if any does."""
    parser = argparse.ArgumentParser(prog="tests.conformance.vectors", description=__doc__)
    parser.add_argument("--record", action="store_true", help="ask the real classes again first")
    options = parser.parse_args(arguments)
    count = unlisted = 0
    for family in stored.FAMILIES:
        if options.record:
            print(f"recorded {stored.record(family)} answers of {family}", file=sys.stderr)
        for verdict in compare.verdicts(family):
            count += 1
            if not verdict.equal and verdict.known is None:
                unlisted += 1
                print(f"unlisted difference\n{verdict}\n")
    print(f"vectors: {count}, unlisted differences: {unlisted}")
    return 1 if unlisted else 0


if __name__ == "__main__":
    sys.exit(main())
