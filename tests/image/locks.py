"""Writes the locked versions of what is in the images: ``python -m tests.image.locks``.

Every distribution with its version and the hashes of its files, for every platform and Python that
we support; made by uv (``pip install uv``). Files that are younger than a week are left alone: most
poisoned uploads are found within days.
"""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LOCKED: Final = ROOT / "config" / "locks"

WORKER_EXTRAS: Final = ("registry", "tracing")
SPARK_EXTRAS: Final = (*WORKER_EXTRAS, "spark")

_AGE_MIN: Final = datetime.timedelta(days=7)
_DEADLINE_S: Final = 300.0


def commands(today: datetime.date) -> list[list[str]]:
    """What to run in the repository, in order: the second keeps to the versions of the first."""
    compile_ = [
        *("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
        *("--generate-hashes", "--no-annotate", "--no-header", "--upgrade"),
        *("--exclude-newer", (today - _AGE_MIN).isoformat()),
    ]
    worker = "config/locks/worker.txt"
    return [
        [*compile_, *_extras(WORKER_EXTRAS), "pyproject.toml", "-o", worker],
        [
            *compile_, *_extras(SPARK_EXTRAS), "pyproject.toml",
            "-c", worker, "-o", "config/locks/spark.txt",
        ],
        [*compile_, "config/locks/build.in", "-o", "config/locks/build.txt"],
    ]  # fmt: skip


def _extras(names: Sequence[str]) -> list[str]:
    return [word for name in names for word in ("--extra", name)]


def main() -> int:
    """Write all three."""
    if shutil.which("uv") is None:
        print("there is no uv on PATH; pip install uv", file=sys.stderr)
        return 1
    today = datetime.datetime.now(datetime.UTC).date()
    environ = {name: text for name, text in os.environ.items() if name != "VIRTUAL_ENV"}
    for command in commands(today):
        subprocess.run(command, cwd=ROOT, env=environ, check=True, timeout=_DEADLINE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
