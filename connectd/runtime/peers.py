"""Asking other workers of the cluster: what the herder needs of whoever speaks HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from connectd.errors import RetriableError
from connectd.model.cluster import Config
from connectd.runtime.session_keys import SessionKeys

ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"
SIGNATURE_HEADER = "X-Connect-Authorization"


class PeerError(RetriableError):
    """Another worker did not answer, or refused."""


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
        raise PeerError(f"{method} {url}: this worker knows no others")


class LeaderLine:
    """What a worker tells its leader (spec kafka-connect A.9): signed, as the group agreed."""

    def __init__(self, peers: Peers, keys: SessionKeys) -> None:
        self._peers = peers
        self._keys = keys

    async def put_tasks(
        self, leader_url: str | None, connector: str, configs: Sequence[Config]
    ) -> None:
        """Let the leader commit a task set.

        Raises:
            PeerError: it did not.
            NoSessionKeyError: nothing can be signed yet.
        """
        if leader_url is None:
            raise PeerError(f"submitting tasks of connector {connector}: no leader is known")
        body = json.dumps([dict(each) for each in configs]).encode()
        headers = {"Content-Type": "application/json"}
        signature = self._keys.sign(body)
        if signature is not None:
            headers[ALGORITHM_HEADER] = signature.algorithm
            headers[SIGNATURE_HEADER] = signature.text
        url = f"{leader_url.rstrip('/')}/connectors/{quote(connector, safe='')}/tasks"
        answer = await self._peers.ask("POST", url, body=body, headers=headers)
        if not 200 <= answer.status < 300:
            raise PeerError(
                f"submitting tasks of connector {connector} to {leader_url}: status "
                f"{answer.status}: {answer.body[:500].decode('utf-8', 'replace')}"
            )
