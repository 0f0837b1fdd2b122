"""The whole test run, in two shares side by side: ``python -m tests.shares`` (``make test``).

Tests on real parts mostly wait, for a broker or for another process; one after the other they leave
a core idle. So those of the worker on real parts run beside all the others, each share in a pytest
of its own, with a broker of its own and its own random order. What the second share prints follows
when the first has ended. What takes long to build is built meanwhile, where both leave time for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

REAL_WORKER: Final = ("tests/integration", "tests/runbooks", "tests/security", "tests/simulation")

SHARES: Final = (
    REAL_WORKER,
    ("tests", *(f"--ignore={folder}" for folder in REAL_WORKER), "-p", "no:cacheprovider"),
)

BUILT_AHEAD: Final = "tests.harness.promtool"
_NICER: Final = 10
_ROOT: Final = Path(__file__).parents[1]


def main() -> int:
    """Run both; the exit code is 0 when both have passed."""
    with tempfile.TemporaryFile() as kept:
        ahead = _build_ahead()
        second = _start(SHARES[1], kept)
        try:
            codes = [_start(SHARES[0], None).wait(), second.wait()]
        except KeyboardInterrupt:  # all have got the signal too
            codes = [second.wait(), 1]
        ahead.wait()
        kept.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(kept.read())
    for share, code in zip(SHARES, codes, strict=True):
        print(f"{'passed' if code == 0 else 'FAILED'}: pytest {' '.join(share)}")
    return int(any(codes))


def _build_ahead() -> subprocess.Popen[bytes]:
    """Tests that come too early wait for it; a failure is theirs to tell."""
    return subprocess.Popen(
        [sys.executable, "-m", BUILT_AHEAD],
        cwd=_ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.nice(_NICER),
    )


def _start(share: Sequence[str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *share],
        cwd=_ROOT,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
    )


if __name__ == "__main__":
    sys.exit(main())
