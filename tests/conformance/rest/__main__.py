"""``make conformance``: the script at connectd, held against the real worker; then the vectors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.conformance.rest import comparison, differences, report, transcripts
from tests.conformance.rest.comparison import Difference
from tests.conformance.rest.driving import WAIT_S
from tests.conformance.rest.known import KNOWN
from tests.conformance.rest.script import SCENARIOS
from tests.conformance.rest.sides import Side
from tests.conformance.rest.stage import Stage
from tests.conformance.rest.steps import Scenario
from tests.conformance.rest.transcripts import TranscriptError
from tests.conformance.vectors import __main__ as vectors
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import sigterm_is_ctrl_c

Transcripts = dict[str, dict[str, Any]]


def main(argv: list[str] | None = None) -> int:
    """Play the script at connectd and compare it with what the real worker answers."""
    options = _parser().parse_args(argv)
    scenarios = [each for each in SCENARIOS if options.only in each.name]
    with KafkaBroker() as broker:
        if options.record or options.live:
            real = _play(scenarios, Side.REAL, broker.bootstrap, options.patience_s)
        if options.record:
            _store(scenarios, real)
        elif not options.live:
            real = {each.name: transcripts.load(each) for each in scenarios}
        ours = _play(scenarios, Side.OURS, broker.bootstrap, options.patience_s)
    found = [
        difference
        for scenario in scenarios
        for difference in comparison.differences(real[scenario.name], ours[scenario.name])
    ]
    wrong = _tell(found, whole=len(scenarios) == len(SCENARIOS))
    is_wrong = wrong > 0
    if not options.only:
        is_wrong |= vectors.main(["--record"] if options.record else []) > 0
    requests = sum(len(scenario.steps) for scenario in scenarios)
    print(f"requests: {requests}, unlisted differences: {wrong}")
    return int(is_wrong)


def _play(scenarios: list[Scenario], side: Side, bootstrap: str, patience_s: float) -> Transcripts:
    with (
        Stage(side, bootstrap, patience_s=patience_s) as stage,
        _progress(side, scenarios) as on_step,
    ):
        return {each.name: stage.play(each, on_step=on_step) for each in scenarios}


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


def _tell(found: list[Difference], *, whole: bool) -> int:
    """Print what is unlisted or stale, and count it; staleness can be judged of the whole script
    alone."""
    verdict = differences.judge(found, KNOWN)
    for difference in verdict.unlisted:
        print(report.of_difference(difference))
    stale = verdict.stale if whole else []
    for entry in stale:
        print(report.of_stale_entry(entry))
    return len(verdict.unlisted) + len(stale)


@contextmanager
def _progress(side: Side, scenarios: list[Scenario]) -> Iterator[Callable[[], object]]:
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
