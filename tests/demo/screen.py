"""What a person sees: headings, curl commands and their answers, progress, Kafka records.

Colours and the moving bar appear on a terminal only (rich decides); elsewhere the same story is
plain lines.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from tests.harness.processes import HarnessError
from tests.harness.topics import TopicRecord

CURL_TIMEOUT_S = 30
RECORD_WIDTH_MIN = 100

console = Console(highlight=False)


def heading(text: str) -> None:
    """The beginning of a part of the story."""
    console.print(f"\n[bold cyan]==[/] [bold]{escape(text)}[/]")


def say(text: str) -> None:
    """One line, as it is."""
    console.print(escape(text), soft_wrap=True)


def curl(method: str, url: str, body: object = None) -> Any:
    """Run curl as a person would and show the command; returns the answer's JSON.

    Raises HarnessError when curl is missing or the answer is an error.
    """
    if shutil.which("curl") is None:
        raise HarnessError("the demo talks to the worker with curl, and curl is not on PATH.")
    options = [] if method == "GET" else ["-X", method]
    if body is not None:
        options += ["-H", "Content-Type: application/json", "-d", json.dumps(body, indent=2)]
    command = ["curl", "-sS", "--fail-with-body", *options, url]
    console.print(f"[green]$ {escape(shlex.join(command))}[/]", soft_wrap=True)
    answer = subprocess.run(command, capture_output=True, text=True, timeout=CURL_TIMEOUT_S)
    if answer.returncode != 0:
        raise HarnessError(
            f"{method} {url} was refused (curl {answer.returncode}): "
            f"{answer.stdout.strip()} {answer.stderr.strip()}"
        )
    return json.loads(answer.stdout) if answer.stdout else None


def json_answer(content: Any) -> None:
    """An answer of the REST API, readable."""
    console.print(f"[dim]{escape(json.dumps(content, indent=2))}[/]", soft_wrap=True)


def record(found: TopicRecord) -> None:
    """One Kafka record: where it is, its key, and its value or that it has none."""
    where = f"{found.topic}-{found.partition}@{found.offset}"
    key = (found.key or b"null").decode()
    console.print(f"[dim]{where:<20}[/] [cyan]{escape(key)}[/]", soft_wrap=True)
    if found.value is None:
        console.print("    [bold red]tombstone[/] (null value)")
        return
    value = found.value_json
    room = max(console.width, RECORD_WIDTH_MIN) - 12
    document = str(value.get("document"))
    shown = document if len(document) <= room else document[:room] + "…"
    op = _plain_op(value.get("op"))
    colour = "red" if op == "d" else "yellow"
    console.print(f"    [{colour}]op {escape(op)}[/]  {escape(shown)}", soft_wrap=True)


def _plain_op(op: object) -> str:
    """The letter; the envelope 0.1 may wrap it as ``{"string": "u"}``."""
    return str(next(iter(op.values()))) if isinstance(op, dict) else str(op)


class TableBars:
    """One bar per table, and one line for every change of a table's state.

    The tables named at the start are in DISCOVERY until the worker tells of them.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._progress = Progress(
            TextColumn("{task.description:<10}"),
            TextColumn("{task.fields[state]:<10}"),
            BarColumn(bar_width=40),
            TextColumn("{task.fields[scanned]} items scanned, {task.fields[sent]} records sent"),
            console=console,
        )
        self._bars: dict[str, TaskID] = {}
        self._states = dict.fromkeys(names, "DISCOVERY")

    def __enter__(self) -> TableBars:
        self._progress.start()
        for name, state in self._states.items():
            self._progress.console.print(f"{name}: {state}")
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, table: dict[str, Any]) -> None:
        """One entry of ``GET /connectd/connectors/{name}/tables``."""
        name, state = table["table"], table["state"]
        before = self._states.get(name)
        if before != state:
            self._states[name] = state
            step = state if before is None else f"{before} → {state}"
            reason = f" ({table['reason']})" if table.get("reason") else ""
            self._progress.console.print(escape(f"{name}: {step}{reason}"), soft_wrap=True)
        if name not in self._bars:
            self._bars[name] = self._progress.add_task(name, state=state, scanned=0, sent=0)
        scanned = table["items_scanned"]
        done = state == "SYNC"
        estimated = max(table["items_estimated"] or 0, scanned)
        self._progress.update(
            self._bars[name],
            # An empty bar is full when there was nothing to scan.
            completed=(scanned or 1) if done else scanned,
            total=(scanned or 1) if done else (estimated or None),
            state=state,
            scanned=scanned,
            sent=table["records_sent"],
        )
