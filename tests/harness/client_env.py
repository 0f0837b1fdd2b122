"""The virtual environment of the public clients, apart from ours: their pins would fight our own.

``tests/clients/requirements.txt`` is a lock file with hashes; what it says is installed from the
Python index into ``$CONNECTD_CACHE/clients-<python>-<digest>`` (``jars.cache_dir`` says where that
is), once per content of the file and version of Python. Only wheels are taken, so nothing is built
and nothing of a client runs before a test runs it. A file lock keeps two runs from installing at
the same time; a mark that is written last tells a finished environment from one that was cut short.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness import jars

LOCK_FILE = Path(__file__).parents[1] / "clients" / "requirements.txt"
INSTALL_DEADLINE_S = 600.0
COMMAND_DEADLINE_S = 45.0

_OWN_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTEST_ADDOPTS")


class ClientsUnavailableError(Exception):
    """The clients could not be installed; the message says why."""


@dataclass(frozen=True)
class CommandAnswer:
    """How a program of the environment ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """What it printed, which must be one JSON document."""
        return json.loads(self.stdout)


@dataclass(frozen=True)
class ClientEnv:
    """A finished environment."""

    home: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.program("python")

    def program(self, name: str) -> Path:
        """A program that one of the clients brought."""
        return self.home / "bin" / name

    def has(self, name: str) -> bool:
        """Whether a program is there; a client may refuse the Python that runs the tests."""
        return self.program(name).exists()

    def run(
        self,
        program: str,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        deadline_s: float = COMMAND_DEADLINE_S,
    ) -> CommandAnswer:
        """Run a program to its end, as a person would type it.

        Raises subprocess.TimeoutExpired when it takes longer than ``deadline_s``.
        """
        ended = subprocess.run(
            [str(self.program(program)), *arguments],
            env=environment(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=deadline_s,
        )
        return CommandAnswer(ended.returncode, ended.stdout, ended.stderr)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a client's process: ours, without those that steer our own Python."""
    inherited = {k: v for k, v in os.environ.items() if k not in _OWN_VARIABLES}
    return {**inherited, "NO_PROXY": "127.0.0.1,localhost", **(extra or {})}


def client_env(lock_file: Path = LOCK_FILE) -> ClientEnv:
    """The environment, installed when it is not there yet.

    Raises ClientsUnavailableError when the index or the cache cannot be used.
    """
    env = ClientEnv(_home_of(lock_file))
    if _is_finished(env):
        return env
    try:
        env.home.parent.mkdir(parents=True, exist_ok=True)
        with jars.locked(env.home.with_suffix(".lock")):
            if not _is_finished(env):
                _install(env, lock_file)
    except (OSError, jars.JarsUnavailableError) as error:
        raise ClientsUnavailableError(f"{env.home} cannot be written: {error}") from error
    return env


def _home_of(lock_file: Path) -> Path:
    digest = hashlib.sha256(lock_file.read_bytes()).hexdigest()[:12]
    python = f"py{sys.version_info.major}.{sys.version_info.minor}"
    return jars.cache_dir() / f"clients-{python}-{digest}"


def _mark(env: ClientEnv) -> Path:
    return env.home / "finished"


def _is_finished(env: ClientEnv) -> bool:
    return _mark(env).exists() and env.python.exists()


def _install(env: ClientEnv, lock_file: Path) -> None:
    _say("installing the public clients into an environment of their own (once) ...")
    started = time.monotonic()
    shutil.rmtree(env.home, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--python", str(env.python), "--disable-pip-version-check"]
    only_the_lock = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    for command in (
        [sys.executable, "-m", "venv", "--without-pip", str(env.home)],
        [*pip, "install", "--quiet", *only_the_lock, "--requirement", str(lock_file)],
    ):
        _run_to_success(command)
    _mark(env).touch()
    _say(f"the public clients are in {env.home} ({time.monotonic() - started:.0f} s)")


def _run_to_success(command: list[str]) -> None:
    try:
        ended = subprocess.run(
            command,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_DEADLINE_S,
        )
    except subprocess.TimeoutExpired as late:
        raise ClientsUnavailableError(
            f"installing them did not end within {INSTALL_DEADLINE_S:g} s"
        ) from late
    if ended.returncode != 0:
        last_words = " / ".join((ended.stdout + ended.stderr).strip().splitlines()[-2:])
        raise ClientsUnavailableError(f"pip ended with {ended.returncode}: {last_words}")


def _say(text: str) -> None:
    lead = "\r\x1b[2K" if sys.stderr.isatty() else ""
    print(f"{lead}connectd: {text}", file=sys.stderr, flush=True)
