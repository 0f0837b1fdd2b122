"""The files that ``connectd connectors apply`` is given, and what is wrong with them.

Two kinds of mistakes. What stands in a directory and is no file of a connector may be one whose
suffix is wrong: nobody knows what is meant, and nothing is done. A file that is one and cannot be
used stands for itself: the others are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connectd.configdef import connector_file
from connectd.configdef.connector_file import ConnectorFile
from connectd.errors import ConfigError

_SUFFIXES: Final = (".json", ".properties")


@dataclass(frozen=True)
class Collected:
    """Files that can be used, by name of their connector, and what is wrong with the others."""

    files: list[ConnectorFile]
    problems: list[str]


def collect(paths: Sequence[Path], *, are_all: bool) -> Collected:
    """Read files, and all files of directories but hidden ones. ``are_all``: connectors without a
    file would be deleted, so a directory has to have some.

    Raises:
        ConfigError: a directory has something else in it, cannot be read, or is empty.
    """
    files: list[ConnectorFile] = []
    problems: list[str] = []
    for path in [file for given in paths for file in _files(given, are_all=are_all)]:
        try:
            files.append(connector_file.load(path))
        except ConfigError as error:
            problems.append(str(error))
    return _distinct(files, problems)


def _distinct(files: Sequence[ConnectorFile], problems: Sequence[str]) -> Collected:
    """Those that are the only ones about their connector: which of two is meant nobody knows."""
    by_name: dict[str, dict[str, ConnectorFile]] = {}
    for file in files:
        by_name.setdefault(file.name, {})[file.path] = file
    several = [
        f"{' and '.join(each)} are about the same connector, {name}; keep one of them"
        for name, each in by_name.items()
        if len(each) > 1
    ]
    alone = [file for each in by_name.values() if len(each) == 1 for file in each.values()]
    return Collected(sorted(alone, key=lambda file: file.name), [*problems, *several])


def _files(path: Path, *, are_all: bool) -> list[Path]:
    if not path.is_dir():
        return [path]
    try:
        found = sorted(each for each in path.iterdir() if not each.name.startswith("."))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; nothing is changed") from error
    others = [each.name for each in found if each.suffix.lower() not in _SUFFIXES or each.is_dir()]
    if others:
        raise ConfigError(
            f"{path} has {', '.join(others[:5])}{', …' if others[5:] else ''}, expected only files "
            "of connectors, .json or .properties; nothing is changed. Rename what is one, move the "
            "rest away, or name the files instead of the directory"
        )
    if are_all and not found:
        raise ConfigError(
            f"{path} has no file of a connector, and --delete-unlisted would delete every "
            "connector that no other file has; leave the directory out if that is meant, and "
            "delete the last connector of a group by hand"
        )
    return found
