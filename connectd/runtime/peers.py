"""Asking other workers of the cluster: what the herder needs of whoever speaks HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote

from connectd.aio.jobs import run_unless
from connectd.errors import RetriableError
from connectd.model.cluster import Config
from connectd.runtime.requests import REQUEST_DEADLINE_S
from connectd.runtime.roles import Roles
from connectd.runtime.session_keys import SessionKeys

DEADLINE_HEADER: Final = "X-Connectd-Deadline-Ms"
"""How long the worker that asks waits for the answer; connectd's own, unknown to Java's."""

LOOK_S: Final = 1.0
"""How often somebody who waits looks whether it is still the right one that was asked."""

ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"
SIGNATURE_HEADER = "X-Connect-Authorization"


class PeerError(RetriableError):
    """Another worker did not answer, or refused.

    ``is_unsent``: it has certainly not heard of the request.
    """

    def __init__(self, message: str, *, is_unsent: bool = False) -> None:
        super().__init__(message)
        self.is_unsent = is_unsent


@dataclass(frozen=True)
class PeerAnswer:
    """An answer of any status."""

    status: int
    body: bytes


class Peers(Protocol):
    """How other workers are asked."""

    async def ask(
        self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> PeerAnswer:
        """One request, within a deadline of its own.

        Raises:
            PeerError: there was no answer.
        """
        ...


class NoPeers:
    """For a worker that is alone."""

    async def ask(
        self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> PeerAnswer:
        """Nobody is there."""
        raise PeerError(f"{method} {url}: this worker knows no others", is_unsent=True)


class LeaderLine:
    """What a worker tells its leader (spec kafka-connect A.9): signed, as the group agreed."""

    def __init__(self, peers: Peers, keys: SessionKeys, roles: Roles) -> None:
        self._peers = peers
        self._keys = keys
        self._roles = roles

    async def put_tasks(self, connector: str, configs: Sequence[Config]) -> None:
        """Let the leader commit a task set. One that leads no more is not waited for.

        Raises:
            PeerError: it did not.
            NoSessionKeyError: nothing can be signed yet.
        """
        leader_url = self._roles.leader_url
        if leader_url is None:
            raise PeerError(f"submitting tasks of connector {connector}: no leader is known")
        body = json.dumps([dict(each) for each in configs]).encode()
        headers = {
            "Content-Type": "application/json",
            DEADLINE_HEADER: str(round(REQUEST_DEADLINE_S * 1000)),
        }
        signature = self._keys.sign(body)
        if signature is not None:
            headers[ALGORITHM_HEADER] = signature.algorithm
            headers[SIGNATURE_HEADER] = signature.text
        url = f"{leader_url.rstrip('/')}/connectors/{quote(connector, safe='')}/tasks"
        asking = self._peers.ask("POST", url, body=body, headers=headers)
        answer = await run_unless(asking, self._wait_other_leader(leader_url))
        if answer is None:
            raise PeerError(
                f"submitting tasks of connector {connector}: {leader_url} has not answered, and "
                "leads no more"
            )
        if not 200 <= answer.status < 300:
            raise PeerError(
                f"submitting tasks of connector {connector} to {leader_url}: status "
                f"{answer.status}: {answer.body[:500].decode('utf-8', 'replace')}"
            )

    async def _wait_other_leader(self, url: str) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if self._roles.leader_url != url:
                return
