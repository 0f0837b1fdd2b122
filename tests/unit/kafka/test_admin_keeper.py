"""When the keeper polls a client, and when it lets go of it."""

from __future__ import annotations

import weakref
from concurrent.futures import Future

from connectd.kafka.admin_keeper import AdminKeeper
from tests.harness.processes import wait_for


class User:
    """Who asks."""


class Client:
    """Counts how often it is polled, and fails at that if it must."""

    def __init__(self, *, fails: bool = False) -> None:
        self.polls = 0
        self._fails = fails

    def poll(self, timeout: float) -> int:
        assert timeout == 0
        self.polls += 1
        if self._fails:
            raise RuntimeError("told to fail")
        return 0


def test_clients_are_polled_as_long_as_they_have_a_user() -> None:
    keeper = AdminKeeper(has_thread=False)
    user, clients = User(), [Client(), Client(fails=True), Client()]
    for client in clients:
        keeper.keep(client, user)

    assert keeper.look()
    assert keeper.look()
    assert [client.polls for client in clients] == [2, 2, 2]

    del user
    assert not keeper.look()


def test_a_client_without_a_user_is_kept_until_it_has_answered_everything() -> None:
    keeper = AdminKeeper(has_thread=False)
    user, client = User(), Client()
    kept = keeper.keep(client, user)
    answers: list[Future[None]] = [Future(), Future()]
    for answer in answers:
        kept.expect(answer)
    gone = weakref.ref(client)
    del user, client, kept

    assert keeper.look()
    answers[0].set_result(None)
    assert keeper.look()
    answers[1].set_exception(TimeoutError())
    assert gone() is not None
    assert not keeper.look()
    assert gone() is None


def test_its_thread_ends_with_the_last_client_and_comes_back_for_the_next() -> None:
    keeper = AdminKeeper(poll_s=0.0)
    for _ in range(2):
        user = User()
        gone = weakref.ref(keeper.keep(Client(), user))
        assert keeper.is_running
        del user
        assert wait_for(lambda: not keeper.is_running, deadline_s=10.0)
        assert gone() is None
