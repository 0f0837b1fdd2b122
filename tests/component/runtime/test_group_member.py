"""Workers of one group share the work (spec kafka-connect C.5.2), on virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from connectd.errors import BrokerUnavailableError, ConfigError
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from tests.kit.cluster import GROUP, Cluster, ConfigLogs
from tests.kit.control_plane import src
from tests.kit.virtual import virtual

DELAY_S = GROUP.rebalance_delay_max_s
SESSION_S = GROUP.session_timeout_s


def task_configs(count: int) -> list[dict[str, str]]:
    """As the probe makes them: nothing needs to be published."""
    task_class = "tests.kit.probes.ProbeTask"
    return [
        {"probe.topic": "t1", "number": str(number), "task.class": task_class}
        for number in range(count)
    ]


async def with_tasks(cluster: Cluster, count: int = 4) -> None:
    view = cluster.configs.view()
    await view.put_connector("a", src("a", tasks_max=str(count)))
    await view.put_tasks("a", task_configs(count))


@virtual
async def test_a_worker_alone_runs_everything_and_leads() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        one = await cluster.start("w1")
        await cluster.settle()
        assert cluster.placed() == {"w1": ["a-0", "a-1", "a-2", "a-3"]}
        assert one.member.is_leader
        assert one.member.leader_url == "http://w1:8083/"
        assert one.plane.probes["a"].calls["start"] == 1


@virtual
async def test_a_second_worker_gets_its_part_and_nothing_runs_twice() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        await cluster.start("w1")
        await cluster.settle()
        two = await cluster.start("w2")
        await cluster.settle()
        assert cluster.placed() == {"w1": ["a-0", "a-1"], "w2": ["a-2", "a-3"]}
        assert not two.member.is_leader
        assert two.member.leader_url == "http://w1:8083/"
        first = cluster.workers["w1"].plane.probes["a"]
        assert [runner.spec.task_id.task for runner in first.runners if not runner.is_alive] == [
            2,
            3,
        ]
        status = cluster.statuses.task(ConnectorTaskId("a", 2))
        assert status is not None
        assert (status.state, status.worker_id) == (State.RUNNING, "w2:8083")


@virtual
async def test_a_worker_that_leaves_is_waited_for_and_gets_its_own_work_back() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        await cluster.start("w1")
        await cluster.start("w2")
        await cluster.settle(30.0)
        placed = cluster.placed()
        await cluster.stop("w2")
        await cluster.settle()
        assert cluster.placed() == {"w1": placed["w1"]}
        await cluster.start("w2")
        await cluster.settle()  # and not for the whole delay
        assert cluster.placed() == placed
        assert cluster.workers["w1"].plane.probes["a"].calls["task start"] == 4  # 2 of them moved


@virtual
@pytest.mark.parametrize("away_s", [1.2 * SESSION_S, 3 * SESSION_S])
@pytest.mark.parametrize("others", [0, 1])
async def test_a_worker_that_was_cut_off_for_long_goes_on_when_it_is_back(
    others: int, away_s: float
) -> None:
    """Alone it is its own leader, which must not take itself for lost."""
    async with Cluster() as cluster:
        await with_tasks(cluster)
        for number in range(others):
            await cluster.start(f"v{number}")
        one = await cluster.start("w1")
        await cluster.settle(30.0)
        placed = cluster.placed()
        one.session.is_cut = True
        await cluster.settle(away_s)
        assert cluster.placed()["w1"] == []
        one.session.is_cut = False
        await cluster.settle(SESSION_S)
        assert cluster.placed() == placed


@virtual
@pytest.mark.parametrize("has_more", [True, False])
async def test_a_worker_of_another_config_topic_stays_away_and_says_why(
    has_more: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether its own topic is longer or shorter than the others'."""
    async with Cluster() as cluster:
        await with_tasks(cluster)
        await cluster.start("w1")
        await cluster.settle()
        elsewhere = ConfigLogs()
        view = elsewhere.view()
        for number in range(40 if has_more else 1):
            await view.put_connector(f"b{number}", src(f"b{number}"))
        async with asyncio.TaskGroup() as jobs:
            job = jobs.create_task(cluster.start("w2", configs=elsewhere))
            joins = cluster.group.generation
            await cluster.settle(60.0)
            assert cluster.group.generation - joins < 60, "it does not ask all the time"
            words = "check that all workers of this group.id have the same config.storage.topic"
            assert words in capsys.readouterr().out
            job.cancel()


