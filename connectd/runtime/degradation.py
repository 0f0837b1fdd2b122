"""Tables that make no progress although they should: degraded, and nothing restarts for it.

A worker may be alive, its task RUNNING, and a table may stand still for days (field case P07). What
the table does is known to its connector, which shows it in rows (``spi.SourceTask.tables``); here
they are judged, for REST, metrics and readiness alike. What people see of a row carries no secret:
the texts are those of AWS, of Kafka and of plugins, which may repeat what they were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from connectd.observe import redaction

STILL_S: Final = 300.0
"""Default of ``connectd.table.degraded.ms``: far longer than any pause between two reads."""

PAUSES: Final = 3
"""So many of the pauses that a table makes on purpose just now are no standing still, however
short ``connectd.table.degraded.ms`` is: one passes, a read may take as long, one is to spare."""

_MAY_STAND_STILL: Final = frozenset({"PAUSED", "DELAYED", "SKIPPED", "STOPPED"})
"""States in which nothing is expected to move."""

_AGES: Final = ("progress_age_s", "last_read_age_s", "lag_s")
"""What grows while nobody tells anything else."""

_NAMES: Final = frozenset({"table", "topic", "state"})
"""What people look a row up by: shown as it is, even if somebody's password is a word of it."""


def is_degraded(row: Mapping[str, object], still_s: float) -> bool:
    """Whether the table has failed, or has not moved for longer than that.

    A row without ``progress_age_s`` is believed to move. ``pause_s`` is how long the table waits on
    purpose between two moves.
    """
    state, age_s, pause_s = row.get("state"), row.get("progress_age_s"), row.get("pause_s")
    if state == "FAILED":
        return True
    if state in _MAY_STAND_STILL or not isinstance(age_s, int | float):
        return False
    return age_s > max(still_s, PAUSES * pause_s if isinstance(pause_s, int | float) else 0.0)


def aged(rows: Iterable[Mapping[str, object]], by_s: float, why: str) -> list[dict[str, object]]:
    """Rows as they were told so long ago, by somebody who has not been heard of since.

    A row that has no reason itself gets this one.
    """
    older: list[dict[str, object]] = []
    for row in rows:
        ages = {
            name: round(age_s + by_s, 3)
            for name in _AGES
            if isinstance(age_s := row.get(name), int | float)
        }
        older.append({**row, **ages, "reason": row.get("reason") or why})
    return older


def judged(row: Mapping[str, object], still_s: float) -> dict[str, object]:
    """The row as people see it: with ``degraded``, and a reason for that if it has none itself.

    Its texts are without secrets, and it holds JSON types only.
    """
    told = {
        name: value if name in _NAMES else redaction.redact_field(name, value)
        for name, value in row.items()
    }
    shown: dict[str, object] = {**told, "degraded": is_degraded(row, still_s)}
    if shown["degraded"] and not row.get("reason") and row.get("state") != "FAILED":
        shown["reason"] = f"no progress for {row.get('progress_age_s')} s"
    return shown
