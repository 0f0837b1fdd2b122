"""Where there is no browser: what is done about it, and what people are told."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from tests.harness import chromium


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """A machine with apt-get and without a browser; what was run there."""
    ran: list[Sequence[str]] = []

    def run(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 100, "", "E: no such package\n")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(
        shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return ran


def test_who_may_not_install_is_told_what_to_install(
    commands: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(chromium.ChromiumUnavailableError, match="apt-get install chromium"):
        chromium.executable.__wrapped__()
    assert commands == []


def test_an_installation_that_fails_says_why(commands: list[Sequence[str]]) -> None:
    with pytest.raises(chromium.ChromiumUnavailableError, match="E: no such package"):
        chromium.executable.__wrapped__()
    assert [command[1] for command in commands] == ["update"]
