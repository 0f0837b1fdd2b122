"""A spark-submit without Spark: it does what its ``--master`` names, as good and bad drivers do.

``install`` writes it as a program. It runs with nothing but Python's own library.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def install(directory: Path) -> str:
    """Write the program into a directory; returns its path."""
    path = directory / "spark-submit"
    source = inspect.getsource(sys.modules[__name__])
    path.write_text(f"#!{sys.executable} -u\n{source}\nmain()\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def main() -> None:
    """Run the behaviour that ``--master`` names."""
    name = sys.argv[sys.argv.index("--master") + 1].removeprefix("k8s://")  # as workers take it
    {
        "finishes": finishes,
        "hangs": hangs,
        "ignores-sigterm": ignores_sigterm,
        "dies": dies,
        "floods": floods,
        "tells-nonsense": tells_nonsense,
        "shows-itself": shows_itself,
        "says-why": says_why,
        "dies-talking": dies_talking,
        "stops-in-a-word": stops_in_a_word,
    }[name]()


def tell(kind: str, **members: object) -> None:
    """One report."""
    print(json.dumps({"connectd": kind, **members}, separators=(",", ":")))


def started() -> None:
    """Spark is there."""
    tell("started", spark="4.3.0", master="local[2]", slots=2)


def moved(segment: int) -> None:
    """A segment at its end."""
    offset = {
        "init_sync_start": 1_700_000_000_000,
        "total_segments": 3,
        "state": "FINISHED",
        "count": 5,
    }
    counts = {"items": 5, "records": 5, "skipped": 0, "topics": ["t"], "consumed": 1.0}
    tell("segment", segment=segment, offset=offset, **counts)


def finishes() -> None:
    """The good one."""
    print("Picked up something")
    print("26/11/28 WARN something else", file=sys.stderr)
    started()
    for segment in range(3):
        moved(segment)
    tell("finished")


def hangs() -> None:
    """Nothing more comes."""
    started()
    threading.Event().wait(600)


def ignores_sigterm() -> None:
    """Neither it nor its child in a process group of its own listens."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "600"], process_group=0)
    print(f"pids {os.getpid()} {child.pid}", file=sys.stderr)
    started()
    threading.Event().wait(600)


def dies() -> None:
    """In mid scan."""
    started()
    moved(1)
    os.kill(os.getpid(), signal.SIGKILL)


def floods() -> None:
    """Much log text, and the reports in between."""
    started()
    for segment in range(3):
        for number in range(20_000):
            print(number, "x" * 200)
            print(number, "y" * 20, file=sys.stderr)
        moved(segment)
    tell("finished")


def tells_nonsense() -> None:
    """Lines that look like reports."""
    print('{"connectd":"segment","segment":0')
    print('{"connectd":"dances"}')
    print('{"connectd":')
    print('{"connectd":"started","spark":"' + "z" * 200_000)
    tell("finished")


def shows_itself() -> None:
    """What it was started with, and whether its files are still there."""
    job = os.environ["CONNECTD_SCAN_JOB"]
    at = sys.argv.index("--properties-file") + 1
    with open(sys.argv[at], encoding="utf-8") as conf, open(job, encoding="utf-8") as file:
        print("conf of", len(conf.read().split()), "settings")
        print("job", json.loads(file.read())["table"])
    print("arguments", json.dumps(sys.argv))
    print("secret", os.environ.get("AWS_SECRET_ACCESS_KEY"))
    started()
    while os.path.exists(job):
        threading.Event().wait(0.01)
    print("files are gone")
    tell("finished")


def says_why() -> None:
    """A failure in its own words."""
    print("password=hunter2 is wrong", file=sys.stderr)
    tell("failed", error="Kafka refuses", retriable=False)
    sys.exit(3)


def dies_talking() -> None:
    """It ends in the middle of its last line, and what it started says one more."""
    started()
    subprocess.Popen(
        ["sh", "-c", "exec >&-; sleep 0.3; printf 'OutOfMemoryError: Java heap space' >&2"]
    )
    for number in range(60):
        print("at frame", number, file=sys.stderr)
    sys.stdout.write("Traceback (most recent call last)\nSystemError: no more")
    sys.stdout.flush()
    os._exit(1)


def stops_in_a_word() -> None:
    """A question that nobody answers."""
    started()
    sys.stderr.write("password of the key store: ")
    sys.stderr.flush()
    sys.stdout.write("waiting for an an")
    sys.stdout.flush()
    threading.Event().wait(600)
