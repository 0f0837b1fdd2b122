"""The first process of a child's session: it runs the program, and ends all when its owner is gone.

``child_process`` starts this file as a script, without connectd and without site-packages, so that
it stands guard from the first milliseconds on, long before the program could do that itself. Its
standard input is a pipe whose other end only the owner has. When that ends, however the owner has
gone, every process of the session is killed: there is nobody left to tell or to wait for.

SIGTERM is the program's business, which gets it too. The program's end is passed on: its exit code,
or the signal that ended it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

NOT_STARTED = 127
"""Exit code when the program cannot be started, as a shell has it."""

_LOOKS = 20
"""How often a session is looked through for what was started while it was being killed."""


def session_members(session: int, proc: str | os.PathLike[str] = "/proc") -> list[int]:
    """The living processes of a session; none where the system does not tell (no ``/proc``)."""
    found = []
    for name in filter(str.isdecimal, os.listdir(proc) if os.path.isdir(proc) else ()):
        try:
            # After the name, which may hold anything but ends with ")": state, ppid, pgrp, session.
            with open(os.path.join(proc, name, "stat"), "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # gone by now
            continue
        if len(fields) > 3 and fields[0] not in (b"Z", b"X") and int(fields[3]) == session:
            found.append(int(name))
    return found


def kill_session(session: int) -> None:
    """SIGKILL to every process of a session; the caller, if it is one of them, comes last."""
    own = os.getpid()
    for _ in range(_LOOKS):
        others = [pid for pid in session_members(session) if pid != own]
        if not others:
            break
        for pid in others:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
    try:
        os.killpg(session, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def descriptors(fds: tuple[int, ...]) -> str:
    """The guard's first argument: what it hands on to the program, and keeps none of."""
    return ",".join(map(str, fds))


def main(argv: list[str]) -> int:
    """Run a program and stand guard; returns its exit code, or ends by its signal."""
    fds, argv = [int(each) for each in argv[0].split(",") if each], argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: None)  # a handler: the program has the default again
    threading.Thread(target=_until_the_owner_is_gone, daemon=True).start()
    try:
        program = subprocess.Popen(  # noqa: S603 (what it is for)
            argv, stdin=subprocess.DEVNULL, pass_fds=fds
        )
    except OSError as error:
        sys.stderr.write(f"{argv[0]} cannot be started: {error.strerror}\n")
        return NOT_STARTED
    for each in fds:
        os.close(each)  # so that its other end hears of the program's end
    code = program.wait()
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _until_the_owner_is_gone() -> None:
    while os.read(0, 1):
        continue
    kill_session(os.getpid())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
