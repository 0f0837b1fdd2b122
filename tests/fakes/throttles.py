"""Rates: token buckets on the fake's clock.

``RateLimits`` bound calls per second of an operation (over the account, per table or per shard);
``TableCapacity`` bounds the units of one table. As on AWS, a request is let through while the
bucket is above zero and pays afterwards what it really cost, so one big page may leave a debt; a
request that is turned away pays nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tests.fakes.clock import FakeClock
from tests.fakes.wire import AwsError

Scope = Literal["account", "table", "shard"]

_ROUNDING = 1e-4  # a clock near 1.8e9 s is exact to 2.4e-7 s; times a rate of some hundred per s


class TokenBucket:
    """Fills with ``rate`` tokens per second up to ``size``; starts full."""

    def __init__(self, clock: FakeClock, rate: float, size: float) -> None:
        if rate <= 0 or size <= 0:
            raise ValueError(f"a bucket of {size} tokens at {rate}/s: expected both above 0")
        self._clock = clock
        self._rate = rate
        self._size = size
        self._level = size
        self._filled_s = clock.now_s()

    def _fill(self) -> None:
        now_s = self._clock.now_s()
        elapsed_s = max(0.0, now_s - self._filled_s)
        self._filled_s = now_s
        self._level = min(self._size, self._level + elapsed_s * self._rate)

    def has(self, tokens: float) -> bool:
        """Whether at least this much is left, but for the rounding of clock readings."""
        self._fill()
        return self._level >= tokens - _ROUNDING

    def is_positive(self) -> bool:
        """Whether anything is left."""
        self._fill()
        return self._level > _ROUNDING

    def spend(self, tokens: float) -> None:
        """Take tokens; the level may fall below zero."""
        self._fill()
        self._level -= tokens


@dataclass(slots=True)
class RateLimit:
    """``per_s`` calls of an operation per second, ``burst`` at once, within each ``scope``."""

    operation: str
    per_s: float
    burst: float
    scope: Scope
    error: str
    buckets: dict[str, TokenBucket] = field(default_factory=dict)


class RateLimits:
    """All limits on calls."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._limits: dict[str, RateLimit] = {}

    def set(self, limit: RateLimit) -> None:
        """Set (or replace) the limit of one operation."""
        self._limits[limit.operation] = limit

    def clear(self) -> None:
        """Let everything through."""
        self._limits.clear()

    def check(self, operation: str, table: str | None, shard_id: str | None) -> None:
        """Count a call.

        Raises:
            AwsError: the limit's error when the call is too many.
        """
        limit = self._limits.get(operation)
        if limit is None:
            return
        scopes = {"account": "", "table": table or "", "shard": f"{table}/{shard_id}"}
        key = scopes[limit.scope]
        bucket = limit.buckets.get(key)
        if bucket is None:
            bucket = limit.buckets[key] = TokenBucket(self._clock, limit.per_s, limit.burst)
        if not bucket.has(1.0):
            raise AwsError(limit.error)
        bucket.spend(1.0)


@dataclass(slots=True)
class _Buckets:
    read: TokenBucket | None
    write: TokenBucket | None


class TableCapacity:
    """The provisioned capacity of tables; a table without a setting has no bound."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._buckets: dict[str, _Buckets] = {}

    def set(
        self, table: str, *, read_per_s: float | None, write_per_s: float | None, burst_s: float
    ) -> None:
        """Bound a table; AWS saves up to 300 s of unused capacity (``burst_s``)."""

        def bucket(rate: float | None) -> TokenBucket | None:
            return None if rate is None else TokenBucket(self._clock, rate, rate * burst_s)

        self._buckets[table] = _Buckets(bucket(read_per_s), bucket(write_per_s))

    def clear(self) -> None:
        """Take all bounds away."""
        self._buckets.clear()

    def remove(self, table: str) -> None:
        """Take the bound of one table away."""
        self._buckets.pop(table, None)

    def has_write(self, table: str) -> bool:
        """Whether a write would be let through."""
        buckets = self._buckets.get(table)
        return buckets is None or buckets.write is None or buckets.write.is_positive()

    def check_read(self, table: str, arn: str) -> None:
        """Let a read through or raise ProvisionedThroughputExceededException."""
        buckets = self._buckets.get(table)
        if buckets is not None and buckets.read is not None and not buckets.read.is_positive():
            raise throughput_exceeded("Read", arn)

    def check_write(self, table: str, arn: str) -> None:
        """Let a write through or raise ProvisionedThroughputExceededException."""
        if not self.has_write(table):
            raise throughput_exceeded("Write", arn)

    def spend(self, table: str, *, read: float = 0.0, write: float = 0.0) -> None:
        """Pay for what was done."""
        buckets = self._buckets.get(table)
        if buckets is None:
            return
        if buckets.read is not None:
            buckets.read.spend(read)
        if buckets.write is not None:
            buckets.write.spend(write)


def throughput_exceeded(direction: Literal["Read", "Write"], arn: str) -> AwsError:
    """The error of a table whose capacity is used up, with its reason."""
    return AwsError(
        "ProvisionedThroughputExceededException",
        ThrottlingReasons=[
            {"reason": f"Table{direction}ProvisionedThroughputExceeded", "resource": arn}
        ],
    )
