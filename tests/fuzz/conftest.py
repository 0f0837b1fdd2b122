"""Where there is no compiler there is no extension to be watched."""

from __future__ import annotations

import shutil

collect_ignore = [] if shutil.which("gcc") else ["test_sanitized.py"]
