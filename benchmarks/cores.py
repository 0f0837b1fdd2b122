"""``make bench NAME=cores``: what a second process for tasks is worth.

The same tables, in as many tasks, are copied by a worker of one process and by one with ``workers``
processes, and what a second yields is compared: for a scan and for a stream with a transform that
makes another value of every item, so that the worker has far more to do than the fake and the
broker beside it, and for a scan without one, where they need as many cores as the worker does.

Beside what the clock says, ``ratio_by_cpu`` compares the processor time that Python's threads use
in the one process with that in the busiest of several. They take turns at the interpreter's lock,
so this time is what a process cannot go below, however many cores there are; librdkafka's threads
run beside it. It is what the clock comes to where each process has a core and something to do.

Here the fake and the broker have the same cores, so ``ratio_limit`` says what the clock could show
at best: all cores of the machine busy without a pause, at the processor time that all of them
together took for a record, against the one process's rate.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.rig import DONE_DEADLINE_S, Rig, cpu_s, machine, peak_rss_mib, rig, say, versions
from benchmarks.sizes import size
from connectd.runtime.cores.spawning import PROGRAM
from tests.harness.processes import HarnessError
from tests.harness.worker import WorkerProcess

LOOK_S: Final = 0.5
BEGUN: Final = 0.05
"""The part of all records from which on is measured: the start of connector and tasks is over."""

_TRANSFORMED: Final = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "connectd.transforms.UnwrapDynamoDb",
}
_STREAM_ONLY: Final = {"init.sync.skip": "true", "stream.start.position": "TRIM_HORIZON"}

LOADS: Final[Mapping[str, tuple[str, int, Mapping[str, str]]]] = {
    "scan": ("items", 1, _TRANSFORMED),
    "stream": ("stream", 1, {**_TRANSFORMED, **_STREAM_ONLY}),
    "direct_scan": ("items", 5, {}),
}
"""What is loaded into the tables, how many times as much of it, and the connector's config."""


@dataclass(frozen=True)
class Run:
    """One measured stretch of a copy; CPU by process, the worker's own first.

    ``python_s`` is that of Python's threads alone, ``beside_s`` that of fake and broker.
    """

    records: int
    wall_s: float
    cpu_s: tuple[float, ...]
    python_s: tuple[float, ...]
    beside_s: float
    rss_mib: float

    @property
    def records_per_s(self) -> float:
        return self.records / self.wall_s

    @property
    def busiest_s(self) -> float:
        return max(self.python_s)

    @property
    def records_per_s_at_best(self) -> float:
        """With all cores of the machine at work."""
        return (os.cpu_count() or 1) * self.records / (sum(self.cpu_s) + self.beside_s)

    def row(self) -> dict[str, Any]:
        return {
            "records_per_second": round(self.records_per_s),
            "cpu_us_per_record": round(sum(self.cpu_s) / self.records * 1e6, 2),
            "cpu_us_per_record_beside": round(self.beside_s / self.records * 1e6, 2),
            "cores_used": round(sum(self.cpu_s) / self.wall_s, 2),
            "cpu_s_by_process": [round(each, 2) for each in self.cpu_s],
            "python_cpu_s_by_process": [round(each, 2) for each in self.python_s],
            "peak_rss_mib": round(self.rss_mib, 1),
        }


def main(arguments: list[str]) -> None:
    """Measure, and print the result as the last line."""
    options = _parse(arguments)
    with rig() as parts:
        found = {load: _compare(parts, load, options) for load in options.loads.split(",")}
    first = next(iter(found.values()))
    result = {
        "bench": "cores",
        "workers": options.workers,
        "ratio_to_one_process": first["ratio_to_one_process"],
        "ratio_by_cpu": first["ratio_by_cpu"],
        "ratio_limit": first["ratio_limit"],
        **found,
        "items": options.items,
        "tables": options.tables,
        "versions": versions(),
        "machine": machine(),
    }
    print(json.dumps(result))


