"""A directory lives as long as its owner, whatever way that ends."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from connectd.aio import owned_directory
from connectd.aio.owned_directory import OwnedDirectory, sweep

PREFIX = "connectd-test-"

OWNER = f"""
import subprocess, sys
from connectd.aio.owned_directory import OwnedDirectory
mine = OwnedDirectory({PREFIX!r}, sys.argv[1])
(mine.path / "file").write_text("content")
program = [sys.executable, "-c", "import sys; sys.stdin.read()"]
subprocess.Popen(program, stdout=subprocess.DEVNULL, close_fds=False)
print(mine.path, flush=True)
sys.stdin.read()
"""


def an_owner(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process, and its directory; it ends with its input."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    return owner, Path(owner.stdout.readline().strip())


def left(parent: Path) -> set[str]:
    return {each.name for each in parent.iterdir()}


def test_it_is_private_and_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    with OwnedDirectory(PREFIX, tmp_path) as mine:
        assert mine.path.parent == tmp_path
        assert mine.path.name.startswith(PREFIX)
        assert mine.path.stat().st_mode & 0o777 == 0o700
        (mine.path / "inner").mkdir()
        (mine.path / "inner" / "file").write_text("content")
    assert left(tmp_path) == set()
    mine.remove()


def test_what_a_killed_owner_has_left_is_swept_by_the_next(tmp_path: Path) -> None:
    owner, theirs = an_owner(tmp_path)
    with owner:
        assert (theirs / "file").exists()
        owner.kill()
    assert theirs.exists()
    with OwnedDirectory(PREFIX, tmp_path) as mine:
        assert left(tmp_path) == {mine.path.name}


def test_what_a_living_owner_has_stays(tmp_path: Path) -> None:
    owner, theirs = an_owner(tmp_path)
    with owner, OwnedDirectory(PREFIX, tmp_path) as mine:
        sweep(PREFIX, tmp_path)
        assert left(tmp_path) == {mine.path.name, theirs.name}
        owner.kill()


def test_a_program_that_its_owner_has_started_does_not_keep_it(tmp_path: Path) -> None:
    owner, theirs = an_owner(tmp_path)
    with owner:
        owner.kill()
        owner.wait()
        assert theirs.exists()
        sweep(PREFIX, tmp_path)  # the program lives until its input ends, with this block
        assert left(tmp_path) == set()


def test_a_sweep_leaves_what_is_no_directory_or_has_another_name(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("content")
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    (tmp_path / f"{PREFIX}file").write_text("content")
    (tmp_path / f"{PREFIX}dead").mkdir()
    sweep(PREFIX, tmp_path)
    assert left(tmp_path) == {"elsewhere", f"{PREFIX}link", f"{PREFIX}file"}
    assert (elsewhere / "file").exists()


def test_a_sweep_leaves_the_directories_of_other_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{PREFIX}theirs").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    sweep(PREFIX, tmp_path)
    assert left(tmp_path) == {f"{PREFIX}theirs"}


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_sweep_between_making_and_lock_costs_only_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_gone: bool
) -> None:
    make, locks = tempfile.mkdtemp, list[int]()

    def made(**asked: Any) -> str:
        path: str = make(**asked)
        if not locks:
            locks.append(os.open(path, os.O_RDONLY))
            fcntl.flock(locks[0], fcntl.LOCK_EX)
            if is_gone:
                os.rmdir(path)
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    with OwnedDirectory(PREFIX, tmp_path) as mine:
        assert mine.path.exists()
        os.close(locks[0])
        sweep(PREFIX, tmp_path)
        assert left(tmp_path) == {mine.path.name}


def test_a_sweep_between_opening_and_lock_costs_only_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = fcntl.flock, list[int]()

    def locked(fd: int, how: int) -> None:
        if not swept:
            swept.append(fd)
            os.rmdir(next(tmp_path.iterdir()))
        lock(fd, how)

    monkeypatch.setattr(fcntl, "flock", locked)
    with OwnedDirectory(PREFIX, tmp_path) as mine:
        assert mine.path.exists()


def test_without_locks_in_the_file_system_nothing_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int, __: int) -> None:
        raise OSError(errno.EBADF, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    (tmp_path / f"{PREFIX}other").mkdir()
    with OwnedDirectory(PREFIX, tmp_path) as mine:
        assert left(tmp_path) == {mine.path.name, f"{PREFIX}other"}


def test_who_is_swept_every_time_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owned_directory, "_locked", lambda _: None)
    with pytest.raises(OSError, match="removed at once by others"):
        OwnedDirectory(PREFIX, tmp_path)
