"""The worker's places for scans on Spark, as one of its processes sees them: they are the parent's.

How many are free is what the parent has said last; whether there is one for us it says when asked.
"""

from __future__ import annotations

from collections.abc import Callable

from connectd.runtime.cores.calls import Calls
from connectd.runtime.cores.messages import GivePlace, TakePlace, ToParent


class RemotePlaces:
    """See the module's docstring (``connectors.dynamodb.spark_engine.DriverPlaces``)."""

    def __init__(self, calls: Calls, send: Callable[[ToParent], None]) -> None:
        self._calls = calls
        self._send = send
        self._free = 0

    def on_free(self, free: int) -> None:
        """The parent says how many are."""
        self._free = free

    def locked(self) -> bool:
        """Whether all are taken, as far as is known here."""
        return self._free == 0

    async def acquire(self) -> bool:
        """Wait for one, however long that takes."""
        await self._calls.ask_patiently(TakePlace, if_unwanted=self.release)
        return True

    def release(self) -> None:
        """Give one back."""
        self._send(GivePlace())
