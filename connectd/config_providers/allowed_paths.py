"""The parameter ``allowed.paths``: which part of the file system a provider may show.

Paths are compared by their parts after ``..`` has been taken out, as Kafka does it; links are not
followed, since mounted secrets are made of links. Whoever can place links below an allowed path
decides what is shown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

import structlog

from connectd.errors import ConfigError

PARAMETER: Final = "allowed.paths"

_log = structlog.get_logger(__name__)


class AllowedPaths:
    """The paths of a provider's parameter; without the parameter every path is allowed."""

    def __init__(self, params: Mapping[str, str]) -> None:
        """Read and check the parameter.

        Raises:
            ConfigError: a path is not absolute or does not exist; in Kafka's words.
        """
        text = params.get(PARAMETER, "")
        self._allowed = tuple(map(_existing, text.rstrip(",").split(","))) if text else None

    def resolve(self, path: str) -> str | None:
        """The path to open; None, and a line in the log, when it is not allowed."""
        if self._allowed is None:
            return path
        wanted = _normalised(path)
        if any(wanted.is_relative_to(allowed) for allowed in self._allowed):
            return str(wanted)
        _log.warning("config provider: path is outside of allowed.paths", path=path)
        return None


def _existing(text: str) -> PurePosixPath:
    path = _normalised(text)
    if not path.is_absolute() or not os.path.exists(path):
        raise ConfigError(
            f"Path {path} is not valid. The path should be absolute and exist "
            f"(one of {PARAMETER}, a comma-separated list without blanks)"
        )
    return path


def _normalised(text: str) -> PurePosixPath:
    # POSIX lets a path begin with two slashes; to everybody here that is one.
    normal = os.path.normpath(text)
    return PurePosixPath(f"/{normal.lstrip('/')}" if normal.startswith("/") else normal)
