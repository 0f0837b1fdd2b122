"""How processes end: what Python promises happens, what the C library would do does not."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

_TRAP = """
import ctypes
libc = ctypes.CDLL(None)
on_exit = libc.__cxa_atexit
on_exit.argtypes = [ctypes.c_void_p] * 3
on_exit(ctypes.cast(libc.abort, ctypes.c_void_p), None, None)
"""
"""A process in which the C library's ``exit`` ends with SIGABRT, as one with Kafka clients may."""

SIGABRT = -6


def run(program: str, *, trap: str = _TRAP) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", trap + program],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )


def leaving(main: str) -> subprocess.CompletedProcess[str]:
    beginning = (
        "import atexit, sys, threading, time\n"
        "from connectd.app.leaving import run_and_leave\n"
    )  # fmt: skip
    return run(f"{beginning}{main}\nrun_and_leave(main)\n")


def test_the_trap_is_one() -> None:
    assert run("").returncode == SIGABRT


@pytest.mark.parametrize(
    ("main", "code"),
    [
        ("main = lambda: 0", 0),
        ("main = lambda: 3", 3),
        ("main = lambda: sys.exit(2)", 2),
        ("def main():\n    print('said')\n    return 1", 1),
    ],
)
def test_the_code_of_the_program_is_that_of_the_process(main: str, code: int) -> None:
    done = leaving(main)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == ("said\n" if "said" in main else "")


def test_threads_are_waited_for_and_exit_functions_called_before() -> None:
    done = leaving(
        "def main():\n"
        "    atexit.register(print, 'exit function')\n"
        "    threading.Timer(0.2, print, ['thread']).start()\n"
        "    print('main')\n"
        "    return 0"
    )
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["main", "thread", "exit function"]


@pytest.mark.parametrize("main", ["main = lambda: 1 / 0", "main = lambda: sys.exit('no')"])
def test_an_error_is_left_to_python_which_tells_it(main: str) -> None:
    done = leaving(main)
    assert done.returncode == SIGABRT, "the C library's exit"
    assert "ZeroDivisionError" in done.stderr or done.stderr == "no\n"


def test_what_cannot_be_written_is_told_by_the_exit_code() -> None:
    done = run(
        "import sys\n"
        "from connectd.app.leaving import run_and_leave\n"
        "def main():\n"
        "    sys.stdout = open('/dev/full', 'w')\n"
        "    print('lost')\n"
        "    return 0\n"
        "run_and_leave(main)\n",
        trap="",
    )
    assert done.returncode == 120, "Python's own for this"
    assert "No space left" in done.stderr


class TestEveryProgramOfOurs:
    """They end in this way, however they are started."""

    def test_the_command(self) -> None:
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
        module, _, name = settings["project"]["scripts"]["connectd"].partition(":")
        done = run(
            f"import sys\nfrom {module} import {name}\n"
            f"sys.argv[1:] = ['plugins']\nsys.exit({name}())\n"
        )
        assert (done.returncode, done.stderr) == (0, "")

    @pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["runn"], 2), ([], 2)])
    def test_the_module(self, arguments: list[str], code: int) -> None:
        done = run(
            f"import runpy, sys\nsys.argv[1:] = {arguments}\n"
            "runpy.run_module('connectd', run_name='__main__')\n"
        )
        assert done.returncode == code

    def test_a_process_of_tasks(self) -> None:
        """Its parent is gone before it has said anything."""
        done = run(
            "import runpy, socket, sys\n"
            "ours, theirs = socket.socketpair()\n"
            "ours.close()\n"
            "sys.argv[1:] = [str(theirs.detach())]\n"
            "runpy.run_module('connectd.app.task_program', run_name='__main__')\n"
        )
        assert (done.returncode, done.stderr) == (0, "")

    @pytest.mark.parametrize("module", ["connectd", "connectd.app.task_program"])
    def test_nothing_registers_an_exit_function_before(self, module: str) -> None:
        """It would be called after the end."""
        done = run(
            "import atexit, runpy, sys\n"
            "register, seen = atexit.register, []\n"
            "def note(function, *more, **named):\n"
            "    seen.append(function.__qualname__)\n"
            "    return register(function, *more, **named)\n"
            "atexit.register = note\n"
            "sys.argv[1:] = ['plugins']\n"
            f"try: runpy.run_module({module!r}, run_name='__main__')\n"
            "except BaseException: pass\n"
            "print('registered:', *seen)\n"
        )
        assert "registered: _leave " in done.stdout, done

    def test_no_other_module_of_the_worker_ends_its_process_with_exit(self) -> None:
        found = {
            str(path.relative_to(ROOT))
            for path in (ROOT / "connectd").rglob("*.py")
            if re.search(r"^\s*sys\.exit\(", path.read_text(), re.MULTILINE)
        }
        assert found == {
            "connectd/aio/session_guard.py",  # of the standard library alone: no Kafka client
            "connectd/app/leaving.py",
        }
