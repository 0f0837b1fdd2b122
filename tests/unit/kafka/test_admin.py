"""Questions to a cluster that does not answer, answers late, or says that it is not ready."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref

import pytest

from connectd.aio.clock import LoopClock
from connectd.errors import BrokerUnavailableError
from connectd.kafka.admin import PATIENCE_S, KafkaAdmin
from connectd.kafka.admin_keeper import KEEPER
from tests.harness.processes import free_ports, wait_for
from tests.unit.kafka.scripted_broker import CLUSTER_ID, ScriptedBroker

DEADLINE_S = 30.0


def admin_of(broker: ScriptedBroker) -> KafkaAdmin:
    return KafkaAdmin(broker.settings, client_id="admin", clock=LoopClock())


async def ask_a_cluster_that_loses_its_brokers(broker: ScriptedBroker) -> None:
    """Run in a process of its own: where it goes wrong, that ends with SIGABRT."""
    admin = admin_of(broker)
    assert await admin.cluster_id(DEADLINE_S) == CLUSTER_ID
    broker.is_ready = False
    with pytest.raises(BrokerUnavailableError, match="knows of none that is ready"):
        await admin.cluster_id(DEADLINE_S)
    broker.is_ready = True
    assert await admin.wait_broker(DEADLINE_S) == CLUSTER_ID


def main() -> None:
    with ScriptedBroker() as broker:
        asyncio.run(ask_a_cluster_that_loses_its_brokers(broker))


def test_a_cluster_whose_brokers_are_all_fenced_is_waited_for() -> None:
    child = f"from {__name__} import main; main()"

    ended = subprocess.run(
        [sys.executable, "-c", child], capture_output=True, text=True, timeout=4 * DEADLINE_S
    )

    assert ended.returncode == 0, ended.stderr


def test_asking_for_the_cluster_creates_no_topic() -> None:
    with ScriptedBroker() as broker:
        asyncio.run(admin_of(broker).cluster_id(DEADLINE_S))
        assert broker.may_create is False


def test_an_unanswered_question_says_why_nobody_answered() -> None:
    nowhere = {"bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}"}

    async def ask() -> None:
        admin = KafkaAdmin(nowhere, client_id="admin", clock=LoopClock())
        with pytest.raises(BrokerUnavailableError, match="Connection refused"):
            await admin.exists("t", 1.0)
        with pytest.raises(BrokerUnavailableError, match="Connection refused"):
            await admin.wait_broker(0.1)

    asyncio.run(ask())


async def ask_and_leave(broker: ScriptedBroker) -> weakref.ref[object]:
    """The client that was asked by somebody who did not wait for the answer."""
    admin = admin_of(broker)
    asking = asyncio.ensure_future(admin.exists("t", DEADLINE_S))
    await asyncio.sleep(0)  # it has asked
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    return weakref.ref(admin._asked.client)


def test_a_client_is_not_let_go_of_before_it_has_answered() -> None:
    with ScriptedBroker() as broker:
        broker.is_silent = True
        client = asyncio.run(ask_and_leave(broker))
        gc.collect()  # the cancelled job and its traceback hold one another
        KEEPER.look()
        assert client() is not None

        broker.is_silent = False
        assert wait_for(lambda: client() is None, deadline_s=DEADLINE_S)


class Hours(LoopClock):
    """A clock that is set by hand."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


def test_a_client_that_answers_nothing_is_let_go_of_after_a_while_and_not_before() -> None:
    nowhere = {"bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}"}
    clock = Hours()

    async def ask() -> list[bool]:
        admin = KafkaAdmin(nowhere, client_id="admin", clock=clock)
        first, is_asked = admin._asked, []
        for clock.now_s in (0.0, PATIENCE_S - 1.0, PATIENCE_S):
            with pytest.raises(BrokerUnavailableError, match="Connection refused"):
                await admin.exists("t", 0.5)
            is_asked.append(admin._asked is first)
        return is_asked

    assert asyncio.run(ask()) == [True, True, False]
