"""How long a member may trust that what it runs is its own."""

from __future__ import annotations

from connectd.runtime.group.lease import Lease


def test_without_an_answer_there_is_none() -> None:
    lease = Lease(9.0)
    assert not lease.is_valid(0.0)
    assert lease.stops_s is None
    assert lease.ends_s is None


def test_it_counts_from_the_sending_of_what_was_answered() -> None:
    lease = Lease(9.0)
    lease.renew(100.0)
    assert (lease.stops_s, lease.ends_s) == (106.0, 109.0)
    assert lease.is_valid(108.9)
    assert not lease.is_valid(109.0)


def test_an_answer_that_was_overtaken_takes_nothing_back() -> None:
    lease = Lease(9.0)
    lease.renew(100.0)
    lease.renew(99.0)
    assert lease.ends_s == 109.0


def test_what_the_coordinator_ends_is_over_at_once() -> None:
    lease = Lease(9.0)
    lease.renew(100.0)
    lease.drop()
    assert not lease.is_valid(100.1)
