"""Checking configs before they are written, and answering what plugins accept.

A check runs plugin code, so it runs in a thread: one that hangs holds up the request that asked
for it, until its deadline, and nobody else. The rules themselves are ``configdef``'s (spec
kafka-connect A.8); here is only what becomes of their result.

What is checked is the config with the values of config providers; what is answered has the
references instead, in values and in messages. (Kafka shows the values to whoever asks.)
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from connectd.aio import threads
from connectd.configdef import validation, values
from connectd.errors import ConfigError
from connectd.model.cluster import Config
from connectd.observe.redaction import HIDDEN
from connectd.plugins import containment, resolving
from connectd.runtime.changes import SubmittedConfig
from connectd.runtime.loop_watch import foreign
from connectd.runtime.requests import RequestFailedError, RequestGate, stage

T = TypeVar("T")

ConfigInfos = Mapping[str, Any]
"""The answer of the validate endpoint, ready for JSON (spec kafka-connect A.2)."""

_CONFIG_EXCEPTION = "org.apache.kafka.common.config.ConfigException"
_SEE_ALSO = (
    "You can also find the above list of errors at the endpoint "
    "`/connector-plugins/{connectorType}/config/validate`"
)


class PluginDirectory(Protocol):
    """What is known of the installed plugins. ``validate`` and ``inspect`` run plugin code."""

    def list_plugins(self, *, connectors_only: bool) -> Sequence[Mapping[str, str]]:
        """Class, type and version of each, in Kafka's order."""
        ...

    def config_keys(self, plugin: str, version: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The keys that a plugin accepts.

        Raises:
            NotFoundError: no plugin of that class or alias.
            ConfigError: none of that version, or it is of a kind that has no keys to be shown.
        """
        ...

    def validate(self, config: SubmittedConfig) -> ConfigInfos:
        """Check a config that is to become a connector; problems are in the result.

        Raises:
            ConfigError: there is no such connector class, or none is given.
        """
        ...

    def inspect(self, config: SubmittedConfig) -> ConfigInfos:
        """Check a config that somebody only asks about: a missing class is a problem like others.

        Kafka answers that with a bare error; structured, it reaches the form that a user fills in
        (field case R05).
        """
        ...


class ThreadRunner(Protocol):
    """Runs a blocking call somewhere else."""

    def __call__(self, call: Callable[[], T], group: str = "") -> Awaitable[T]:
        """The result of the call, when it is there; calls of one ``group`` may hang together."""
        ...


class ValidationThreads:
    """A few threads for calls that may hang; a hanging one keeps its place, not the process.

    A group, the checks of one connector class, gets some of them only: clients that ask again and
    again for a check that hangs do not take the places of all others.
    """

    def __init__(self, *, threads_max: int = 32, group_threads_max: int = 8) -> None:
        self._places = asyncio.Semaphore(threads_max)
        self._group_threads_max = group_threads_max
        self._group_places: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def __call__(self, call: Callable[[], T], group: str = "") -> T:
        group_places = self._group_places.get(group)
        if group_places is None:
            group_places = asyncio.Semaphore(self._group_threads_max)
            self._group_places[group] = group_places
        with stage("waiting for a new thread to become available for connector validation"):
            await group_places.acquire()
            try:
                await self._places.acquire()
            except asyncio.CancelledError:
                group_places.release()
                raise
        loop = asyncio.get_running_loop()

        def leave() -> None:
            self._places.release()
            group_places.release()

        def ended(_: Future[T]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(leave)

        def work() -> T:
            with containment.contained(f"asking plugins about a {group or 'connector'}"):
                return call()

        check = threads.started(work, name="connector-validation")
        check.add_done_callback(ended)
        return await asyncio.wrap_future(check)


class Validation:
    """Answers about plugins, and the check that every new config has to pass."""

    def __init__(
        self,
        gate: RequestGate,
        plugins: PluginDirectory,
        *,
        run_blocking: ThreadRunner,
        resolve: resolving.Resolver,
    ) -> None:
        self._gate = gate
        self._plugins = plugins
        self._run_blocking = run_blocking
        self._resolve = resolve

    def list_plugins(self, *, connectors_only: bool) -> Sequence[Mapping[str, str]]:
        """Class, type and version of every plugin, or of connectors only."""
        return self._plugins.list_plugins(connectors_only=connectors_only)

    def config_keys(self, plugin: str, version: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The keys that a plugin accepts.

        Raises:
            NotFoundError: no plugin of that class or alias.
            ConfigError: none of that version, or it is of a kind that has no keys to be shown.
        """
        with foreign(f"asking {plugin} for its keys"):
            return self._plugins.config_keys(plugin, version)

    async def validate(self, plugin: str, config: SubmittedConfig) -> ConfigInfos:
        """Check a config for a plugin without keeping it.

        Raises:
            ConfigError: the config is for another connector class.
            RequestFailedError: a config provider failed.
        """
        async with self._gate.request():
            named = config.get("connector.class") or ""
            is_named = bool(values.trim(named))
            if is_named and not _without_suffix(named).endswith(_without_suffix(plugin)):
                raise ConfigError(
                    f"Included connector type {named} does not match request type {plugin}"
                )
            resolution = await self._resolution(config, java_class=True)
            return await self._evaluate(self._plugins.inspect, config, resolution)

    async def check(self, config: SubmittedConfig) -> Config:
        """The config without nulls, if it is valid.

        Raises:
            ConfigError: it is not; the text lists every problem.
            RequestFailedError: a config provider failed.
        """
        resolution = await self._resolution(config, java_class=False)
        infos = await self._evaluate(self._plugins.validate, config, resolution)
        if infos["error_count"] > 0:
            messages = validation.create_errors(infos)
            raise ConfigError(
                "Connector configuration is invalid and contains the following "
                f"{infos['error_count']} error(s):\n" + "\n".join([*messages, _SEE_ALSO])
            )
        return {key: value for key, value in config.items() if value is not None}

    async def _resolution(
        self, config: SubmittedConfig, *, java_class: bool
    ) -> resolving.Resolution:
        """Kafka's two resources report the failure of a provider with and without its class."""
        given = {name: text for name, text in config.items() if text is not None}
        with stage(f"asking the config providers of connector {config.get('name')}"):
            try:
                return await self._resolve(given)
            except ConfigError as error:
                prefix = f"{_CONFIG_EXCEPTION}: " if java_class else ""
                raise RequestFailedError(f"{prefix}{error}") from error

    async def _evaluate(
        self,
        evaluate: Callable[[SubmittedConfig], ConfigInfos],
        config: SubmittedConfig,
        resolution: resolving.Resolution,
    ) -> ConfigInfos:
        resolved = {**config, **resolution.config}
        with stage(f"validating the configuration of connector {config.get('name')}"):
            try:
                infos = await self._run_blocking(
                    lambda: evaluate(resolved), resolved.get("connector.class") or ""
                )
            except ConfigError as error:
                if not resolution.values:
                    raise
                raise ConfigError(resolution.conceal(str(error))) from None
        return concealed(infos, resolution)


def concealed(infos: ConfigInfos, resolution: resolving.Resolution) -> ConfigInfos:
    """ConfigInfos with the references to config providers where their values were."""
    if not resolution.values:
        return infos
    shown = {
        **infos,
        "configs": [
            {**each, "value": _referring_value(each["value"], resolution)}
            for each in infos["configs"]
        ],
    }
    # Aliases may come from a provider too, and they are in names of keys and groups, in texts ...
    return dict(_concealed(shown, resolution))


def _referring_value(value: Mapping[str, Any], resolution: resolving.Resolution) -> dict[str, Any]:
    shown = value["value"]
    if shown not in (None, HIDDEN) and resolution.is_replaced(value["name"]):
        shown = resolution.raw[value["name"]]
    return {**value, "value": shown}


def _concealed(node: Any, resolution: resolving.Resolution) -> Any:
    match node:
        case str():
            return resolution.conceal(node)
        case list():
            return [_concealed(each, resolution) for each in node]
        case dict():
            return {name: _concealed(each, resolution) for name, each in node.items()}
    return node


def _without_suffix(name: str) -> str:
    return name.removesuffix("Connector") or name
