"""Whether a Java is one that Spark takes: it is asked, since a file that is there may be anything.

It runs as a child for no longer than ``ASK_S``; what it has said counts for ``FRESH_S``, so that
many tables ask once, and a Java that was mended is seen.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Final

from connectd.aio import child_process
from connectd.aio.child_process import ChildCommand
from connectd.aio.clock import LoopClock
from connectd.configdef.worker import ENV_PREFIX

JAVA_MIN: Final = 17
ASK_S: Final = 20.0
FRESH_S: Final = 60.0

_VERSION: Final = re.compile(r'version "(?:1\.)?(?P<major>\d+)[^"]*"')
"""Java 8 and before call themselves 1.8."""


class JavaCheck:
    """Asks, and remembers. Used on one event loop."""

    def __init__(self, *, ask_s: float = ASK_S) -> None:
        self._ask_s = ask_s
        self._clock = LoopClock()
        self._lock = asyncio.Lock()
        self._known: dict[str, tuple[float, str]] = {}

    async def problem(self, java: str, environ: Mapping[str, str]) -> str:
        """Why Spark cannot run on this Java; "" when it can."""
        async with self._lock:
            asked_s, found = self._known.get(java, (float("-inf"), ""))
            if self._clock.monotonic() - asked_s >= FRESH_S:
                found = await self._asked(java, environ)
                self._known[java] = self._clock.monotonic(), found
            return found

    async def _asked(self, java: str, environ: Mapping[str, str]) -> str:
        env = {name: value for name, value in environ.items() if not name.startswith(ENV_PREFIX)}
        try:
            async with asyncio.timeout(self._ask_s):
                code, lines = await _answer(ChildCommand((java, "-version"), env))
        except TimeoutError:
            return f"{java} -version has not answered within {self._ask_s:.0f} s"
        except OSError as error:
            return f"{java} cannot be run: {error.strerror or error}"
        found = next(filter(None, map(_VERSION.search, lines)), None)
        if code != 0 or found is None:
            said = f" and says {lines[0].strip()[:200]!r}" if lines else " and says nothing"
            return (
                f"{java} is no Java that works: with -version it ends with exit code {code}{said}"
            )
        if int(found["major"]) < JAVA_MIN:
            return (
                f"{java} is too old, it is Java {found['major']}; install Java {JAVA_MIN} or newer "
                "or set the worker's spark.java.home"
            )
        return ""


async def _answer(command: ChildCommand) -> tuple[int, list[str]]:
    async with child_process.running(command, grace_s=0.0) as child:
        async for line in child.lines():
            child.keep(line)
        return await child.wait(), child.tail()
