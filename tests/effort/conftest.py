"""Where there is no compiler nothing is counted in C."""

from __future__ import annotations

import shutil

collect_ignore = [] if shutil.which("gcc") else ["test_compiled_counters.py"]
