"""A worker that is stopped while it loads has its own exit code, wherever it was just then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

INTERRUPTED_IN_C = """
import ctypes
import sys

from connectd.cli import worker

run_text = ctypes.PyDLL(None).PyRun_String
run_text.restype = ctypes.py_object
run_text.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.py_object, ctypes.py_object]
FILE_INPUT = 257

sys.exit(worker._ending_cleanly(lambda: run_text(b"raise KeyboardInterrupt", FILE_INPUT, {}, {})))
"""


def test_an_interrupt_within_a_library_in_c_ends_a_start_cleanly(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(INTERRUPTED_IN_C, encoding="utf-8")
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{root}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended
