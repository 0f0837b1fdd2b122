"""Tasks in processes of their own: to clients nothing is different, and a lost process loses
nothing (decision 15)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from connectd.aio import clock as clocks
from connectd.aio.clock import LoopClock
from connectd.errors import RetriableError, TopicGoneError
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import SourcePartition
from connectd.model.states import State
from connectd.runtime.cores import messages
from connectd.runtime.cores.hosting import REPORT_S
from connectd.runtime.cores.processes import (
    LEASE_S,
    LET_GO_S,
    LOOK_S,
    SILENCE_LOOKS,
    START_DEADLINE_S,
    SUSPECT_LOOKS,
)
from connectd.runtime.cores.remote_task import UNHEARD_S
from connectd.runtime.lives import LifeSettings
from connectd.runtime.membership import SoleMember
from connectd.runtime.task_runner import TaskRunnerFactory
from connectd.stores.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore
from tests.kit.control_plane import WORKER_URL, Plane, control_plane, src
from tests.kit.task_processes import SETTINGS, MemoryProcesses
from tests.kit.virtual import virtual

S0 = ConnectorTaskId("s", 0)
P = SourcePartition.of({"table_name": "t"})


@asynccontextmanager
async def with_processes(
    places: int = 2, lives: LifeSettings | None = None
) -> AsyncIterator[tuple[Plane, MemoryProcesses]]:
    """A control plane whose tasks run in ``MemoryProcesses``."""
    made: list[MemoryProcesses] = []

    def make(runner: TaskRunnerFactory) -> MemoryProcesses:
        made.append(MemoryProcesses(runner, replace(SETTINGS, places=places)))
        return made[0]

    async with control_plane(processes=make, lives=lives or LifeSettings()) as plane:
        yield plane, made[0]
    await made[0].processes.close()
    assert made[0].failures == []


@virtual
async def test_tasks_are_spread_and_live_as_in_one_process() -> None:
    async with with_processes() as (plane, processes):
        await plane.create("s", tasks_max="4")
        assert await plane.states("s") == ("RUNNING", ["RUNNING"] * 4)
        begun = [
            sum(isinstance(each, messages.StartTask) for each in process.sent)
            for process in processes.started
        ]
        assert begun == [2, 2]
        await plane.client.put("/connectors/s/pause")
        await plane.settle()
        assert await plane.states("s") == ("PAUSED", ["PAUSED"] * 4)
        await plane.client.put("/connectors/s/resume")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"] * 4)
        await plane.client.post("/connectors/s/restart?includeTasks=true")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"] * 4)
        assert len(plane.probes["s"].runners) == 8
        assert len(plane.probes["s"].alive()) == 4
        await plane.client.put("/connectors/s/stop")
        await plane.settle()
        assert plane.probes["s"].alive() == []
        assert await plane.states("s") == ("STOPPED", [])


@virtual
async def test_a_task_that_begins_paused_is_paused() -> None:
    async with with_processes() as (plane, _):
        body = {"name": "s", "config": src("s"), "initial_state": "PAUSED"}
        await plane.client.post("/connectors", body)
        await plane.settle()
        await plane.client.put("/connectors/s/resume")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_a_failure_shows_the_trace_of_the_process_in_which_it_happened() -> None:
    async with with_processes() as (plane, _):
        await plane.create("s", tasks_max="2")
        plane.probes["s"].latest(1).fail(ValueError("access denied"))
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "FAILED"])
        status = plane.statuses.task(ConnectorTaskId("s", 1))
        assert status is not None
        assert status.trace is not None
        assert status.trace.startswith("ValueError: access denied\nTraceback")
        assert "tests/kit/probes.py" in status.trace


@virtual
async def test_a_task_that_cannot_be_made_has_failed() -> None:
    async with with_processes() as (plane, _):
        plane.probes["s"].runner_error = ValueError("no such converter")
        await plane.create("s")
        assert await plane.states("s") == ("RUNNING", ["FAILED"])


@virtual
async def test_a_failure_that_a_task_survives_is_shown() -> None:
    async with with_processes() as (plane, _):
        await plane.create("s")
        plane.probes["s"].latest().report_failure(ValueError("table t2 is gone"))
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["FAILED"])
        assert plane.probes["s"].alive() == [S0]


@virtual
async def test_a_vanished_topic_is_gone_back_to_as_in_one_process() -> None:
    async with with_processes() as (plane, _):
        await plane.create("s")
        plane.probes["s"].latest().fail(TopicGoneError("t1 is gone"))
        await plane.settle(2.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert len(plane.probes["s"].runners) == 2


# -- a process is lost ------------------------------------------------------------------------


@virtual
async def test_tasks_of_a_lost_process_begin_anew_in_its_place_and_no_others() -> None:
    async with with_processes() as (plane, processes):
        await plane.create("s", tasks_max="4")
        lost = processes.at(1)
        survivors = {id(each) for each in processes.at(0).host._runs.values()}
        processes.refuses = True
        lost.end("it was ended by SIGKILL")
        await plane.settle()
        assert sorted((await plane.states("s"))[1]) == ["RESTARTING"] * 2 + ["RUNNING"] * 2
        processes.refuses = False
        await plane.settle(3.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"] * 4)
        assert processes.at(1) is not lost
        assert {id(each) for each in processes.at(0).host._runs.values()} == survivors
        assert len(processes.at(1).host._runs) == 2
        assert processes.processes.statistics().lost == 2  # and one that could not be started
        assert plane.failures == []


@virtual
async def test_a_process_that_is_lost_again_and_again_is_waited_for_longer_and_longer() -> None:
    async with with_processes(places=1) as (plane, processes):
        await plane.create("s")
        began: list[float] = []
        for _ in range(12):
            count = len(processes.started)
            processes.at(0).end("it was ended by SIGSEGV")
            before_s = asyncio.get_running_loop().time()
            while len(processes.started) == count:
                await plane.settle(0.05)
            began.append(asyncio.get_running_loop().time() - before_s)
        assert began[0] < 0.1
        assert began[4] > began[1]
        assert all(30.0 <= each <= 60.1 for each in began[-3:])
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_a_task_is_paused_and_stopped_while_its_process_is_away() -> None:
    async with with_processes(places=1) as (plane, processes):
        await plane.create("s")
        processes.refuses = True
        processes.at(0).end("it was ended by SIGKILL")
        await plane.settle(1.0)
        await plane.client.put("/connectors/s/pause")
        processes.refuses = False
        await plane.settle(120.0)
        assert await plane.states("s") == ("PAUSED", ["PAUSED"])
        processes.refuses = True
        processes.at(0).end("it was ended by SIGKILL")
        await plane.client.put("/connectors/s/stop")
        await plane.settle()
        assert await plane.states("s") == ("STOPPED", [])


@virtual
async def test_a_process_that_stands_still_is_lost() -> None:
    async with with_processes(places=1) as (plane, processes):
        await plane.create("s")
        processes.at(0).is_frozen = True
        await plane.settle(LOOK_S * (SILENCE_LOOKS - 2))
        assert len(processes.started) == 1
        await plane.settle(LOOK_S * 4)
        assert len(processes.started) == 2
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_no_other_task_goes_to_a_process_that_stands_still() -> None:
    async with with_processes() as (plane, processes):
        processes.at(0).is_frozen = True
        await plane.settle(LOOK_S * (SUSPECT_LOOKS + 1))
        for name in ("s", "t"):
            await plane.create(name)
            assert await plane.states(name) == ("RUNNING", ["RUNNING"])
        assert [type(each) for each in processes.at(0).sent].count(messages.StartTask) == 0
        assert len(processes.started) == 2, "it is not lost yet"


# -- who may write ----------------------------------------------------------------------------


@virtual
async def test_a_task_begins_anew_when_the_process_that_does_not_let_go_of_it_is_no_more() -> None:
    """What that holds would land behind what the next life sends."""
    async with with_processes() as (plane, processes):
        await plane.create("s")
        frozen, runners = processes.at(0), plane.probes["s"].runners
        frozen.is_frozen = True
        await plane.client.post("/connectors/s/restart?includeTasks=true")
        while messages.AbandonTask not in map(type, frozen.sent):
            await plane.settle(0.1)
        await plane.settle(LET_GO_S - 0.2)
        assert (len(runners), len(processes.started)) == (1, 2), "neither is there yet"
        await plane.settle(0.4)
        assert frozen.is_over
        assert processes.processes.statistics().lost == 1
        await plane.settle(1.0)
        assert len(runners) == 2
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_a_process_that_lets_go_of_a_task_is_not_lost() -> None:
    async with with_processes() as (plane, processes):
        await plane.create("s")
        probe = plane.probes["s"]
        probe.ignores_stop = probe.ignores_cancel = True
        await plane.client.post("/connectors/s/restart?includeTasks=true")
        await plane.settle(11.0)
        assert probe.runners[0].is_abandoned
        assert len(probe.runners) == 2
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        await plane.settle(2 * LET_GO_S)
        assert processes.processes.statistics().lost == 0
        probe.ignores_stop = probe.ignores_cancel = False
        probe.runners[0].fail(ValueError("zombie ends"))


@virtual
async def test_offsets_are_written_by_the_worker_and_read_by_the_next_life() -> None:
    async with with_processes() as (plane, processes):
        await plane.create("s")
        offsets = processes.hosted[-1].offsets
        await offsets.put({P: {"n": 1}})
        assert plane.offsets.get("s", P) == {"n": 1}
        assert offsets.get(P) == {"n": 1}
        other = SourcePartition.of({"table_name": "other"})
        await plane.offsets.put("s", {other: {"n": 2}})
        assert offsets.get(other) is None
        await offsets.refresh()
        assert offsets.all() == {P: {"n": 1}, other: {"n": 2}}
        await offsets.put({other: None})
        assert offsets.all() == {P: {"n": 1}}
        await plane.client.post("/connectors/s/tasks/0/restart")
        await plane.settle()
        assert processes.hosted[-1].offsets.all() == {P: {"n": 1}}


@virtual
async def test_an_abandoned_task_writes_nothing_any_more() -> None:
    async with with_processes() as (plane, processes):
        await plane.create("s")
        probe = plane.probes["s"]
        probe.ignores_stop = probe.ignores_cancel = True
        old, hosted = probe.latest(), processes.hosted[-1]
        await plane.client.post("/connectors/s/restart?includeTasks=true")
        await plane.settle(11.0)
        probe.ignores_stop = probe.ignores_cancel = False
        assert old.is_abandoned
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        with pytest.raises(RetriableError, match="writes no more"):
            await hosted.offsets.put({P: {"n": 1}})
        old.fail(ValueError("zombie ends"))
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert plane.offsets.get("s", P) is None


@virtual
async def test_processes_write_for_as_long_as_the_worker_has_said() -> None:
    """The worker stands still: its processes do not know what the group thinks of it."""
    async with with_processes() as (plane, processes):
        now_s = LoopClock().boot_s
        until_s = now_s() + 10.0
        processes.processes.writes_until_s = lambda: until_s
        await plane.settle(LEASE_S)
        await plane.create("s")
        hosted, process = processes.hosted[-1], processes.at(0)
        assert hosted.may_write()
        await plane.settle(until_s - now_s() - 0.01)
        assert process.fenced == 0
        await plane.settle(0.02)
        assert process.fenced > 0
        assert plane.probes["s"].runners[0].is_abandoned
        assert not hosted.may_write()
        processes.processes.writes_until_s = lambda: math.inf
        plane.probes["s"].runners[0].finish()
        await plane.settle(LEASE_S)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert len(plane.probes["s"].runners) == 2


@virtual
async def test_a_process_that_wakes_after_a_suspension_writes_nothing_before_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with with_processes() as (plane, processes):
        until_s = LoopClock().boot_s() + 10.0
        processes.processes.writes_until_s = lambda: until_s
        await plane.settle(LEASE_S)
        await plane.create("s")
        hosted = processes.hosted[-1]
        assert hosted.may_write()
        slept_s = clocks.suspended_s()
        monkeypatch.setattr(clocks, "suspended_s", lambda: slept_s + 10.0)
        assert not hosted.may_write()
        assert plane.probes["s"].runners[0].is_abandoned
        processes.processes.writes_until_s = lambda: math.inf


class LateMember(SoleMember):
    """One that finds out when it is asked that it has been given up."""

    is_given_up = False

    def may_write(self) -> bool:
        if self.is_given_up:
            self.is_given_up = False
            assert self.on_fenced is not None
            self.on_fenced()
            return False
        return True


@virtual
async def test_a_worker_that_others_may_have_replaced_says_nothing_of_its_lost_tasks() -> None:
    statuses = MemoryStatusStore()
    member, made = LateMember(WORKER_URL, statuses), []

    def make(runner: TaskRunnerFactory) -> MemoryProcesses:
        made.append(MemoryProcesses(runner))
        return made[0]

    stores = MemoryConfigStore(), MemoryOffsetStore(), statuses
    async with control_plane(processes=make, membership=member, stores=stores) as plane:
        await plane.create("s")
        member.is_given_up = True
        made[0].refuses = True
        made[0].at(0).end("it was ended by SIGKILL")
        await plane.settle()
        assert plane.worker.starts.restarts(S0) == 1  # another life, that waits for a process
        assert await plane.states("s") == ("RUNNING", ["UNASSIGNED"])
        made[0].refuses = False
        await plane.settle(5.0)
        assert plane.probes["s"].alive() == [S0]
    await made[0].processes.close()


# -- what is told -----------------------------------------------------------------------------


@virtual
async def test_rows_are_those_that_the_processes_tell() -> None:
    async with with_processes() as (plane, _):
        await plane.create("s", tasks_max="2")
        plane.probes["s"].latest(1).row["lag_s"] = 3.5
        await plane.settle(2.0)
        rows = (await plane.client.get("/connectd/connectors/s/tables")).json()["tables"]
        found = {row["table"]: row.get("lag_s") for row in rows}
        assert found == {"skipped": None, "t0": None, "t1": 3.5}


@virtual
async def test_numbers_of_processes_are_added_and_go_on_counting_when_one_is_lost() -> None:
    async with with_processes() as (plane, processes):
        await plane.settle(2.0)
        assert processes.processes.report().aws == {"Scan": {"calls_total": 2}}
        processes.at(0).report = messages.ProcessReport(aws={"Scan": {"calls_total": 7}})
        await plane.settle(2.0)
        processes.at(0).end("it was ended by SIGKILL")
        await plane.settle(2.0)
        assert processes.processes.report().aws == {"Scan": {"calls_total": 9}}
        statistics = processes.processes.statistics()
        assert (statistics.processes, statistics.running, statistics.lost) == (2, 2, 1)


@virtual
async def test_levels_of_loggers_reach_processes_that_are_there_and_those_to_come() -> None:
    async with with_processes(places=1) as (plane, processes):
        await plane.settle()
        processes.processes.set_level("connectd.aws", "DEBUG")
        await plane.settle()
        assert processes.at(0).levels == [("connectd.aws", "DEBUG")]
        processes.at(0).end("it was ended by SIGKILL")
        await plane.settle(2.0)
        assert processes.at(0).setup.levels == [("connectd.aws", "DEBUG")]


@virtual
async def test_places_for_spark_are_lent_and_come_back_from_a_lost_process() -> None:
    async with with_processes() as (plane, processes):
        await plane.settle()
        first, second = processes.at(0).host.spark_places, processes.at(1).host.spark_places
        assert not first.locked()
        await first.acquire()
        await plane.settle()
        assert first.locked()
        assert second.locked()
        waiting = asyncio.ensure_future(second.acquire())
        await plane.settle()
        assert not waiting.done()
        processes.at(0).end("it was ended by SIGKILL")
        await plane.settle()
        assert waiting.done()
        second.release()
        await plane.settle()
        assert not second.locked()


@virtual
async def test_a_place_that_is_granted_too_late_goes_back() -> None:
    async with with_processes() as (plane, processes):
        await plane.settle()
        first, second = processes.at(0).host.spark_places, processes.at(1).host.spark_places
        await first.acquire()
        waiting = asyncio.ensure_future(second.acquire())
        await plane.settle()
        waiting.cancel()
        await plane.settle()
        first.release()
        await plane.settle()
        assert not first.locked()


@virtual
async def test_what_a_process_cannot_go_on_without_ends_the_worker() -> None:
    made: list[MemoryProcesses] = []

    def make(runner: TaskRunnerFactory) -> MemoryProcesses:
        made.append(MemoryProcesses(runner))
        return made[0]

    async with control_plane(processes=make) as plane:
        await plane.settle()
        made[0].at(0).host.fail(RuntimeError("the producer's thread is gone"))
        await plane.settle()
    assert [str(each) for each in made[0].failures] == ["the producer's thread is gone"]
    await made[0].processes.close()


@virtual
async def test_a_process_that_is_never_ready_is_lost() -> None:
    async with with_processes(places=1) as (plane, processes):
        await plane.create("s")
        processes.are_mute = True
        processes.at(0).end("it was ended by SIGKILL")
        await plane.settle(START_DEADLINE_S - 1.0)
        assert len(processes.started) == 2
        assert await plane.states("s") == ("RUNNING", ["RESTARTING"])
        processes.are_mute = False
        await plane.settle(5.0)
        assert len(processes.started) == 3
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_rows_of_a_process_that_is_not_heard_of_grow_older_and_say_why() -> None:
    async with with_processes() as (plane, processes):
        await plane.create("s")
        await plane.settle(2 * REPORT_S)

        async def row() -> dict[str, object]:
            rows = (await plane.client.get("/connectd/connectors/s/tables")).json()["tables"]
            return next(each for each in rows if each["table"] == "t0")

        fresh = await row()
        processes.at(0).is_frozen = True
        await plane.settle(UNHEARD_S + 5.0)
        assert str((await row())["reason"]).startswith("its process has not been heard of for ")
        processes.refuses = True
        processes.at(0).end("it was ended by SIGKILL")
        await plane.settle(10.0)
        lost = await row()
        assert "process 0 of the worker is lost (it was ended by SIGKILL)" in str(lost["reason"])
        assert {name: lost[name] for name in fresh} == fresh
        processes.refuses = False
        await plane.settle(120.0)  # longer than the longest wait for the next start
        assert await row() == fresh


@virtual
async def test_a_failed_task_keeps_its_rows() -> None:
    async with with_processes() as (plane, _):
        await plane.create("s")
        plane.probes["s"].latest().fail(ValueError("broken"))
        await plane.settle()
        rows = (await plane.client.get("/connectd/connectors/s/tables")).json()["tables"]
        assert [row["state"] for row in rows if row["table"] == "t0"] == [State.FAILED.value]
