"""The files that docs/plugins.md shows: blocks of code behind their names."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugins.md"
_BLOCK = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def files() -> dict[str, str]:
    """The texts by name."""
    return dict(_BLOCK.findall(PAGE.read_text(encoding="utf-8")))