def _compare(parts: Rig, load: str, options: argparse.Namespace) -> dict[str, Any]:
    kind, times, config = LOADS[load]
    items = options.items * times
    tables = [f"{load.replace('_', '-')}-{number}" for number in range(options.tables)]
    for table in tables:
        fill = parts.load_items if kind == "items" else parts.load_stream
        fill(table, items // options.tables)
    ones, severals = [], []
    for number in range(options.rounds):  # in turns: what else the machine does hits both
        ones.append(_run(parts, tables, config, 1, items))
        severals.append(_run(parts, tables, config, options.workers, items))
        say(f"{load}, round {number + 1}: {ones[-1].row()} {severals[-1].row()}")
    one, several = (max(runs, key=lambda run: run.records_per_s) for runs in (ones, severals))
    return {
        "ratio_to_one_process": round(several.records_per_s / one.records_per_s, 2),
        "ratio_by_cpu": round(
            (one.busiest_s / one.records) / (several.busiest_s / several.records), 2
        ),
        "ratio_limit": round(several.records_per_s_at_best / one.records_per_s, 2),
        "one_process": one.row(),
        "several_processes": several.row(),
    }


def _run(
    parts: Rig, tables: list[str], config: Mapping[str, str], workers: int, records: int
) -> Run:
    with parts.worker(f"bench-cores-{workers}", {"workers": str(workers)}) as worker:
        parts.create_connector(
            worker,
            parts.connector_config(
                ",".join(tables),
                {"tasks.max": str(len(tables)), "init.sync.segments": "1", **config},
            ),
        )
        begun_records = _wait_sent(parts, worker, round(BEGUN * records))
        pids = [worker.pid, *task_processes(worker.pid)]
        beside = (parts.fake.pid, parts.broker.pid)
        before, began_s = [(cpu_s(pid), python_s(pid)) for pid in pids], time.monotonic()
        beside_s = sum(map(cpu_s, beside))
        done_records = _wait_sent(parts, worker, records)
        if done_records - begun_records < records / 2:
            raise HarnessError(f"{records} records are too few to be measured; raise --items")
        return Run(
            records=done_records - begun_records,
            wall_s=time.monotonic() - began_s,
            cpu_s=tuple(cpu_s(pid) - all_s for pid, (all_s, _) in zip(pids, before, strict=True)),
            python_s=tuple(
                python_s(pid) - used_s for pid, (_, used_s) in zip(pids, before, strict=True)
            ),
            beside_s=sum(map(cpu_s, beside)) - beside_s,
            rss_mib=sum(peak_rss_mib(pid) for pid in pids),
        )


def _wait_sent(parts: Rig, worker: WorkerProcess, count: int) -> int:
    """Wait until all tables together have sent so many; how many they have."""
    give_up_at = time.monotonic() + DONE_DEADLINE_S
    rows: Sequence[dict[str, Any]] = []
    while time.monotonic() < give_up_at:
        rows = parts.rows(worker)
        sent = sum(int(row.get("records_sent") or 0) for row in rows)
        if sent >= count:
            return sent
        if any(row.get("state") == "FAILED" for row in rows):
            break
        time.sleep(LOOK_S)
    raise HarnessError(f"{count} records did not arrive: {rows}\n{worker.log_tail()}")


def task_processes(worker: int) -> list[int]:
    """The processes for tasks of a worker: the children of its children that are such."""
    parents: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
    return sorted(
        pid
        for pid, guard in parents.items()
        if parents.get(guard) == worker and PROGRAM in _command_line(pid)
    )


def python_s(pid: int) -> float:
    """Processor time of a process's threads that are not librdkafka's, in seconds."""
    used_ns = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if not (thread / "comm").read_text().startswith("rdk:"):
                used_ns += int((thread / "schedstat").read_text().split()[0])
    return used_ns / 1e9


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=cores", description=__doc__)
    parser.add_argument("--workers", type=size, default=2, help="processes for tasks (default 2)")
    parser.add_argument("--tables", type=size, default=4, help="tables, each a task (default 4)")
    parser.add_argument(
        "--items", type=size, default=400_000, help="records of all tables (default 400,000)"
    )
    parser.add_argument("--rounds", type=size, default=2, help="of each; the best counts (2)")
    parser.add_argument("--loads", default=",".join(LOADS), help=f"of {', '.join(LOADS)}")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
