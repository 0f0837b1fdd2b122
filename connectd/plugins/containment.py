"""Plugin code that raises what would end the worker ends what it belongs to instead.

``sys.exit``, a ``KeyboardInterrupt`` that nobody typed, and whatever else is no ``Exception`` pass
every boundary that is made for failures: asyncio lets them out of its loop, and the process is gone
with everybody else's connectors. A ``StopIteration`` cannot be delivered through a future, and a
``CancelledError`` that nobody asked for looks like the end of a job that was stopped. All of these
become an ``EscapeError`` here, which fails a task, a connector or a request, and names the line.

What somebody did ask for passes: the cancellation of the job that runs the plugin.
"""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

from connectd.errors import FatalTaskError

_OUR_PACKAGES: Final = frozenset({"connectd", "asyncio", "contextlib", "threading"})
"""Frames of these lie between the boundary and the plugin."""


class EscapeError(FatalTaskError):
    """Plugin code raised what no plugin may raise; its cause is that."""


@contextlib.contextmanager
def contained(doing: str) -> Iterator[None]:
    """Let nothing but errors and cancellations out; for the loop and for threads.

    ``doing`` says what the plugin does, and names its class: ``polling task s-0 (acme.Ticks)``.

    Raises:
        EscapeError: plugin code raised something else.
    """
    job = _running_job()
    try:
        yield
    except StopIteration as error:
        raise escape(doing, error) from error
    except Exception:
        raise
    except BaseException as error:
        if _is_asked_for(error, job):
            raise
        raise escape(doing, error) from error


def escape(doing: str, error: BaseException) -> EscapeError:
    """The error that takes the place of another; raise it from that."""
    return EscapeError(
        f"{doing}: {error!r}{_place(error)}; a plugin that gives up raises an Exception, such as "
        "FatalTaskError"
    )


def _is_asked_for(error: BaseException, job: asyncio.Task[Any] | None) -> bool:
    if job is None:
        return False
    if isinstance(error, asyncio.CancelledError):
        return job.cancelling() > 0
    # A coroutine that is thrown away ends with this; nobody runs it then.
    return isinstance(error, GeneratorExit) and _running_job() is not job


def _running_job() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None


def _place(error: BaseException) -> str:
    """The outermost line that is not ours, the innermost if all are."""
    frames = list(traceback.walk_tb(error.__traceback__))
    theirs = [each for each in frames if not _is_ours(each[0])]
    for frame, line in theirs[:1] or frames[-1:]:
        module, code = frame.f_globals.get("__name__", "?"), frame.f_code
        return f" in {module}.{code.co_qualname} ({code.co_filename}:{line})"
    return ""


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _OUR_PACKAGES
