"""Directories for what a process keeps on disk while it lives, gone with it at the latest.

A process that ends well removes its directory (``remove``). What a killed one has left is swept by
the next that comes: whose owner lives is told by a lock that the owner holds on the directory
itself (``flock(2)``), and that the kernel lets go of whatever way the owner ends. A process number
could not tell it, for containers that share a directory do not share their numbers.

Between the making of a directory and its lock a sweep may come. Who sweeps holds the lock as well,
so the maker finds it taken, or the directory gone, and makes another. Where the file system has no
locks nothing is swept. Blocks.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

MAKE_TRIES: Final = 10
"""Sweeps that may each come between the making of a directory and its lock."""


class OwnedDirectory:
    """A new directory of this process, of mode 0700; ``remove`` it, or use it in a ``with`` block.

    Its name is the prefix and the process's id, for people; who lives is told by the lock alone.
    The lock is held until then, or until the process ends: programs that it starts do not keep it.
    """

    def __init__(self, prefix: str, parent: str | Path | None = None) -> None:
        """Make it below ``parent`` (None: where temporary files are), and sweep there before.

        Raises:
            OSError: it cannot be made.
        """
        place = Path(parent or tempfile.gettempdir())
        sweep(prefix, place)
        self.path, lock = _made(prefix, place)
        self._lock: int | None = lock

    def remove(self) -> None:
        """Remove it with all that is in it; a second time does nothing."""
        if self._lock is None:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        lock, self._lock = self._lock, None
        os.close(lock)

    def __enter__(self) -> OwnedDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def sweep(prefix: str, parent: Path) -> None:
    """Remove this user's directories with such a name whose owner is no more."""
    for path in parent.glob(f"{prefix}*"):
        try:
            lock = _opened(path)
        except OSError:
            continue  # gone, another user's, or no directory
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue  # its owner lives, or nobody can tell
        finally:
            os.close(lock)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _made(prefix: str, place: Path) -> tuple[Path, int]:
    for _ in range(MAKE_TRIES):
        path = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=place))
        lock = _locked(path)
        if lock is not None:
            return path, lock
    raise OSError(f"every directory {prefix}… made in {place} was removed at once by others")


def _locked(path: Path) -> int | None:
    """The lock of a new directory, None: a sweep has it, or has had it."""
    try:
        lock = _opened(path)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except OSError:
        return lock  # no locks here: who sweeps cannot have one either
    if not path.exists():  # it was swept before it was locked
        os.close(lock)
        return None
    return lock
