"""A bash into which a page is typed, command after command, as into a terminal.

Variables, functions and the current directory last from one command to the next. Each command is
read from a file, so that one that is not complete fails by itself; its input is empty. What it
writes, errors included, is its answer. Owns its process group: what a page leaves in the background
ends with the shell.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.harness.processes import wait_for

ROOT: Final = Path(__file__).parents[2]
COMMAND_DEADLINE_S: Final = 90.0
END_DEADLINE_S: Final = 40.0
_READ_BYTES: Final = 65_536

_CONNECTD: Final = f"""#!/bin/sh
[ "$1" = reconcile ] && set -- "$@" --settle 3
exec {shlex.quote(sys.executable)} -m connectd "$@"
"""
_SLEEP: Final = f"""#!/bin/sh
exec {shutil.which("sleep")} 0.2
"""


class ShellError(Exception):
    """A command did not end, or ended the shell."""


@dataclass(frozen=True)
class Answer:
    """What a command wrote, and how it ended."""

    text: str
    exit_code: int


class PageShell:
    """One bash in a directory of its own; ``with`` starts and ends it.

    Its environment is ``variables`` and what a program needs at all; ``connectd`` is the one of
    this tree. Two waits are shorter than people's: pages look five times a second instead of once,
    and a comparison gives what is on its way three seconds, on a stage where nobody else writes.
    """

    def __init__(self, home: Path, variables: Mapping[str, str]) -> None:
        self._home = home
        self._variables = dict(variables)
        self._bash: subprocess.Popen[bytes] | None = None
        self._is_stuck = False

    def __enter__(self) -> Self:
        programs = self._home / ".programs"
        programs.mkdir(parents=True)
        for name, text in {"connectd": _CONNECTD, "sleep": _SLEEP}.items():
            program = programs / name
            program.write_text(text)
            program.chmod(0o755)
        environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(self._home),
            "LC_ALL": "C.UTF-8",
            **self._variables,
        }
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            cwd=self._home,
            env=environment,
            start_new_session=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        bash = self._started()
        try:
            if not self._is_stuck:
                self._end_in_order(bash)
        finally:
            self._kill_group()
            for pipe in (bash.stdin, bash.stdout):
                if pipe is not None:
                    pipe.close()

    def save(self, name: str, text: str) -> None:
        """Put a file into its directory."""
        (self._home / name).write_text(text + "\n", encoding="utf-8")

    def run(self, command: str, *, deadline_s: float = COMMAND_DEADLINE_S) -> Answer:
        """Type a command and wait for its end.

        Raises:
            ShellError: it did not end within ``deadline_s``, or ended the shell; says what it
                wrote until then.
        """
        typed = self._home / ".typed"
        typed.write_text(command + "\n", encoding="utf-8")
        end = f"--{uuid.uuid4().hex}--"
        self._send(f". ./{typed.name} < /dev/null; printf '%s %d\\n' {end} $?\n")
        written = self._read_until(end.encode(), time.monotonic() + deadline_s)
        text, _, code = written.decode("utf-8", "replace").rpartition(end)
        return Answer(text, int(code))

    def _send(self, line: str) -> None:
        stdin = self._started().stdin
        assert stdin is not None
        stdin.write(line.encode())

    def _read_until(self, end: bytes, give_up_at: float) -> bytes:
        """Everything up to the line with ``end``, that line included."""
        stdout = self._started().stdout
        assert stdout is not None
        written = b""
        while not (end in written and written.endswith(b"\n")):
            ready, _, _ = select.select([stdout], [], [], max(0.0, give_up_at - time.monotonic()))
            if not ready:
                self._is_stuck = True
                raise ShellError(f"it did not end; so far it wrote:\n{written.decode()}")
            more = os.read(stdout.fileno(), _READ_BYTES)
            if not more:
                raise ShellError(f"it ended the shell; before that it wrote:\n{written.decode()}")
            written += more
        return written

    def _end_in_order(self, bash: subprocess.Popen[bytes]) -> None:
        """What runs in the background is asked to end, and waited for."""
        with contextlib.suppress(BrokenPipeError):  # a command has ended the shell
            self._send("trap '' TERM; kill $(jobs -p) 2> /dev/null; wait; exit\n")
            wait_for(lambda: bash.poll() is not None, deadline_s=END_DEADLINE_S)

    def _kill_group(self) -> None:
        bash = self._started()
        with contextlib.suppress(ProcessLookupError):  # nobody is left
            os.killpg(bash.pid, signal.SIGKILL)
        bash.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        assert self._bash is not None, "the shell has not been started"
        return self._bash
