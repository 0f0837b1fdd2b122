"""Many tables on one worker under the limits of the control plane (``simulation.thousands``)."""

from __future__ import annotations

import asyncio

from connectd.aws.streams import DESCRIBE_STREAM_PER_S
from tests.component.dynamodb.rig import virtual
from tests.simulation.thousands import LATENCY_S, Thousands, restarted

TABLES, SHARDS = 120, 4
IDLE_S = 5.0
CONFIG = {
    "stream.poll.interval.max.ms": "5000",
    # As pressed as a thousand tables are at the default of five minutes, times four.
    "stream.describe.interval.ms": "10000",
}


@virtual
async def test_a_restart_follows_all_tables_long_before_their_shards_are_listed() -> None:
    """And the children of a shard do not wait for the listings of all others."""
    found = await restarted(Thousands(TABLES, SHARDS, CONFIG))
    listings_s = TABLES / DESCRIBE_STREAM_PER_S
    assert found["first_start_followed_s"] <= listings_s + 10, "one listing for each table"
    assert found["restart_followed_s"] <= 5.0 < listings_s
    assert found["listings_by_then"] < TABLES / 2
    assert found["children_read_s"] <= 5.0
    assert found["listings_throttled"] == 0
    assert found["in_flight_max"] <= 64
    assert found["silence_max_s"] <= IDLE_S + 1.0, "no shard is forgotten"


@virtual
async def test_all_tables_are_scanned_while_their_shards_wait_to_be_listed() -> None:
    fleet = Thousands(TABLES, 1, CONFIG)
    for table in fleet.account.tables.values():
        table.put("k", 1)
    await fleet.rig.start()
    await fleet.rig.until(lambda: fleet.account.calls["Scan"] >= TABLES, within_s=5.0)
    assert len(fleet.account.listed_tables) < TABLES / 2
    assert fleet.followed() < TABLES / 2, "a scan is not over before the stream's start is durable"
    await fleet.rig.until(lambda: fleet.followed() == TABLES, within_s=60.0)
    await fleet.rig.stop()


@virtual
async def test_every_table_has_its_listing_in_the_end() -> None:
    fleet = Thousands(TABLES, 1, CONFIG)
    await fleet.start()
    fleet.account.listed_tables.clear()
    await asyncio.sleep(4 * TABLES / DESCRIBE_STREAM_PER_S)
    assert set(fleet.account.listed_tables) == set(fleet.account.tables)
    await fleet.rig.stop()


@virtual
async def test_more_shards_than_places_in_flight_share_them_evenly() -> None:
    fleet = Thousands(TABLES, SHARDS, {"stream.poll.interval.max.ms": "1000"})
    await fleet.start()
    # 480 shards, 64 at a time, 0.2 s each: 1.5 s a round.
    fleet.account.read_latency_s = (7.5 * LATENCY_S, 12.5 * LATENCY_S)
    await fleet.rig.sleep(20.0)
    fleet.account.reads.clear()
    await fleet.rig.sleep(30.0)
    reads = fleet.account.reads
    counts = [reads.count(shard) for shard in set(reads)]
    assert len(counts) == TABLES * SHARDS
    assert max(counts) - min(counts) <= 2
    assert fleet.account.in_flight_max <= 64
    await fleet.rig.stop()
