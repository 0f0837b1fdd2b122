"""Whose a request is, for a worker that has just woken and does not know what it has missed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest

from connectd.runtime import askers
from connectd.runtime.askers import Asker, NobodyWaitsError
from connectd.runtime.membership import Assignment, Membership
from connectd.runtime.peers import LeaderLine, PeerAnswer, PeerError
from connectd.runtime.roles import NotHereError, Roles
from connectd.runtime.session_keys import SessionKeys
from tests.kit.virtual import virtual

OWN, OTHER = "http://w1:8083/", "http://w2:8083/"


@dataclass
class Member:
    """Leads and is at rest by its picture; its lease is over, which it sees when it is asked."""

    leader_url: str = OWN
    has_lease: bool = False
    is_leader: bool = False
    worker_id: str = "w1:8083"
    assignment: Assignment = field(default_factory=Assignment)
    at_rest: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.at_rest.set()

    async def wait_at_rest(self) -> None:
        await self.at_rest.wait()

    def may_write(self) -> bool:
        if not self.has_lease:
            self.at_rest.clear()
        return self.has_lease

    def roles(self) -> Roles:
        return Roles(cast("Membership", self))


@virtual
async def test_a_leader_that_was_frozen_waits_until_it_knows_who_leads_now() -> None:
    member = Member()
    async with asyncio.TaskGroup() as jobs:
        waiting = jobs.create_task(_where(member.roles()))
        await asyncio.sleep(5.0)
        assert not waiting.done()
        member.leader_url, member.has_lease = OTHER, True
        member.at_rest.set()
    assert waiting.result() == OTHER


async def _where(roles: Roles) -> str | None:
    with pytest.raises(NotHereError) as raised:
        await roles.require_leader()
    return raised.value.url


@virtual
async def test_one_that_leads_no_more_sends_nobody_to_itself() -> None:
    member = Member(has_lease=True)
    assert await _where(member.roles()) is None
    with pytest.raises(NotHereError) as raised:
        await member.roles().require_owner("a")
    assert raised.value.url is None
    assert not raised.value.is_outdated
    member.leader_url = OTHER
    assert raised.value.is_outdated


@virtual
async def test_a_deadline_that_nobody_has_noticed_counts_before_a_write() -> None:
    roles = Member(has_lease=True, is_leader=True).roles()
    await roles.require_still_leader()  # nobody has asked: it is the worker's own work
    now_s = asyncio.get_running_loop().time()
    with askers.asked_by(Asker(now_s + 1.0)):
        await roles.require_still_leader()
        assert askers.left_s(90.0) == 1.0
    with askers.asked_by(Asker(now_s)), pytest.raises(NobodyWaitsError, match="timed out"):
        await roles.require_still_leader()


class Silent:
    """Hears, and does not answer."""

    async def ask(
        self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> PeerAnswer:
        assert headers["X-Connectd-Deadline-Ms"] == "90000"
        await asyncio.Event().wait()
        raise AssertionError


class Unsigned:
    """A group that does not sign."""

    def sign(self, body: bytes) -> None:
        return None


@virtual
async def test_task_sets_are_not_left_with_a_leader_that_leads_no_more() -> None:
    member = Member(leader_url=OTHER)
    line = LeaderLine(Silent(), cast("SessionKeys", Unsigned()), member.roles())
    async with asyncio.TaskGroup() as jobs:
        job = jobs.create_task(_refusal(line))
        await asyncio.sleep(12.0)
        assert not job.done()
        member.leader_url = "http://w3:8083/"
        began_s = asyncio.get_running_loop().time()
    assert job.result().endswith("http://w2:8083/ has not answered, and leads no more")
    assert asyncio.get_running_loop().time() - began_s <= 1.0


async def _refusal(line: LeaderLine) -> str:
    with pytest.raises(PeerError) as raised:
        await line.put_tasks("a", [])
    return str(raised.value)
