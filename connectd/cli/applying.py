"""Brings the connectors of a group to what files say, through the REST API of any of its workers.

Idempotent: what is as it should be is not touched, so nothing restarts. Connectors are looked at
one after the other and each stands for itself: one that is refused does not keep the others from
being created. What may pass (a worker that starts, a group that rebalances or whose leader has just
gone, a request that takes too long) is tried again until the deadline, which is one for all of it.
Each attempt looks first what is there: the one before may have been carried out unseen.
"""

from __future__ import annotations

import asyncio
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from connectd.aio.backoff import Backoff
from connectd.aio.clock import Clock
from connectd.cli.worker_api import Answer
from connectd.configdef.connector_file import ConnectorFile
from connectd.errors import ConnectdError, TransientNetworkError
from connectd.model.states import TargetState

Ask = Callable[[str, str, object, float], Awaitable[Answer]]
"""``ask(method, path, body, deadline_s)``; raises ``TransientNetworkError`` where nobody answers
within so many seconds."""

_WAIT: Final = Backoff(initial_s=0.5, max_s=5.0)
_FAILURES_MAX: Final = 5
"""A worker that fails so often at one connector means it."""

_PASSING: Final = frozenset((409, 502, 503, 504))
"""A group that rebalances, a worker that starts, and what proxies say while one is away."""

_UNREACHED: Final = "IO Error trying to forward REST request"
"""What a worker says, Java's as well as ours, when the one that it has asked did not answer."""

_STATE_WORDS: Final[Mapping[TargetState, str]] = {
    TargetState.STARTED: "RUNNING",
    TargetState.PAUSED: "PAUSED",
    TargetState.STOPPED: "STOPPED",
}


class Outcome(Enum):
    """What became of a connector."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DELETED = "deleted, since no file has it"
    KEPT = "kept, though no file has it"
    REFUSED = "refused"


@dataclass(frozen=True)
class Result:
    """One connector; ``words`` are the worker's where it has refused."""

    name: str
    outcome: Outcome
    words: str = ""


class Applying:
    """One run. ``tell`` is called for each connector as soon as it is decided."""

    def __init__(
        self, ask: Ask, clock: Clock, *, deadline_s: float, tell: Callable[[Result], None]
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._deadline_s = deadline_s
        self._until_s = clock.monotonic() + deadline_s
        self._tell = tell

    async def run(self, files: Sequence[ConnectorFile], *, deletes_unlisted: bool) -> list[Result]:
        """Wait for the worker, create and change, and see to connectors that no file has.

        Raises:
            ConnectdError: the worker is not ready within the deadline, or wants a login.
        """
        await self._decided("GET", "/health", also=(404,))  # Kafka before 3.9 has no /health
        before = await self._decided("GET", "/connectors")
        results = [await self._bring(file) for file in files]
        listed = {file.name for file in files}
        unlisted = sorted(set(map(str, before.document)) - listed)
        return results + [await self._see_to(name, deletes=deletes_unlisted) for name in unlisted]

    async def _bring(self, file: ConnectorFile) -> Result:
        attempt = failures = 0
        while True:
            attempt += 1
            result = await self._try_to_bring(file)
            if isinstance(result, Result):
                return self._told(result)
            if not _passes(result):
                failures += 1
                if result.status < 500 or failures == _FAILURES_MAX:
                    return self._told(Result(file.name, Outcome.REFUSED, result.words))
            if not await self._wait(attempt):
                return self._told(Result(file.name, Outcome.REFUSED, result.words))

    async def _try_to_bring(self, file: ConnectorFile) -> Result | Answer:
        """What became of it, or why nothing did."""
        path = _path(file.name)
        found = await self._decided("GET", f"{path}/config", also=(404,))
        if found.status == 200 and {**found.document, "name": file.name} == file.config:
            return Result(file.name, Outcome.UNCHANGED)
        if found.status == 404 and file.target is not None:
            body = {
                "name": file.name,
                "config": file.config,
                "initial_state": _STATE_WORDS[file.target],
            }
            answer = await self._answer("POST", "/connectors", body)
        else:
            answer = await self._answer("PUT", f"{path}/config", file.config)
        if answer.status == 201:
            return Result(file.name, Outcome.CREATED)
        return Result(file.name, Outcome.CHANGED) if answer.status == 200 else answer

    async def _see_to(self, name: str, *, deletes: bool) -> Result:
        if not deletes:
            return self._told(Result(name, Outcome.KEPT))
        await self._decided("DELETE", _path(name), also=(204, 404))
        return self._told(Result(name, Outcome.DELETED))

    async def _decided(self, method: str, path: str, *, also: Sequence[int] = ()) -> Answer:
        """An answer of status 200 or one of ``also``; anything else is asked again until the
        deadline, but for refusals that will stay.

        Raises:
            ConnectdError: none came, or such a refusal did.
        """
        attempt = 0
        while True:
            attempt += 1
            answer = await self._answer(method, path, None)
            if answer.status == 200 or answer.status in also:
                return answer
            if 400 <= answer.status < 500 and answer.status != 409:
                hint = "; set CONNECTD_USER and CONNECTD_PASSWORD" if answer.status == 401 else ""
                raise ConnectdError(f"{method} {path} is refused: {answer.words}{hint}")
            if not await self._wait(attempt):
                raise ConnectdError(
                    f"not ready within {self._deadline_s:g} s; {method} {path} was answered last "
                    f"with: {answer.words}"
                )

    async def _answer(self, method: str, path: str, body: object) -> Answer:
        """The worker's answer, as soon as one answers at all.

        Raises:
            ConnectdError: nobody did until the deadline.
        """
        attempt = 0
        while True:
            attempt += 1
            left_s = max(self._until_s - self._clock.monotonic(), 0.0)
            try:
                async with asyncio.timeout(left_s):
                    return await self._ask(method, path, body, left_s)
            except TransientNetworkError as error:
                if not await self._wait(attempt):
                    raise ConnectdError(
                        f"not ready within {self._deadline_s:g} s: {error}"
                    ) from error
            except TimeoutError as error:
                raise ConnectdError(
                    f"not ready within {self._deadline_s:g} s: {method} {path} is not answered"
                ) from error

    async def _wait(self, attempt: int) -> bool:
        """Before the next attempt; False, at once, where the deadline leaves no time for it."""
        wait_s = _WAIT.wait_s(attempt)
        if self._clock.monotonic() + wait_s >= self._until_s:
            return False
        await self._clock.sleep(wait_s)
        return True

    def _told(self, result: Result) -> Result:
        self._tell(result)
        return result


def _passes(answer: Answer) -> bool:
    """Whether it is the group that is in the way, and not what was asked."""
    return answer.status in _PASSING or (
        answer.status == 500 and answer.words.startswith(_UNREACHED)
    )


def _path(connector: str) -> str:
    return f"/connectors/{urllib.parse.quote(connector, safe='')}"
