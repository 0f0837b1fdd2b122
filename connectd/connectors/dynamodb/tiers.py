"""Which of the two encoders of the direct path does the work, and which splits pages of a scan.

*Portable* is Python on msgspec and orjson: always there, always right, the oracle of the other.
*Compiled* is ``page_scanner``, an extension that is built where a C compiler is at hand when
connectd is installed (docs/decisions/0014). Both give the same bytes, so nothing depends on the
choice but speed.

The choice is made once per table plan, and for splitting once per page, by what is installed;
``CONNECTD_ACCELERATOR=off`` in the environment of a process takes the portable tier in any case,
also from a file that is damaged so badly that loading it ends the process.
The environment and not a worker key, since Spark's Python workers have no worker's properties.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from enum import Enum
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from connectd.connectors.dynamodb.page_scanner import PageItems, PageScanner

SWITCH_ENV: Final = "CONNECTD_ACCELERATOR"

_ON: Final = ("", "on", "1", "true", "yes", "compiled")
"""Whoever says anything else wants to do without."""

_EXTENSION: Final = "connectd.connectors.dynamodb.page_scanner"


class Tier(Enum):
    """An encoder of the direct path, as logs, metrics and REST spell it."""

    COMPILED = "compiled"
    PORTABLE = "portable"


def active() -> Tier:
    """The tier that new plans take in this process."""
    return Tier.PORTABLE if why_portable() else Tier.COMPILED


def why_portable() -> str:
    """Why the compiled tier is not used; empty: it is."""
    wish = os.environ.get(SWITCH_ENV, "").strip()
    if wish.lower() not in _ON:
        return f"{SWITCH_ENV}={wish}"
    return _load()[1]


def scanner_class() -> type[PageScanner] | None:
    """The compiled scanner; None: it cannot be had here."""
    extension, _ = _load()
    return None if extension is None else extension.PageScanner


def page_splitter() -> Callable[[bytes | memoryview], tuple[PageItems, bytes] | None] | None:
    """The compiled splitter of pages; None: it cannot be had here."""
    extension, _ = _load()
    return None if extension is None else extension.split_page


@cache
def _load() -> tuple[ModuleType | None, str]:
    """The extension, or why there is none."""
    try:
        extension = importlib.import_module(_EXTENSION)
        for name in ("PageScanner", "split_page"):
            getattr(extension, name)
    except Exception as error:  # of another platform or version, or damaged: whatever that raises
        if isinstance(error, ModuleNotFoundError) and error.name == _EXTENSION:
            return None, (
                "no extension is installed: it was built without a C compiler, or for others"
            )
        return None, f"the extension cannot be loaded: {type(error).__name__}: {error}"
    return extension, ""