@virtual
async def test_the_work_of_a_worker_that_does_not_come_back_goes_to_the_others() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        await cluster.start("w1")
        await cluster.start("w2")
        await cluster.settle(30.0)
        await cluster.stop("w2")
        await cluster.settle(DELAY_S - SESSION_S)
        assert len(cluster.placed()["w1"]) == 2
        assert cluster.workers["w1"].member.waiting_work == 2
        await cluster.settle(3 * SESSION_S)
        assert cluster.placed() == {"w1": ["a-0", "a-1", "a-2", "a-3"]}
        assert cluster.workers["w1"].member.waiting_work == 0


@virtual
async def test_when_the_leader_goes_another_one_leads_and_hands_its_work_out_at_once() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        await cluster.start("w1")
        await cluster.start("w2")
        await cluster.settle(30.0)
        assert cluster.leader().name == "w1"
        await cluster.stop("w1")
        await cluster.settle()
        assert cluster.leader().name == "w2"
        assert cluster.placed() == {"w2": ["a-0", "a-1", "a-2", "a-3"]}


@virtual
async def test_a_worker_that_is_cut_off_stops_before_others_may_start_its_work() -> None:
    settings = replace(GROUP, rebalance_delay_max_s=0.0)
    async with Cluster(settings) as cluster:
        await with_tasks(cluster)
        await cluster.start("w1")
        two = await cluster.start("w2")
        await cluster.settle(30.0)
        two.session.is_cut = True
        await cluster.settle(SESSION_S * 3)  # looks at it that nothing runs twice
        assert cluster.placed() == {"w1": ["a-0", "a-1", "a-2", "a-3"], "w2": []}
        assert not two.member.may_write()
        two.session.is_cut = False
        await cluster.settle(30.0)
        assert sorted(map(len, cluster.placed().values())) == [2, 2]
        assert two.member.may_write()


@virtual
async def test_tasks_that_do_not_stop_in_time_lose_their_pens_when_the_lease_is_over() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster, 1)
        one = await cluster.start("w1")
        await cluster.settle()
        probe = one.plane.probes["a"]
        probe.ignores_stop = probe.ignores_cancel = True
        runner = probe.latest()
        one.session.is_cut = True
        await asyncio.sleep(SESSION_S + 0.1)
        assert runner.is_abandoned
        runner.finish()


@virtual
async def test_a_worker_whose_machine_was_suspended_may_not_write_when_it_wakes() -> None:
    """Its own clock has stood still; the coordinator's has not."""
    async with Cluster() as cluster:
        await with_tasks(cluster)
        one = await cluster.start("w1")
        await cluster.settle()
        one.clock.slept_s = SESSION_S / 2
        assert one.member.may_write()
        one.clock.slept_s = 2 * SESSION_S
        assert not one.member.may_write()
        assert not one.member.is_leader
        await cluster.settle(30.0)
        assert one.member.may_write()
        assert len(cluster.placed()["w1"]) == 4


@virtual
async def test_a_short_absence_of_the_coordinator_changes_nothing() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        one = await cluster.start("w1")
        await cluster.settle(9.1)  # a heartbeat has just been answered
        one.session.is_cut = True
        await cluster.settle(5.0)
        one.session.is_cut = False
        await cluster.settle(30.0)
        assert one.plane.probes["a"].calls["task start"] == 4
        assert cluster.group.generation == 1


