"""What it means that Spark has not done a chunk, in our words; Spark's own come behind them.

Spark wraps the cause into what became of stage and job, and adds advice about settings that would
not help: a process that is gone is gone.
"""

from __future__ import annotations

import re
from typing import Final

_GONE: Final = (
    (
        re.compile(r"Python worker (exited unexpectedly|failed to connect back)[^.;]*"),
        "a Python worker of segment {segment} has ended, and its chunk is done again",
    ),
    (
        re.compile(r"ExecutorLostFailure[^.;]*"),
        "the executor of segment {segment} is lost, and its chunk is done again",
    ),
)

_ADVICE: Final = re.compile(r"\.? Consider (setting|boosting) .*", re.DOTALL)


def told(text: str, segment: int) -> str:
    """What to tell of a loss that Spark explains so."""
    for sign, words in _GONE:
        found = sign.search(text)
        if found is not None:
            return f"{words.format(segment=segment)} (Spark: {found[0].strip()})"
    return _ADVICE.sub("", text)
