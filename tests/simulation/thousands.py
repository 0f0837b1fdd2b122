"""Thousands of tables on one worker, on virtual time, under the limits of AWS's control plane.

``python -m tests.simulation.thousands --tables 10000`` prints what it found as one JSON object; the
tests run the same with fewer. The account answers ten DescribeStream calls per second and throttles
the others; the task is the real one, and so are its bucket and its scheduler.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
from dataclasses import dataclass, field
from typing import Any

import structlog

from connectd.aio.clock import Clock, LoopClock
from connectd.aws.rate import TokenBucket
from connectd.aws.streams import DESCRIBE_STREAM_PER_S
from connectd.connectors.dynamodb.source_api import RawResponse, StreamDescription
from connectd.errors import ThrottledError
from tests.component.dynamodb.account import Account, FakeStream
from tests.component.dynamodb.rig import WALL_S, Rig
from tests.kit.virtual_time import run_virtual

AWS_DESCRIBE_STREAM_PER_S = 10
LATENCY_S = 0.02
LOOK_S = 1.0
"""Between two looks at all tables; longer with more than a thousand of them."""


class LimitedAccount(Account):
    """An account with AWS's limit on listings, behind the client's own bucket."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.latency_s = LATENCY_S
        self.read_latency_s = (LATENCY_S, LATENCY_S)
        """From and to. As a rule of real services no two answers take the same time; those that do
        let the shards march in step, and then a shuffle of equals decides who waits a round."""
        self._random = random.Random(7)
        self.throttled = 0
        self.in_flight = self.in_flight_max = 0
        self.listed_tables: list[str] = []
        self._bucket = TokenBucket(rate_per_s=DESCRIBE_STREAM_PER_S, clock=clock)
        self._seconds: dict[int, int] = {}
        self._streams_by_arn: dict[str, FakeStream] = {}

    def stream(self, arn: str) -> FakeStream:
        found = self._streams_by_arn.get(arn)
        if found is None:
            found = self._streams_by_arn[arn] = super().stream(arn)
        return found

    async def describe_stream(self, arn: str, *, can_wait: bool = False) -> StreamDescription:
        await self._bucket.take(can_wait=can_wait)
        second = int(self.clock.monotonic())
        self._seconds[second] = self._seconds.get(second, 0) + 1
        if self._seconds[second] > AWS_DESCRIBE_STREAM_PER_S:
            self.throttled += 1
            raise ThrottledError("DescribeStream: Rate exceeded")
        self.listed_tables.append(arn.split("/")[1])
        return await super().describe_stream(arn)

    async def get_records(self, iterator: str, limit: int) -> RawResponse:
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        self.latency_s = self._random.uniform(*self.read_latency_s)
        try:
            return await super().get_records(iterator, limit)
        finally:
            self.in_flight -= 1


@dataclass
class Thousands:
    """``tables`` tables with ``shards`` open shards each, and a worker for them."""

    tables: int
    shards: int = 4
    config: dict[str, str] = field(default_factory=dict)
    account: LimitedAccount = field(init=False)
    rig: Rig = field(init=False)

    def __post_init__(self) -> None:
        self.account = LimitedAccount(LoopClock(wall_anchor_s=WALL_S))
        for number in range(self.tables):
            self.account.add_table(f"t{number:05d}", shards=self.shards)
        self.rig = Rig(self.account, self.config)

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self.account.clock.monotonic()

    def followed(self) -> int:
        """Tables whose open shards have all been read in this life."""
        return sum(
            len(each.shards) == self.shards
            and all(shard.last_read_s is not None for shard in each.shards.values())
            for each in self._progress()
        )

    def at_work(self) -> int:
        """Tables that are scanned or followed."""
        return sum(each.state in ("INIT_SYNC", "SYNC") for each in self._progress())

    def silence_s(self) -> float:
        """The longest time since the last read of any shard."""
        return max(
            self.now_s - (shard.last_read_s or 0.0)
            for each in self._progress()
            for shard in each.shards.values()
        )

    async def start(self) -> float:
        """Start the worker; the virtual seconds until every table is followed."""
        began_s = self.now_s
        await self.rig.start()
        await self.rig.until(
            lambda: self.followed() == self.tables,
            within_s=self.tables * 10.0 + 600.0,
            step_s=max(LOOK_S, self.tables / 1000),
        )
        return self.now_s - began_s

    async def seconds_to_children(self, table: str) -> float:
        """Roll all shards of a table over; the virtual seconds until their children are read."""
        stream = self.account.tables[table].stream
        assert stream is not None
        children = {stream.roll(shard).shard_id for shard in list(stream.open_shards())}
        self.account.reads.clear()
        began_s = self.now_s
        await self.rig.until(
            lambda: children <= set(self.account.reads), within_s=3600.0, step_s=0.5
        )
        return self.now_s - began_s

    def _progress(self) -> list[Any]:
        assert self.rig.task is not None
        return list(self.rig.task._progress.values())


async def restarted(fleet: Thousands) -> dict[str, float]:
    """Start, stop, start again, and live on for a while; what was found."""
    first_s = await fleet.start()
    await fleet.rig.stop()
    fleet.account.in_flight_max = 0
    listed = len(fleet.account.listed_tables)
    restart_s = await fleet.start()
    listed = len(fleet.account.listed_tables) - listed
    children_s = await fleet.seconds_to_children("t00000")
    await fleet.rig.sleep(30.0)
    found = {
        "first_start_followed_s": first_s,
        "restart_followed_s": restart_s,
        "listings_by_then": listed,
        "children_read_s": children_s,
        "silence_max_s": fleet.silence_s(),
        "in_flight_max": fleet.account.in_flight_max,
        "listings_throttled": fleet.account.throttled,
    }
    await fleet.rig.stop()
    return found


def main(arguments: list[str]) -> None:
    """Simulate, and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.thousands")
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--idle-ms", type=int, default=20_000, help="longest poll interval")
    options = parser.parse_args(arguments)

    async def simulate() -> dict[str, float]:
        config = {"stream.poll.interval.max.ms": str(options.idle_ms)}
        return await restarted(Thousands(options.tables, options.shards, config))

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    found = run_virtual(simulate())
    print(json.dumps({"tables": options.tables, "shards": options.shards, **found}))


if __name__ == "__main__":
    main(sys.argv[1:])
