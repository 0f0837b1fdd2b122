"""The answer of /metrics as a whole: shared by scrapers, and in the dialects that are wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from connectd.aio.clock import LoopClock
from connectd.aio.scheduler import PollScheduler
from connectd.app.metrics import FRESH_S, MeteredParts, WorkerMetrics
from connectd.aws.clients import AwsClientPool
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb import tiers
from connectd.errors import ConfigError
from connectd.kafka.pool import ProducerPool
from connectd.runtime.loop_watch import LoopWatch
from tests.kit.control_plane import WORKER_PROPERTIES, Plane, control_plane
from tests.kit.virtual import virtual

DIALECTS = "connectd.metrics.dialects"


@asynccontextmanager
async def metered(**properties: str) -> AsyncIterator[tuple[Plane, WorkerMetrics]]:
    config = WorkerConfig.from_properties({**WORKER_PROPERTIES, **properties})
    clock = LoopClock(wall_anchor_s=1_700_000_000.0)
    async with control_plane() as plane:
        parts = MeteredParts(
            herder=plane.herder,
            producers=ProducerPool(client_id="w"),
            aws=AwsClientPool(clock),
            scheduler=PollScheduler(in_flight_max=7),
            loop_watch=LoopWatch(),
            clock=clock,
            client_id="w",
        )
        yield plane, WorkerMetrics(config, parts)


@virtual
async def test_scrapers_side_by_side_share_an_answer() -> None:
    async with metered() as (plane, metrics):
        texts = await asyncio.gather(metrics.text(), metrics.text(), metrics.text())
        assert texts[0] is texts[1] is texts[2]
        await plane.create("s")
        assert (await metrics.text()) is texts[0]
        await asyncio.sleep(FRESH_S)
        assert b'kafka_connect_connector_status{connector="s",status="running"} 1\n' in (
            await metrics.text()
        )


@virtual
async def test_the_worker_tells_of_itself() -> None:
    async with metered() as (_, metrics):
        text = (await metrics.text()).decode()
        info = 'version="4.0.0",commit_id="c0ffee",start_time_ms="1700000000000"'
        assert f'kafka_connect_app_info{{client_id="w",{info}}} 1\n' in text
        assert f'kafka_connect_app{{client_id="w",{info}}} 1\n' in text
        assert "kafka_connect_start_time_seconds 1700000000.0\n" in text
        assert 'connectd_kafka_available{client="configs"} 1\n' in text
        assert "connectd_worker_polls_in_flight_max 7\n" in text
        assert "connectd_worker_loop_lateness_max_seconds NaN\n" in text
        assert f'connectd_worker_encoding_tier{{tier="{tiers.active().value}"}} 1\n' in text
        assert "\nprocess_cpu_seconds_total " in text
        assert 'connect_protocol="SESSIONED"' in text


@virtual
async def test_a_producer_with_overrides_is_told_of_by_its_connector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    astray = {"a": False, "b": True}
    monkeypatch.setattr(ProducerPool, "availability", lambda pool: dict(astray))
    async with metered() as (_, metrics):
        text = (await metrics.text()).decode()
        assert 'connectd_kafka_available{client="producers"} 1\n' in text
        assert 'connectd_connector_kafka_available{connector="a"} 0\n' in text
        assert 'connectd_connector_kafka_available{connector="b"} 1\n' in text


@virtual
async def test_dialects_are_told_if_they_are_wanted() -> None:
    name = {
        "jmx1": "\nkafka_connect_connect_worker_metrics_task_startup_attempts ",
        "strimzi": "\nkafka_connect_worker_task_count ",
        "debezium": "\nkafka_connect_worker_metrics_task_count ",
    }
    for wanted in ("", *name):
        async with metered(**{DIALECTS: wanted}) as (_, metrics):
            text = (await metrics.text()).decode()
            found = [dialect for dialect in name if name[dialect] in text]
            assert found == ([wanted] if wanted else [])
            assert "\nkafka_connect_connect_worker_metrics_task_count " in text


def test_a_dialect_that_nobody_speaks_is_refused() -> None:
    with pytest.raises(ConfigError, match="has klingon, expected one of jmx1, strimzi, debezium"):
        WorkerConfig.from_properties({**WORKER_PROPERTIES, DIALECTS: "strimzi,klingon"})
