"""A process of a worker's tasks, which ``task_program`` begins (decision 15).

Started by ``runtime.cores.spawning`` and by nobody else. The descriptor is one end of a socket
pair; the first frame has the worker's configuration. What a worker of one process builds for its
tasks is built here; REST, herder, stores and membership are the parent's.

The process ends when the parent says so or is gone. SIGTERM, SIGINT and SIGHUP are for the parent:
they may reach all processes of a control group or a terminal, while tasks still have to commit.
"""

from __future__ import annotations

import asyncio
import faulthandler
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence

import structlog
import uvloop

import connectd
from connectd.aio.clock import LoopClock
from connectd.aio.framed_socket import FramedSocket
from connectd.aio.jobs import JobGroup, wait_first
from connectd.aio.scheduler import PollScheduler
from connectd.app import ground, hand_off, task_wiring, tuning
from connectd.app.bundled import plugin_registry
from connectd.app.exit_code import ExitCode
from connectd.app.process_report import ProcessReporter, ReportedParts
from connectd.app.task_wiring import TaskParts, TaskTies, TaskWiring
from connectd.aws.clients import AwsClientPool
from connectd.configdef.worker import Mode, WorkerConfig
from connectd.connectors.dynamodb.spark_engine import SparkEngine
from connectd.errors import InvariantError
from connectd.kafka.admin import SharedAdmins
from connectd.kafka.pool import ProducerPool
from connectd.observe import logs, redaction, tracing
from connectd.observe.levels import LevelRegistry
from connectd.plugins import spi
from connectd.plugins.internal_topics import InternalTopics
from connectd.plugins.registry import PluginRegistry
from connectd.runtime.cores import messages
from connectd.runtime.cores.hosting import Hosted, HostParts, TaskHost
from connectd.runtime.loop_watch import LoopWatch
from connectd.runtime.task_runner import TaskRunner

_log = structlog.get_logger(__name__)

_CLOSE_S = 1.0
"""Of each client: with the tasks gone, nothing is left to send."""


class TaskProcess:
    """All objects of one such process. Made and used on its event loop."""

    def __init__(
        self,
        setup: messages.Setup,
        send: Callable[[messages.ToParent], None],
        unsent_bytes: Callable[[], int],
        registry: PluginRegistry,
    ) -> None:
        self._config = config = WorkerConfig.from_properties(
            setup.properties, mode=Mode(setup.mode), environ=setup.environ
        )
        kind, clock = ground.ground_of(config), LoopClock()
        self._loop_watch = LoopWatch(window=task_wiring.window_settings(config))
        self._tracing = tracing.start(os.environ, version=connectd.__version__)
        self._aws = AwsClientPool(clock, processes=setup.places)
        self._producers = ProducerPool(
            client_id=kind.producer_client_id,
            buffer_kib=config.producer_queue_kib,
            on_failure=lambda error: self.host.fail(error),
        )
        polls_max = math.ceil(config.polls_in_flight_max / setup.places)
        scheduler = PollScheduler(in_flight_max=polls_max)
        self._admins = SharedAdmins(client_id=kind.client_id("topics"), clock=clock)
        reporter = ProcessReporter(
            ReportedParts(self._producers, self._aws, scheduler, self._loop_watch)
        )
        self.host = TaskHost(
            HostParts(
                clock=clock,
                send=send,
                make_runner=self._make_runner,
                report=reporter.report,
                unsent_bytes=unsent_bytes,
                on_fenced=self._producers.disown,
                on_level=_levels(clock, setup.levels).set_level,
            )
        )
        internal = InternalTopics(task_wiring.internal_topics(config))
        services = spi.WorkerServices(
            clock=clock,
            scheduler=scheduler,
            resources={
                AwsClientPool: self._aws,
                InternalTopics: internal,
                SparkEngine: hand_off.spark_engine(
                    config,
                    registry,
                    internal,
                    client_id=kind.producer_client_id,
                    places=self.host.spark_places,
                ),
            },
        )
        self._tasks = TaskWiring(
            config,
            TaskParts(clock, registry, services, self._producers, self._admins, self._tracing),
        )

    def _make_runner(self, hosted: Hosted) -> TaskRunner:
        ties = TaskTies(hosted.offsets, hosted.offsets, hosted.may_write, hosted.on_tail_left)
        return self._tasks.runner(hosted.spec, ties)

    async def run(self) -> None:
        """Serve until the host's end; everything is closed when it returns."""
        self._loop_watch.start()
        try:
            await self.host.run()
        finally:
            await self._producers.close(deadline_s=_CLOSE_S)
            if self._tracing is not None:
                await asyncio.to_thread(self._tracing.close, deadline_s=_CLOSE_S)
            await self._aws.close()
            self._loop_watch.stop()


def _levels(clock: LoopClock, levels: Sequence[tuple[str, str]]) -> LevelRegistry:
    """The loggers of this process, at the levels that requests have set before it was started."""
    registry = LevelRegistry(clock)
    for namespace, level in levels:
        registry.set_level(namespace, level)
    return registry


async def _serve(end: socket.socket, registry: PluginRegistry) -> None:
    """Take the setup, then serve until the parent is gone or wants the end."""
    # What is said before there is a host waits here, in its order; the setup is the first of it.
    frames: asyncio.Queue[messages.ToChild] = asyncio.Queue()
    first: list[messages.ToChild] = []
    is_alone = asyncio.Event()
    link = await FramedSocket.open(
        end,
        on_frame=lambda frame: frames.put_nowait(messages.from_parent(frame)),
        on_end=is_alone.set,
    )

    def send(message: messages.ToParent) -> None:
        link.send(messages.encode(message))

    async def hear_first() -> None:
        first.append(await frames.get())

    await wait_first(hear_first(), is_alone.wait())
    if is_alone.is_set():
        return
    (setup,) = first
    if not isinstance(setup, messages.Setup):
        raise InvariantError(f"the first message is {type(setup).__name__}, expected the setup")
    _speak(setup)
    process = TaskProcess(setup, send, lambda: link.unsent_bytes, registry)

    async def receive() -> None:
        while True:
            process.host.receive(await frames.get())

    async def until_alone() -> None:
        await is_alone.wait()
        process.host.end()

    jobs = JobGroup("parent", on_failure=lambda _, error: process.host.fail(error))
    jobs.spawn("messages", receive(), service=True)
    jobs.spawn("alone", until_alone())
    tuning.settle()
    send(messages.Ready(os.getpid()))
    try:
        await process.run()
    finally:
        await jobs.stop()
        link.close()
        await link.wait_closed()


def _speak(setup: messages.Setup) -> None:
    """Configure logs as the worker's are, with the number of the process on every line."""
    config = WorkerConfig.from_properties(
        setup.properties, mode=Mode(setup.mode), environ=setup.environ
    )
    logs.configure(logs.LogFormat(setup.log_format), config.log_level, sys.stdout)
    for secret in config.secrets():
        redaction.register_secret(secret)
    structlog.contextvars.bind_contextvars(process=setup.place)


def main(arguments: Sequence[str], registry: PluginRegistry | None = None) -> int:
    """Run until the parent says that it is over; returns the exit code."""
    faulthandler.enable()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # a handler: programs started here hear them
    end = socket.socket(fileno=int(arguments[0]))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(end, registry or plugin_registry()))
    return ExitCode.CLEAN
