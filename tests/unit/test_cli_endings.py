"""How commands end: read to the end or not, and interrupted in any moment."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectd import cli

ROOT = Path(__file__).resolve().parents[2]

LOADING = """
import builtins, os, signal, sys

load = builtins.__import__

def interrupted(name, *arguments, **more):
    if name == {name!r}:
        builtins.__import__ = load
        os.kill(os.getpid(), signal.{signal})
    return load(name, *arguments, **more)

from connectd import cli
builtins.__import__ = interrupted
sys.exit(cli.main({arguments!r}))
"""
"""A command interrupted in the very moment when it loads a module."""

ENDING = """
import sys
from connectd import cli
from connectd.cli import reconcile
from connectd.connectors.dynamodb.reconciling import Compared, Counts, Difference, Kind, Report

many = tuple(Difference(Kind.EXTRA, "t", f"key {number}", 0, number) for number in range(20_000))
report = Report("c", "t", ("t",), Compared.DOCUMENTS, Counts(extra=len(many)), many, ("a note",))

async def run(*_):
    return report

reconcile._run = run
reconcile._worker_config = reconcile._subject = lambda _: None
sys.exit(cli.main(["reconcile", "c", "t", *sys.argv[1:]]))
"""
"""A comparison that finds differences, without anything to compare."""

WAITING = """
import asyncio, sys
from connectd import cli
from connectd.app import reconcile_wiring
from connectd.cli import reconcile
from connectd.connectors.dynamodb.digest_file import DigestFile
from contextlib import asynccontextmanager

class Endless:
    async def compare(self):
        with DigestFile(sys.argv[1]):
            print("waiting", flush=True)
            await asyncio.Event().wait()

@asynccontextmanager
async def opened(*_, **__):
    yield Endless()

reconcile_wiring.opened = opened
reconcile._worker_config = reconcile._subject = lambda _: None
sys.exit(cli.main(["reconcile", "c", "t"]))
"""
"""A comparison that is under way, with its file of digests in a directory."""


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHON": sys.executable, "ENDING": ENDING},
    )


@pytest.mark.parametrize(
    ("more", "reader"), [("", "| head -n 1"), ("--json", "| true"), ("", "2>&1 | true")]
)
def test_a_verdict_counts_whether_or_not_it_is_read_to_its_end(more: str, reader: str) -> None:
    done = shell(f'$PYTHON -c "$ENDING" --show 20000 {more} {reader}; echo ${{PIPESTATUS[0]}}')
    assert done.stdout.splitlines()[-1] == "1", done
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_verdict_needs_nobody_to_tell() -> None:
    assert shell('$PYTHON -c "$ENDING" >&- 2>&-').returncode == 1


def test_a_verdict_that_cannot_be_written_is_none() -> None:
    done = shell('$PYTHON -c "$ENDING" > /dev/full')
    assert done.returncode == 2
    assert done.stderr == "connectd: printing what was found: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("arguments", ["validate nothing.json", "reconcile c t"])
def test_a_mistake_stays_one_when_nobody_reads_of_it(arguments: str) -> None:
    done = shell(f"$PYTHON -m connectd {arguments} 2>&1 | true; echo ${{PIPESTATUS[0]}}")
    assert done.stdout == "2\n"


def test_a_config_that_is_not_valid_is_not_whoever_reads_of_it(tmp_path: Path) -> None:
    file = tmp_path / "connector.properties"
    file.write_text(
        '{"name": "c", "connector.class": "connectd.DynamoDBSource", "tasks.max": "none"}'
    )
    done = shell(f"$PYTHON -m connectd validate {file} | true; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("1\n", "")


@pytest.mark.parametrize("arguments", ["plugins", "reference --format json", "--help"])
def test_what_is_only_shown_may_be_left_at_any_point(arguments: str) -> None:
    done = shell(f"$PYTHON -m connectd {arguments} | true; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize(
    ("name", "module", "arguments", "code"),
    [
        ("SIGINT", "connectd.cli", ["reconcile", "c", "t"], 2),
        ("SIGTERM", "connectd.cli", ["validate", "nothing.json"], 2),
        ("SIGINT", "connectd.cli", ["run", "nothing.properties"], 0),
        ("SIGTERM", "connectd.cli", ["standalone", "nothing.properties"], 0),
        ("SIGINT", "connectd.app", ["plugins"], 2),
        ("SIGTERM", "connectd.app", ["plugins"], -signal.SIGTERM),  # it has nothing to close
    ],
)
def test_an_interrupt_while_it_loads_is_no_verdict(
    name: str, module: str, arguments: list[str], code: int
) -> None:
    program = LOADING.format(name=module, signal=name, arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, "")


@contextlib.contextmanager
def comparing(directory: Path, *prefix: str) -> Iterator[subprocess.Popen[str]]:
    """A comparison that has made its file; killed in the end if it has not ended by then."""
    program = WAITING.replace("sys.argv[1]", repr(str(directory)))
    with subprocess.Popen(
        [*prefix, sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def heeded() -> Iterator[None]:
    """Signals that were ignored when the tests were started (nohup, a job in the background) are
    not by the processes of a test."""
    numbers = (signal.SIGINT, signal.SIGHUP)
    ignored = [each for each in numbers if signal.getsignal(each) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_comparison_that_is_told_to_end_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    with comparing(tmp_path) as process:
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (2, "")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    with comparing(tmp_path, "nohup") as process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 2


@pytest.mark.parametrize("topic", ["", "a b", "..", "x" * 250])
def test_a_topic_that_cannot_be_one_is_told_before_anything_is_asked(
    topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["reconcile", "c", "t", "--topic", topic])
    assert ended.value.code == 2
    assert f"argument --topic: {topic!r} is no topic: the name " in capsys.readouterr().err
