"""``python -m connectd.app.task_program DESCRIPTOR``: the program of a process of tasks.

Nothing is imported before it is settled how the process leaves: what modules register with
``atexit`` must come behind (``leaving``).
"""

from __future__ import annotations

import sys

from connectd.app.leaving import run_and_leave


def main() -> int:
    """See ``task_process.main``."""
    from connectd.app import task_process

    return task_process.main(sys.argv[1:])


if __name__ == "__main__":
    run_and_leave(main)
