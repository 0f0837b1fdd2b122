"""A role whose credentials end in the middle of everything, and nobody downstream notices.

Spec field-cases X06 and X07. Its sessions live for ten seconds here, and are refused before their
time while a scan and a stream are being read: no task fails, and no item is missing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig

pytestmark = pytest.mark.kafka

ITEMS = 300
EXPIRED = "ExpiredTokenException"
ROLE = "arn:aws:iam::123456789012:role/reader"


def test_credentials_that_end_in_mid_scan_and_mid_stream_are_renewed(
    kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path
) -> None:
    with Rig(kafka_broker, kafka_prefix, tmp_path) as rig:
        rig.create_table("t", items=ITEMS)
        rig.control.add_role(role_arn=ROLE, external_id="external")
        rig.control.session_lifetime(lifetime_s=10.0)
        rig.control.inject(operation="Scan", error=EXPIRED, after=5, times=1)
        rig.control.inject(operation="GetRecords", error=EXPIRED, after=2, times=1)
        endpoint = rig.config()["dynamodb.service.endpoint"]
        rig.create(
            aws__assume__role__arn=ROLE,
            aws__assume__role__external__id="external",
            aws__sts__endpoint=endpoint,
            init__sync__page__size="20",
        )
        rig.wait_following("t")
        # A stream is read on when it has nothing new, so the third read comes.
        rig.wait(lambda: EXPIRED in called(rig, "GetRecords"), "GetRecords is refused")
        for first in range(ITEMS, ITEMS + 30, 10):
            for number in range(first, first + 10):
                rig.put("t", number)
            expire_and_see(rig)
            rig.wait_equal("t")  # who is refused twice running has no good credentials, and fails

        assert EXPIRED in called(rig, "Scan")
        assert rig.states() == ("RUNNING", "RUNNING")
        assert not [line for line in rig.log_lines() if line["event"] == "failed"]


def called(rig: Rig, operation: str) -> list[str | None]:
    """The errors of all calls of an operation, None for those that were answered."""
    return [each["error"] for each in rig.control.journal() if each["operation"] == operation]


def expire_and_see(rig: Rig) -> None:
    """End all sessions before their time, and wait for the worker's next one."""
    before = len(called(rig, "AssumeRole"))
    rig.control.expire_sessions()
    rig.wait(lambda: len(called(rig, "AssumeRole")) > before, "a new session")
