"""How a process of connectd ended, told to whoever started it."""

from __future__ import annotations

from enum import IntEnum

from connectd.errors import ConfigError


class ExitCode(IntEnum):
    """How a worker ended."""

    CLEAN = 0  # stopped, and everything acknowledged is committed
    FAILED = 1  # a service of the worker gave up; the log says which
    CONFIG = 2  # the configuration, or what it points to, cannot be used
    TAIL_REPEATED = 3  # stopped, but a tail is not committed: it will be sent again


def exit_code_of(error: BaseException) -> ExitCode:
    """The code of a worker that has failed."""
    return ExitCode.CONFIG if isinstance(error, ConfigError) else ExitCode.FAILED
