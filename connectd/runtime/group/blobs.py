"""What members tell the leader, and what it gives them: byte for byte as Java workers (spec C.5.1).

A *subscription* says where a member is reached, how far it has read the config topic, and what it
runs. An *allotment* says who leads, what a member is to start and to stop, and when it is to join
again. Version 0 belongs to the protocol ``default``, 1 to ``compatible``, 2 to ``sessioned``; 1 and
2 have one layout. Every version is read with that layout, in which version 0 ends early.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from connectd.kafka.group.wire import (
    INT16,
    INT32,
    INT64,
    NULLABLE_BYTES,
    STRING,
    Array,
    Field,
    Struct,
    WireError,
)
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group.shares import NOTHING, Share

CONNECTOR_ITSELF: Final = -1
"""Stands among task numbers for the instance of the connector."""

CONFIG_MISMATCH: Final = 1
"""The error of an allotment whose leader has not read what another member has."""


class Protocol(Enum):
    """The protocols of a Connect group: the name that brokers know, the version of its blobs."""

    EAGER = "default", 0
    COMPATIBLE = "compatible", 1
    SESSIONED = "sessioned", 2

    def __init__(self, wire_name: str, version: int) -> None:
        self.wire_name = wire_name
        self.version = version

    @classmethod
    def named(cls, wire_name: str) -> Protocol:
        """The protocol that brokers call so.

        Raises:
            WireError: there is none.
        """
        found = next((each for each in cls if each.wire_name == wire_name), None)
        if found is None:
            raise WireError(f"the group speaks protocol {wire_name!r}, expected a Connect protocol")
        return found

    @classmethod
    def offered(cls, setting: str) -> tuple[Protocol, ...]:
        """What ``connect.protocol`` offers to the group, the best first."""
        newest = cls.EAGER if setting == "eager" else cls.named(setting)
        return tuple(each for each in reversed(cls) if each.version <= newest.version)


@dataclass(frozen=True)
class Allotment:
    """What the leader gives a member; the first four fields are the same for all."""

    version: int
    leader: str
    leader_url: str
    config_offset: int
    assigned: Share = NOTHING
    revoked: Share = NOTHING
    delay_ms: int = 0
    error: int = 0


@dataclass(frozen=True)
class Subscription:
    """What a member tells the leader; ``running`` None: it runs nothing that anybody gave it."""

    version: int
    url: str
    config_offset: int
    running: Allotment | None = field(default=None)


_ITEMS: Final = Array(
    Struct(Field("connector", STRING), Field("tasks", Array(INT32))), may_be_null=True
)

_SUBSCRIPTION: Final = Struct(
    Field("version", INT16),
    Field("url", STRING),
    Field("config_offset", INT64),
    Field("running", NULLABLE_BYTES, since=1),
    trailing={"running": None},
)

_ALLOTMENT: Final = Struct(
    Field("version", INT16),
    Field("error", INT16),
    Field("leader", STRING),
    Field("leader_url", STRING),
    Field("config_offset", INT64),
    Field("assigned", _ITEMS),
    Field("revoked", _ITEMS, since=1),
    Field("delay_ms", INT32, since=1),
    trailing={"assigned": None, "revoked": None, "delay_ms": 0},
)

_READ_AS: Final = 1


def dump_subscription(subscription: Subscription) -> bytes:
    """Its bytes, in its own version."""
    running = subscription.running
    values = {
        "version": subscription.version,
        "url": subscription.url,
        "config_offset": subscription.config_offset,
        "running": None if running is None else dump_allotment(running),
    }
    return _SUBSCRIPTION.dumps(values, subscription.version)


def load_subscription(content: bytes) -> Subscription:
    """What a member said.

    Raises:
        WireError: it is not a subscription.
    """
    values = _checked(_SUBSCRIPTION.loads(content, _READ_AS))
    running = values["running"]
    return Subscription(
        version=values["version"],
        url=values["url"],
        config_offset=values["config_offset"],
        running=load_allotment(running) if running else None,
    )


def dump_allotment(allotment: Allotment) -> bytes:
    """Its bytes, in its own version."""
    values = {
        "version": allotment.version,
        "error": allotment.error,
        "leader": allotment.leader,
        "leader_url": allotment.leader_url,
        "config_offset": allotment.config_offset,
        "assigned": _items(allotment.assigned),
        "revoked": _items(allotment.revoked),
        "delay_ms": allotment.delay_ms,
    }
    return _ALLOTMENT.dumps(values, allotment.version)


def load_allotment(content: bytes) -> Allotment:
    """What the leader gave.

    Raises:
        WireError: it is not an allotment.
    """
    values = _checked(_ALLOTMENT.loads(content, _READ_AS))
    return Allotment(
        version=values["version"],
        error=values["error"],
        leader=values["leader"],
        leader_url=values["leader_url"],
        config_offset=values["config_offset"],
        assigned=_share(values["assigned"]),
        revoked=_share(values["revoked"]),
        delay_ms=values["delay_ms"],
    )


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    if values["version"] < 0:
        raise WireError(f"Unsupported subscription version: {values['version']}")
    return values


def _items(share: Share) -> list[Mapping[str, Any]]:
    numbers: dict[str, list[int]] = {name: [CONNECTOR_ITSELF] for name in share.connectors}
    for task in sorted(share.tasks):
        numbers.setdefault(task.connector, []).append(task.task)
    return [{"connector": name, "tasks": numbers[name]} for name in sorted(numbers)]


def _share(items: list[Mapping[str, Any]] | None) -> Share:
    connectors: set[str] = set()
    tasks: set[ConnectorTaskId] = set()
    for item in items or ():
        for number in item["tasks"]:
            if number == CONNECTOR_ITSELF:
                connectors.add(item["connector"])
            else:
                tasks.add(ConnectorTaskId(item["connector"], number))
    return Share(frozenset(connectors), frozenset(tasks))