@virtual
async def test_a_new_task_set_starts_nowhere_before_the_old_one_has_ended_everywhere() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        one = await cluster.start("w1")
        two = await cluster.start("w2")
        await cluster.settle(30.0)
        slow = two.plane.probes["a"]
        slow.ignores_stop = True  # it takes its whole grace period
        begun = one.plane.probes["a"].calls["task start"]
        await cluster.configs.view().put_tasks("a", task_configs(4))
        await cluster.settle(2.0)
        assert cluster.placed()["w1"] == []
        assert one.plane.probes["a"].calls["task start"] == begun
        slow.ignores_stop = False
        await cluster.settle(30.0)
        assert sorted(map(len, cluster.placed().values())) == [2, 2]


@virtual
async def test_offsets_are_read_to_the_end_before_a_new_task_set_starts() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        one = await cluster.start("w1")
        await cluster.settle()
        readable, seen = cluster.offsets.refresh, []

        async def refresh() -> None:
            seen.append(cluster.placed()["w1"])
            await readable()

        cluster.offsets.refresh = refresh  # type: ignore[method-assign]
        await cluster.configs.view().put_tasks("a", task_configs(4))
        await cluster.settle()
        assert seen == [[]]  # the old ones had ended, the new ones had not begun
        assert one.plane.probes["a"].calls["task start"] == 8


@virtual
async def test_connectors_that_come_and_go_are_shared_out() -> None:
    async with Cluster() as cluster:
        await cluster.start("w1")
        await cluster.start("w2")
        await cluster.settle(30.0)
        await with_tasks(cluster, 2)
        await cluster.settle()
        assert sorted(map(len, cluster.placed().values())) == [1, 1]
        await cluster.configs.view().delete_connector("a")
        await cluster.settle()
        assert sorted(map(len, cluster.placed().values())) == [0, 0]
        assert cluster.statuses.connector("a") is None


@virtual
async def test_eager_workers_stop_everything_at_each_change() -> None:
    async with Cluster(replace(GROUP, protocol="eager")) as cluster:
        await with_tasks(cluster)
        one = await cluster.start("w1")
        await cluster.settle()
        await cluster.start("w2")
        await cluster.settle()
        assert cluster.placed() == {"w1": ["a-1", "a-3"], "w2": ["a-0", "a-2"]}
        assert one.plane.probes["a"].calls["task start"] == 6


@virtual
async def test_one_eager_worker_makes_all_eager_without_running_anything_twice() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        await cluster.start("w1")
        await cluster.settle()
        await cluster.start("w2", settings=replace(GROUP, protocol="eager"))
        await cluster.settle(30.0)
        assert cluster.placed() == {"w1": ["a-1", "a-3"], "w2": ["a-0", "a-2"]}
        assert not cluster.leader().member.signs_requests


@virtual
async def test_what_is_read_late_from_the_offsets_topic_keeps_a_worker_out() -> None:
    async with Cluster() as cluster:
        await with_tasks(cluster)
        await cluster.start("w1")
        await cluster.settle()

        async def is_away() -> None:
            raise BrokerUnavailableError("it is away")

        readable = cluster.offsets.refresh
        cluster.offsets.refresh = is_away  # type: ignore[method-assign]
        async with asyncio.TaskGroup() as jobs:
            job = jobs.create_task(cluster.start("w2"))
            await asyncio.sleep(20.0)
            assert cluster.workers.keys() == {"w1", "w2"}
            assert cluster.placed()["w2"] == []
            cluster.offsets.refresh = readable  # type: ignore[method-assign]
            await job
        await cluster.settle(2 * DELAY_S)
        assert sorted(map(len, cluster.placed().values())) == [2, 2]


@virtual
async def test_a_group_that_refuses_the_worker_ends_it() -> None:
    cluster = Cluster()

    async def refuses(*_: object) -> object:
        raise ConfigError("no room")

    cluster.group.join = refuses  # type: ignore[assignment, method-assign]
    worker = await cluster.start("w1")
    await cluster.settle()
    assert [str(each) for each in worker.plane.failures] == ["no room"]
    with pytest.raises(AssertionError):
        await cluster.stop("w1")
