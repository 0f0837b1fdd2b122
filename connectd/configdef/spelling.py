"""Unknown keys: never an error, always a warning that names what was probably meant.

Kafka Connect ignores unknown keys silently, so that a misspelt option is found out only by its
absence (field case D11).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Final

_SIMILARITY_MIN: Final = 0.8


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that this one is most likely a misspelling of, if any is near enough."""
    folded = {each.lower().replace("_", "."): each for each in known}
    spelled = name.lower().replace("_", ".")
    if spelled in folded:
        return folded[spelled]
    matches = difflib.get_close_matches(spelled, folded, n=1, cutoff=_SIMILARITY_MIN)
    return folded[matches[0]] if matches else None


def unknown_key(name: str, known: Collection[str]) -> str:
    """The warning for a key that nobody reads."""
    meant = nearest(name, known)
    hint = f"; did you mean '{meant}'?" if meant else "; check its spelling or remove it"
    return f"unknown configuration key '{name}' is ignored{hint}"
