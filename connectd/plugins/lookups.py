"""Asks config providers, in threads, and never waits for one for long.

A provider reads files and may ask other machines, so it can block for ever: a file on a dead NFS
server does. Every call therefore runs in a daemon thread of its own (it cannot hold up the loop,
nor the end of the process), one at a time for each provider and path: however often a connector on
a dead file is started, only one thread hangs, and everybody else's files are read as ever. A
provider has ``THREADS_MAX`` threads, so one that hangs on many paths keeps no thread from others.

State: the calls under way, owned by the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Final

from connectd.errors import ConfigError, ConnectdError
from connectd.plugins import answers, spi

DEADLINE_S: Final = 10.0
"""For all that one config refers to, of whatever provider. Long for a file or a secret server, and
short beside the 90 s of a request."""

THREADS_MAX: Final = 32

StartThread = Callable[[Callable[[], None]], None]
"""Runs a call somewhere else, some time."""


class Lookups:
    """Calls of ``spi.ConfigProvider.get`` that may hang. Made and used on one event loop."""

    def __init__(
        self,
        providers: Mapping[str, spi.ConfigProvider],
        *,
        deadline_s: float = DEADLINE_S,
        start_thread: StartThread | None = None,
    ) -> None:
        self._providers = dict(providers)
        self._deadline_s = deadline_s
        self._start_thread = start_thread or _start_daemon
        self._places = {name: asyncio.Semaphore(THREADS_MAX) for name in providers}
        self._under_way: dict[tuple[str, str], asyncio.Future[None]] = {}

    def knows(self, provider: str) -> bool:
        """Whether there is a provider of that name."""
        return provider in self._providers

    async def get(
        self, wanted: Mapping[tuple[str, str], Collection[str]]
    ) -> dict[tuple[str, str], spi.ProvidedValues]:
        """What providers know of ``wanted``: keys by provider and path.

        Raises:
            ConfigError: a provider failed, in its own words, or did not answer in time.
        """
        found = {}
        limit = asyncio.timeout(self._deadline_s)
        name, path = "", ""
        try:
            async with limit:
                for (name, path), keys in wanted.items():
                    found[name, path] = await self._get(name, path, keys)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ConfigError(
                f"config provider '{name}': no answer for the path '{path}' after "
                f"{self._deadline_s:g} s; check what it reads from (a network file system, a "
                "secret server), then restart what has failed"
            ) from error
        return found

    async def _get(self, name: str, path: str, keys: Collection[str]) -> spi.ProvidedValues:
        while (earlier := self._under_way.get((name, path))) is not None:
            await asyncio.wait((earlier,))
        # Before the wait for a place: everybody else who asks for this path waits for this call.
        ended = self._under_way[name, path] = asyncio.get_running_loop().create_future()
        try:
            await self._places[name].acquire()
        except BaseException:
            self._end(name, path, ended)
            raise
        return await self._call(name, path, keys, ended)

    async def _call(
        self, name: str, path: str, keys: Collection[str], ended: asyncio.Future[None]
    ) -> spi.ProvidedValues:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[spi.ProvidedValues] = loop.create_future()
        provider = self._providers[name]

        def deliver(values: spi.ProvidedValues | None, error: Exception | None) -> None:
            self._places[name].release()
            self._end(name, path, ended)
            if answer.done():  # whoever asked has given up
                return
            if error is not None:
                answer.set_exception(error)
            elif values is not None:
                answer.set_result(values)

        def work() -> None:
            values, failure = None, None
            try:
                found = provider.get(path, keys)
                values = answers.provided(f"{self._title(name)}: get", found)
            except ConnectdError as error:
                failure = error
            except BaseException as error:  # a thread that dies would keep its path for ever
                failure = self._unexpected(name, path, error)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(deliver, values, failure)

        try:
            self._start_thread(work)
        except RuntimeError as error:  # no more threads in this process
            deliver(None, self._unexpected(name, path, error))
        return await answer

    def _end(self, name: str, path: str, ended: asyncio.Future[None]) -> None:
        del self._under_way[name, path]
        ended.set_result(None)

    def _title(self, name: str) -> str:
        kind = type(self._providers[name])
        return f"config provider '{name}' ({kind.__module__}.{kind.__qualname__})"

    def _unexpected(self, name: str, path: str, error: BaseException) -> ConfigError:
        """Whatever a provider raises: its class, but not its text, which might have the values."""
        failure = ConfigError(
            f"{self._title(name)} failed for the path '{path}' with {type(error).__name__}; check "
            "the path and the provider's parameters"
        )
        failure.__suppress_context__ = True
        return failure


def _start_daemon(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="config-provider", daemon=True).start()
