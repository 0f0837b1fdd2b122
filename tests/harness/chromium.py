"""A real Chromium for the tests of the dashboard, driven by Playwright.

The browser is Debian's package, or one that the machine has already: Playwright's own download is
not used. Where there is none, apt-get installs it if this process may; else the tests that need a
browser are not run, and named at the end of the run (``tests/browser/conftest.py``).

It starts without a profile and with everything off by which a browser talks to its maker, and no
name but those of this machine resolves: what a page asks for elsewhere fails, and is seen.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

INSTALL_DEADLINE_S = 600.0
START_DEADLINE_S = 60.0

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_INSTALLS: Final = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"),
)
_FLAGS: Final = (
    "--no-sandbox",  # tests run as root in containers; the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)


class ChromiumUnavailableError(Exception):
    """There is no browser, and none could be installed; the message says why."""


@functools.cache
def executable() -> Path:
    """The browser's program, installed when it is missing and may be.

    Raises ChromiumUnavailableError; the answer of the first call holds for the process.
    """
    found = _find()
    if found is None:
        _install()
        found = _find()
    if found is None:
        raise ChromiumUnavailableError(f"none of {', '.join(_NAMES)} is on PATH")
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block. No event loop may run in this thread meanwhile."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=executable(), args=_FLAGS, timeout=START_DEADLINE_S * 1000
        )
        try:
            yield started
        finally:
            started.close()


def _find() -> Path | None:
    paths = (shutil.which(name) for name in _NAMES)
    return next((Path(path) for path in paths if path is not None), None)


def _install() -> None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise ChromiumUnavailableError(
            f"none of {', '.join(_NAMES)} is on PATH, and this process may not install one; "
            "install Chromium (Debian: apt-get install chromium)"
        )
    print("connectd: installing chromium with apt-get ...", file=sys.stderr, flush=True)
    for command in _INSTALLS:
        try:
            answer = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=INSTALL_DEADLINE_S,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
        except subprocess.TimeoutExpired as late:
            raise ChromiumUnavailableError(
                f"{' '.join(command)} has not ended within {INSTALL_DEADLINE_S:g} s"
            ) from late
        if answer.returncode != 0:
            last_words = (answer.stdout + answer.stderr).strip().splitlines()[-3:]
            raise ChromiumUnavailableError(f"{' '.join(command)}: {' / '.join(last_words)}")
