"""``make conformance``: the script at connectd, held against the real worker."""

from __future__ import annotations

import argparse
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.conformance.rest import comparison, differences, report, sides, transcripts
from tests.conformance.rest.comparison import Difference
from tests.conformance.rest.driving import WAIT_S
from tests.conformance.rest.known import KNOWN
from tests.conformance.rest.script import SCENARIOS
from tests.conformance.rest.sides import Side
from tests.conformance.rest.steps import Scenario, Worker
from tests.conformance.rest.transcripts import TranscriptError
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import sigterm_is_ctrl_c

OnStep = Callable[[], None]
Transcripts = dict[str, dict[str, Any]]


def main(argv: list[str] | None = None) -> int:
    """Play the script at connectd and compare it with what the real worker answers."""
    options = _parser().parse_args(argv)
    scenarios = [each for each in SCENARIOS if options.only in each.name]
    with KafkaBroker() as broker:
        if options.record or options.live:
            real = play(scenarios, Side.REAL, broker.bootstrap, options.patience_s)
        if options.record:
            _store(scenarios, real)
        elif not options.live:
            real = {each.name: transcripts.load(each) for each in scenarios}
        ours = play(scenarios, Side.OURS, broker.bootstrap, options.patience_s)
    found = [
        difference
        for scenario in scenarios
        for difference in comparison.differences(real[scenario.name], ours[scenario.name])
    ]
    return _tell(scenarios, found, whole=len(scenarios) == len(SCENARIOS))


def play(
    scenarios: list[Scenario], side: Side, bootstrap: str, patience_s: float = WAIT_S
) -> Transcripts:
    """The transcripts of ``scenarios`` at one side; a worker of its own for each kind of worker."""
    played: Transcripts = {}
    kinds = list(Worker)
    ordered = sorted(scenarios, key=lambda each: kinds.index(each.worker))
    with _progress(side, scenarios) as on_step, ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-")))
        for kind, group in groupby(ordered, key=lambda each: each.worker):
            run = f"run-{uuid.uuid4().hex[:8]}"
            with sides.running(
                side, kind, bootstrap, run, directory, patience_s=patience_s
            ) as driver:
                for scenario in group:
                    played[scenario.name] = driver.play(scenario, on_step=on_step)
    return played


def _store(scenarios: list[Scenario], real: Transcripts) -> None:
    """Keep every good transcript; one with a wait in vain shows an error of the script."""
    wrong = []
    for scenario in scenarios:
        try:
            transcripts.store(scenario, real[scenario.name])
        except TranscriptError as error:
            wrong.append(str(error))
    print(f"recorded {len(scenarios) - len(wrong)} transcripts in {transcripts.DIRECTORY}")
    if wrong:
        raise TranscriptError("\n".join(wrong))


def _tell(scenarios: list[Scenario], found: list[Difference], *, whole: bool) -> int:
    """Print what is unlisted or stale; staleness can be judged of the whole script alone."""
    verdict = differences.judge(found, KNOWN)
    for difference in verdict.unlisted:
        print(report.of_difference(difference))
    stale = verdict.stale if whole else []
    for entry in stale:
        print(report.of_stale_entry(entry))
    wrong = len(verdict.unlisted) + len(stale)
    requests = sum(len(scenario.steps) for scenario in scenarios)
    print(f"requests: {requests}, unlisted differences: {wrong}")
    return 1 if wrong else 0


@contextmanager
def _progress(side: Side, scenarios: list[Scenario]) -> Iterator[OnStep]:
    """A bar on a terminal, nothing elsewhere."""
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    steps = sum(len(scenario.steps) for scenario in scenarios)
    with Progress(
        *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal
    ) as progress:
        bar = progress.add_task(side.value, total=steps)
        yield lambda: progress.advance(bar)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make conformance", description=main.__doc__)
    parser.add_argument("--record", action="store_true", help="record the real worker anew")
    parser.add_argument("--live", action="store_true", help="ask the real worker now")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="scenarios with this in the name"
    )
    parser.add_argument(
        "--patience-s", type=float, default=WAIT_S, help="how long a polled step waits"
    )
    return parser


if __name__ == "__main__":
    sigterm_is_ctrl_c()
    sys.exit(main())
