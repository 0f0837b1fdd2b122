"""How long a chunk of a scan on Spark may send, and from when on it is certain that none does.

An executor whose driver is gone may go on for a while: until it notices, which takes no time where
the driver was killed, and up to ten minutes where its machine or the network is away. What it reads
now may be old by the time it reaches Kafka, and a record of the stream that was sent meanwhile must
not be followed by it. So every chunk has a *lease*, counted from the moment when the driver handed
it out: when it is over, the chunk sends nothing more and throws away what it has not sent. Nobody
streams before the last lease that may be out is over and what was sent under it has arrived or
never will (decision 11). Pure.
"""

from __future__ import annotations

from typing import Final

LEASE_S: Final = 60.0
"""What the lease of a chunk has beyond the time that a chunk should take."""

FILE_LEASE_S: Final = 900.0
"""The same of a data file of an export, which has to be fetched first."""

DELIVERY_S: Final = 60.0
"""How long a record may wait in a producer: what a process that was stopped in mid chunk still
holds is thrown away by the client itself, before it sends again."""

MARGIN_S: Final = 30.0
"""For what is on the network or in a broker's queue, and for what clocks differ. A clock that is
behind the driver's is found out by an order that comes from the future; so an executor goes on too
long by the lesser of two times at most: what its clock is behind, and what the order was under
way."""


def lease_s(chunk_s: float, *, is_export: bool = False) -> float:
    """The lease of each chunk of a job."""
    return chunk_s + (FILE_LEASE_S if is_export else LEASE_S)


def settle_s(lease_s: float) -> float:
    """For how long after a lease was given something sent under it may arrive, at most."""
    return lease_s + DELIVERY_S + MARGIN_S
