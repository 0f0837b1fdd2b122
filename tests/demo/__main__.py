"""``python -m tests.demo [--exit]``: exit code 0 when all topics equal their tables, else 1."""

from __future__ import annotations

import argparse
import sys

from tests.demo import screen
from tests.demo.story import Demo
from tests.harness.processes import HarnessError, sigterm_is_ctrl_c

INTERRUPTED = 130


def main(argv: list[str] | None = None) -> int:
    """Tell the story once."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo")
    parser.add_argument(
        "--exit",
        action="store_true",
        help="end after the verdict instead of leaving everything up until Ctrl-C",
    )
    options = parser.parse_args(argv)
    try:
        equal = Demo().tell(leave_up=not options.exit)
    except HarnessError as error:
        screen.say(f"\n{error}")
        return 1
    except KeyboardInterrupt:
        screen.say("\nstopped before the end of the story")
        return INTERRUPTED
    return 0 if equal else 1


if __name__ == "__main__":
    sigterm_is_ctrl_c()
    sys.exit(main())
