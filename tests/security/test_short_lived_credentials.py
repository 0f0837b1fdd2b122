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
        for number in range(ITEMS, ITEMS + 30):
            rig.put("t", number)
            if number % 10 == 0:
                rig.control.expire_sessions()
        rig.wait_equal("t")

        calls = rig.control.journal()
        refused = {each["operation"] for each in calls if each["error"] == EXPIRED}
        assert {"Scan", "GetRecords"} <= refused
        assert len([each for each in calls if each["operation"] == "AssumeRole"]) >= 4
        assert rig.states() == ("RUNNING", "RUNNING")
        assert not [line for line in rig.log_lines() if line["event"] == "failed"]
