"""What a record costs on the hot path, counted: ``python -m tests.effort [--accept]``.

Part of the tests (``test_effort``): a count that is more than a tenth above ``figures.json`` fails
them, and says which functions it grew in. So does one that is a tenth below: figures that are too
high would let the next loss pass. ``--accept`` stores what is counted now.

Per record of a scan and of a stream, on both tiers, with JsonConverter, behind three transforms and
with AvroConverter, from the body of an answer to the acknowledgement (``paths``), with what is done
per page shared out among 1,000 records:

| measure | what it counts | what it does not see |
|---|---|---|
| ``bytecodes`` | instructions of the interpreter | what is done in C: a parser that got slower |
| ``allocations`` | how often Python is asked for memory | lists that Python reuses; librdkafka |
| ``peak_bytes`` | the highest stand of Python's memory while a page is under way | the same |
| ``code_blocks`` | basic blocks of the scanner as written, not as optimised | caches, vectors |

None of it sees time: waiting, locks, the garbage collector, system calls, HTTP, readers and the
runner (work per page), librdkafka. For all of that there are the benchmarks.

The counts are exact, and the same on every machine. They depend on the minor version of Python,
whose figures stand side by side; one that has none is held against the nearest, and only for what
grew. Allocations and peaks also follow orjson and msgspec, code blocks Cython and gcc, by little.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import hatch_build
from connectd.connectors import dynamodb
from connectd.connectors.dynamodb.tiers import Tier
from tests.effort import counting, figures, paths
from tests.effort.counting import BLOCK_FLAGS, CompiledCounters, Parts
from tests.effort.figures import Count, Counts

SMALL, LARGE = 40, 120
"""Records of the two pages that are counted; what they differ by is the cost of records alone."""

PAGE_RECORDS: Final = 1_000
WHOLE: Final = ""
"""The part of a measure that knows none."""


def measured() -> Counts:
    """Count everything that can be counted here, in this process."""
    with tempfile.TemporaryDirectory(prefix="connectd-effort-") as work:
        counters = extension = None
        if shutil.which("gcc"):
            counters = CompiledCounters(Path(work))
            extension = hatch_build.build_extension(Path(work), BLOCK_FLAGS)
            dynamodb.__path__.insert(0, str(extension.parent))
        return {
            str(case): _counted(case, counters, extension)
            for case in paths.cases(compiled=extension is not None)
        }


def _counted(
    case: paths.Case, counters: CompiledCounters | None, extension: Path | None
) -> dict[str, Count]:
    works = case.sending_of(SMALL), case.sending_of(LARGE)
    for work in works:
        work()  # what is done once is done by now
        work()

    def per_record(parts_of: Callable[[Callable[[], None]], Parts]) -> Count:
        small, large = (parts_of(work) for work in works)
        return Count.of({part: _per_record(small[part], large[part]) for part in small | large})

    counts = {
        "bytecodes": per_record(counting.bytecodes),
        "peak_bytes": per_record(lambda work: Parts({WHOLE: counting.peak_bytes(work)})),
    }
    if counters is not None and extension is not None:
        blocks, allocations = counters.code_blocks, counters.allocations
        counts["allocations"] = per_record(lambda work: Parts({WHOLE: allocations(work)}))
        if case.tier is Tier.COMPILED:
            counts["code_blocks"] = per_record(lambda work: blocks(work, extension))
    return counts


def _per_record(small: int, large: int) -> float:
    """The cost of a record in a large page, with its share of what the page costs."""
    alone = (large - small) / (LARGE - SMALL)
    return alone + (small - SMALL * alone) / PAGE_RECORDS


def main(arguments: Sequence[str]) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m tests.effort")
    parser.add_argument("--accept", action="store_true", help="store what is counted now")
    options = parser.parse_args(arguments)
    counts = measured()
    for case, measures in counts.items():
        shown = (f"{count.total:,.1f} {measure}" for measure, count in measures.items())
        print(f"{case}: {', '.join(shown)}")
    if options.accept:
        figures.store(counts)
        return 0
    problems = figures.problems(counts)
    print(*(problems or ["as stored"]), sep="\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
