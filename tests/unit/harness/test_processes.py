"""The harness's own promises: bounded waits, logs in failures, no orphans."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.harness.processes import (
    HarnessError,
    ManagedProcess,
    accepts_connections,
    free_ports,
    wait_for,
)

IGNORE_SIGTERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
SLEEPER = "import time; print('up', flush=True); time.sleep(60)"


def python(program: str, tmp_path: Path) -> ManagedProcess:
    return ManagedProcess("prog", [sys.executable, "-c", program], log_path=tmp_path / "log")


def has_said_up(process: ManagedProcess) -> bool:
    return "up" in process.log_tail()


def test_a_program_that_ends_too_early_is_reported_with_its_code_and_its_log(
    tmp_path: Path,
) -> None:
    process = python("print('port taken'); raise SystemExit(3)", tmp_path)
    process.start()
    with pytest.raises(HarnessError, match=r"(?s)exit code 3 while waiting for light.*port taken"):
        process.wait_until(lambda: False, what="light", deadline_s=20)


def test_a_wait_ends_at_its_deadline_and_says_for_what_it_waited(tmp_path: Path) -> None:
    process = python(SLEEPER, tmp_path)
    process.start()
    try:
        with pytest.raises(HarnessError, match=r"light did not happen within 0 s"):
            process.wait_until(lambda: False, what="light", deadline_s=0)
    finally:
        process.kill()
    assert process.exit_code == -signal.SIGKILL


def test_stop_is_sigterm_first_and_sigkill_for_those_who_ignore_it(tmp_path: Path) -> None:
    polite, deaf = python(SLEEPER, tmp_path), python(f"{IGNORE_SIGTERM}\n{SLEEPER}", tmp_path)
    for process, grace_s, code in ((polite, 20, -signal.SIGTERM), (deaf, 0.1, -signal.SIGKILL)):
        process.log_path.unlink(missing_ok=True)
        process.start()
        process.wait_until(partial(has_said_up, process), what="up", deadline_s=20)
        assert process.stop(grace_s=grace_s) == code
        assert not process.running


def test_a_paused_program_is_still_there_and_can_be_stopped(tmp_path: Path) -> None:
    process = python(SLEEPER, tmp_path)
    process.start()
    process.pause()
    assert process.running
    assert process.stop(grace_s=20) == -signal.SIGTERM


def test_a_program_left_running_is_killed_when_the_interpreter_ends(tmp_path: Path) -> None:
    forgetful = f"""
from pathlib import Path
from tests.harness.processes import ManagedProcess
process = ManagedProcess("p", [{sys.executable!r}, "-c", {SLEEPER!r}], log_path=Path("log"))
process.start()
print(process.pid)
"""
    answer = subprocess.run(
        [sys.executable, "-c", forgetful],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    pid = int(answer.stdout)
    assert wait_for(lambda: not Path(f"/proc/{pid}").exists(), deadline_s=5)


def test_free_ports_are_distinct_and_free() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert not any(accepts_connections("127.0.0.1", port) for port in ports)
    with socket.create_server(("127.0.0.1", ports[0])):
        assert accepts_connections("127.0.0.1", ports[0])
