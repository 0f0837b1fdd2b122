"""Which tables stand still although they should move."""

from __future__ import annotations

import pytest

from connectd.observe import redaction
from connectd.runtime.degradation import aged, is_degraded, judged


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"state": "SYNC", "progress_age_s": 301}, True),
        ({"state": "SYNC", "progress_age_s": 300.0}, False),
        ({"state": "SYNC", "progress_age_s": None}, False),
        ({"state": "SYNC"}, False),
        ({"state": "INIT_SYNC", "progress_age_s": 1e9}, True),
        ({"state": "DISCOVERY", "progress_age_s": 1e9}, True),
        ({"state": "PAUSED", "progress_age_s": 1e9}, False),
        ({"state": "DELAYED", "progress_age_s": 1e9}, False),
        ({"state": "SKIPPED", "progress_age_s": 1e9}, False),
        ({"state": "FAILED", "progress_age_s": 0.0}, True),
        ({"state": "FAILED"}, True),
        ({"state": "SYNC", "progress_age_s": "long"}, False),
        ({}, False),
        ({"state": "SYNC", "progress_age_s": 360.0, "pause_s": 120.0}, False),
        ({"state": "SYNC", "progress_age_s": 360.1, "pause_s": 120.0}, True),
        ({"state": "SYNC", "progress_age_s": 301, "pause_s": 2.0}, True),
        ({"state": "SYNC", "progress_age_s": 301, "pause_s": None}, True),
    ],
)
def test_a_row_is_judged_by_its_state_and_its_age(row: dict[str, object], expected: bool) -> None:
    assert is_degraded(row, 300.0) is expected


def test_a_degraded_row_says_why() -> None:
    still = {"state": "SYNC", "progress_age_s": 301.5, "reason": ""}
    assert judged(still, 300.0) == {
        **still,
        "degraded": True,
        "reason": "no progress for 301.5 s",
    }
    throttled = {**still, "reason": "throttled"}
    assert judged(throttled, 300.0) == {**throttled, "degraded": True}
    moving = {"state": "SYNC", "progress_age_s": 1.0, "reason": ""}
    assert judged(moving, 300.0) == {**moving, "degraded": False}


def test_no_text_of_a_row_shows_a_secret_and_names_stay_what_they_are() -> None:
    redaction.register_secret("orders")  # somebody's password
    row = {
        "table": "orders",
        "topic": "cdc.orders",
        "state": "SYNC",
        "reason": "credential orders is denied",
        "note": "at http://u:w0rd@kafka",
        "scan": {"engine": "daemon", "gap": "of orders", "rate": 1.5},
        "items_scanned": 3,
        "lag_s": None,
    }
    try:
        assert judged(row, 300.0) == {
            **row,
            "reason": "credential [hidden] is denied",
            "note": "at http://[hidden]@kafka",
            "scan": {"engine": "daemon", "gap": "of [hidden]", "rate": 1.5},
            "degraded": False,
        }
    finally:
        redaction.forget_secrets()


def test_rows_grow_older_while_nobody_tells_others() -> None:
    told: list[dict[str, object]] = [
        {"table": "t", "state": "SYNC", "progress_age_s": 1.5, "lag_s": 0, "last_read_age_s": None},
        {"table": "u", "state": "SYNC", "reason": "AccessDenied"},
    ]
    assert aged(told, 60.25, "not heard of") == [
        {**told[0], "progress_age_s": 61.75, "lag_s": 60.25, "reason": "not heard of"},
        told[1],
    ]
