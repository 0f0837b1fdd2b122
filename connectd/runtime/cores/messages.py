"""Everything that a worker and the processes of its tasks say to each other.

A *run* is one life of one task in one child; its number is unique for as long as the worker lives.
A *call* is a question of a child; its number is unique in that child. Positions travel as the JSON
text of pairs, since a source partition may hold what MessagePack cannot: long integers, and texts
that are not Unicode.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import msgspec

from connectd.model.record import SourceOffset, SourcePartition
from connectd.runtime.cores.failures import Failure

Offsets = Mapping[SourcePartition, SourceOffset | None]
Value = int | float


class _Message(msgspec.Struct, tag=True, omit_defaults=True):
    """Tagged with its name. Nobody changes one."""


# -- to a child -------------------------------------------------------------------------------


class Setup(_Message):
    """The first message: which of how many it is, and the worker's configuration, secrets and all.

    ``log_format`` is decided (a child has no terminal); ``levels`` are those of loggers that were
    set by requests, in their order.
    """

    place: int
    places: int
    mode: str
    log_format: str
    properties: dict[str, str]
    environ: dict[str, str]
    levels: list[tuple[str, str]]


class StartTask(_Message):
    """Begin a run. Configs are resolved; ``secrets`` of theirs must not show in logs."""

    run: int
    connector: str
    task: int
    generation: int
    connector_config: dict[str, str]
    task_config: dict[str, str]
    starts_paused: bool
    offsets: bytes
    secrets: list[str]


class PauseTask(_Message):
    """``TaskRunner.pause``, or ``resume``."""

    run: int
    is_running: bool


class StopTask(_Message):
    """``TaskRunner.signal_stop``."""

    run: int


class CancelTask(_Message):
    """The second rung of the stop ladder."""

    run: int


class AbandonTask(_Message):
    """``TaskRunner.abandon``: the last rung. It is answered by ``LetGo``."""

    run: int


class MayWrite(_Message):
    """Until when all runs may write, in seconds of the machine's boot clock."""

    until_s: float


class Fence(_Message):
    """Nothing that this process holds may be written any more; its runs are over."""


class SetLevel(_Message):
    """The level of loggers (``observe.levels``)."""

    namespace: str
    level: str


class PlacesFree(_Message):
    """How many of the worker's places for scans on Spark nobody has."""

    free: int


class Answer(_Message):
    """To a call; ``offsets`` if it asked for them, ``failure`` if it could not be done."""

    call: int
    offsets: bytes | None = None
    failure: Failure | None = None


class End(_Message):
    """There is no task any more: close everything, and end."""


ToChild = (
    Setup
    | StartTask
    | PauseTask
    | StopTask
    | CancelTask
    | AbandonTask
    | MayWrite
    | Fence
    | SetLevel
    | PlacesFree
    | Answer
    | End
)


# -- to the parent ----------------------------------------------------------------------------


class Ready(_Message):
    """The process is there, and runs tasks from now on."""

    pid: int


class TaskEvent(_Message):
    """``TaskSpec.on_event``; ``event`` is the value of a ``LifecycleEvent``."""

    run: int
    event: str
    failure: Failure | None = None


class TaskTopic(_Message):
    """``TaskSpec.on_topic``."""

    run: int
    topic: str


class TailLeft(_Message):
    """``RemoteTask.on_tail_left``."""

    run: int


class TaskEnded(_Message):
    """A run is over; the last that is heard of it. ``failure``: why it has failed."""

    run: int
    failure: Failure | None = None


class ReadOffsets(_Message):
    """Read to the end of the store; the answer has all offsets of the run's connector."""

    call: int
    run: int


class WriteOffsets(_Message):
    """The answer comes when they are durable."""

    call: int
    run: int
    offsets: bytes


class TakePlace(_Message):
    """Wait for one of the worker's places for scans on Spark."""

    call: int


class GivePlace(_Message):
    """Give one back."""


class TaskReport(msgspec.Struct, frozen=True):
    """What a run says of itself: rows of its tables, numbers by the titles of their groups."""

    run: int
    rows: list[dict[str, object]]
    numbers: dict[str, dict[str, Value]]


class ProcessReport(msgspec.Struct, frozen=True):
    """What a process says of itself.

    ``producers`` are sums by client.id, ``producers_available`` by connector (``ProducerPool``),
    ``aws`` by operation; ``polls``, ``process`` and ``loop`` by the short names of their metrics.
    """

    producers: dict[str, dict[str, Value]] = {}
    producers_available: dict[str, bool] = {}
    aws: dict[str, dict[str, Value]] = {}
    polls: dict[str, Value] = {}
    process: dict[str, Value] = {}
    loop: dict[str, Value] = {}
    lateness_max_s: float = 0.0


class Report(_Message):
    """All of that, at regular times; it is the sign of life as well."""

    tasks: list[TaskReport]
    process: ProcessReport


class LetGo(_Message):
    """A run was abandoned: nothing of it is written any more, whatever it still does."""

    run: int


class WorkerFailed(_Message):
    """A service of the process has given up: the worker ends, as it does with one process."""

    failure: Failure


ToParent = (
    Ready
    | TaskEvent
    | TaskTopic
    | TailLeft
    | TaskEnded
    | LetGo
    | ReadOffsets
    | WriteOffsets
    | TakePlace
    | GivePlace
    | Report
    | WorkerFailed
)

_ENCODER: Final = msgspec.msgpack.Encoder()
_OF_PARENT: Final = msgspec.msgpack.Decoder(ToChild)
_OF_CHILD: Final = msgspec.msgpack.Decoder(ToParent)


def encode(message: ToChild | ToParent) -> bytes:
    """The frame of a message."""
    return _ENCODER.encode(message)


def from_parent(frame: bytes) -> ToChild:
    """A child reads.

    Raises:
        msgspec.DecodeError: it is no message of a parent.
    """
    message: ToChild = _OF_PARENT.decode(frame)
    return message


def from_child(frame: bytes) -> ToParent:
    """A parent reads.

    Raises:
        msgspec.DecodeError: it is no message of a child.
    """
    message: ToParent = _OF_CHILD.decode(frame)
    return message


def offsets_text(offsets: Offsets) -> bytes:
    """Offsets for the way, in their order."""
    pairs = [[partition.items, offset] for partition, offset in offsets.items()]
    return json.dumps(pairs, separators=(",", ":")).encode()


def offsets_of(text: bytes) -> dict[SourcePartition, SourceOffset | None]:
    """The offsets of such a text."""
    return {
        SourcePartition(tuple((name, value) for name, value in items)): offset
        for items, offset in json.loads(text)
    }
