"""Names that a topic may have."""

from __future__ import annotations

import re
from typing import Final

_LENGTH_MAX: Final = 249
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9._-]")


def problem(topic: str) -> str | None:
    """Why Kafka cannot have a topic of this name; None when it can."""
    if not topic:
        return "the name is empty"
    if topic in (".", ".."):
        return "the name is '.' or '..'"
    if len(topic) > _LENGTH_MAX:
        return f"the name has {len(topic)} characters, expected at most {_LENGTH_MAX}"
    illegal = _ILLEGAL.search(topic)
    if illegal is not None:
        return (
            f"the name contains {illegal[0]!r}, expected ASCII letters and digits, '.', '_' "
            "and '-' only"
        )
    return None
