"""Providers that block, hang and fail: whom they hold up, and whom not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection

import pytest

from connectd.errors import ConfigError
from connectd.plugins.lookups import DEADLINE_S, THREADS_MAX, Lookups
from connectd.plugins.spi import ProvidedValues
from tests.kit.virtual import virtual


class Echo:
    """A provider whose values are their keys; it notes in which thread it was asked."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    @classmethod
    def from_params(cls, params: object) -> Echo:
        return cls()

    def get(self, path: str, keys: Collection[str]) -> ProvidedValues:
        self.threads.append(threading.current_thread())
        if path == "/raises":
            raise ValueError("a text with the secret in it")
        return ProvidedValues({key: key for key in keys})


class Shelf:
    """Instead of threads: work lies here until the test says that it goes on."""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []

    def start(self, work: Callable[[], None]) -> None:
        self.work.append(work)

    async def finish(self, count: int | None = None) -> None:
        done, self.work = self.work[:count], self.work[len(self.work[:count]) :]
        for each in done:
            each()
        await asyncio.sleep(0.001)


async def _get(lookups: Lookups, path: str = "/s", name: str = "p") -> str:
    return (await lookups.get({(name, path): ["k"]}))[name, path].values["k"]


def test_a_provider_is_asked_in_a_daemon_thread_of_its_own() -> None:
    echo = Echo()
    assert asyncio.run(_get(Lookups({"p": echo}))) == "k"
    (thread,) = echo.threads
    assert thread is not threading.main_thread()
    assert thread.daemon


@virtual
async def test_a_provider_that_hangs_fails_who_asked_in_time() -> None:
    shelf = Shelf()
    lookups = Lookups({"p": Echo()}, start_thread=shelf.start)
    loop = asyncio.get_running_loop()
    with pytest.raises(ConfigError) as caught:
        await _get(lookups, "/nfs/x")
    assert loop.time() == pytest.approx(DEADLINE_S)
    assert str(caught.value) == (
        "config provider 'p': no answer for the path '/nfs/x' after 10 s; check what it reads from "
        "(a network file system, a secret server), then restart what has failed"
    )


@virtual
async def test_however_often_it_is_asked_for_a_path_hangs_in_one_thread() -> None:
    shelf = Shelf()
    lookups = Lookups({"p": Echo()}, start_thread=shelf.start)
    for _ in range(3):
        with pytest.raises(ConfigError):
            await _get(lookups)
    assert len(shelf.work) == 1
    failures = await asyncio.gather(*(_get(lookups) for _ in range(50)), return_exceptions=True)
    assert {type(each) for each in failures} == {ConfigError}
    assert len(shelf.work) == 1


@virtual
async def test_what_hangs_holds_up_no_other_path() -> None:
    shelf = Shelf()
    echo = Echo()

    def start(work: Callable[[], None]) -> None:
        shelf.start(work) if not shelf.work else work()

    lookups = Lookups({"p": echo, "q": Echo()}, start_thread=start)
    hanging = asyncio.ensure_future(_get(lookups, "/nfs/x"))
    await asyncio.sleep(0.001)
    assert await _get(lookups, "/s") == "k"
    assert await _get(lookups, "/nfs/x", "q") == "k"
    hanging.cancel()


@virtual
async def test_a_path_that_answers_after_all_is_good_again() -> None:
    shelf = Shelf()
    lookups = Lookups({"p": Echo()}, start_thread=shelf.start)
    with pytest.raises(ConfigError):
        await _get(lookups)
    second = asyncio.ensure_future(_get(lookups))
    await shelf.finish()
    await shelf.finish()
    assert await second == "k"


@virtual
async def test_a_provider_that_hangs_everywhere_has_so_many_threads() -> None:
    shelf = Shelf()
    lookups = Lookups({"p": Echo(), "q": Echo()}, start_thread=shelf.start)
    asked = [asyncio.ensure_future(_get(lookups, f"/{n}")) for n in range(THREADS_MAX + 5)]
    await asyncio.sleep(0.001)
    assert len(shelf.work) == THREADS_MAX
    other = asyncio.ensure_future(_get(lookups, "/s", "q"))
    await asyncio.sleep(0.001)
    shelf.work.pop()()
    assert await other == "k"
    await shelf.finish()
    await shelf.finish()
    assert await asyncio.gather(*asked) == ["k"] * (THREADS_MAX + 5)


@virtual
async def test_who_gives_up_leaves_the_path_to_others() -> None:
    shelf = Shelf()
    lookups = Lookups({"p": Echo()}, start_thread=shelf.start)
    first = asyncio.ensure_future(_get(lookups))
    await asyncio.sleep(0.001)
    first.cancel()
    second = asyncio.ensure_future(_get(lookups))
    await shelf.finish()
    await shelf.finish()
    assert await second == "k"


@virtual
async def test_whatever_a_provider_raises_is_a_config_error_without_its_text() -> None:
    lookups = Lookups({"p": Echo()}, start_thread=lambda work: work())
    with pytest.raises(ConfigError) as caught:
        await _get(lookups, "/raises")
    assert str(caught.value).startswith(
        "config provider 'p' (tests.unit.plugins.test_lookups.Echo) failed for the path '/raises' "
        "with ValueError; check the path"
    )
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert await _get(lookups) == "k"


@virtual
async def test_a_process_without_threads_left_says_so() -> None:
    def refuse(work: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    lookups = Lookups({"p": Echo()}, start_thread=refuse)
    for _ in range(THREADS_MAX + 1):
        with pytest.raises(ConfigError, match="RuntimeError"):
            await _get(lookups)


@pytest.mark.parametrize("error", [SystemExit("hunter2"), KeyboardInterrupt(), StopIteration()])
def test_a_provider_that_would_end_its_thread_fails_who_asked_and_keeps_no_path(
    error: BaseException,
) -> None:
    class Leaves(Echo):
        def get(self, path: str, keys: Collection[str]) -> ProvidedValues:
            if not self.threads:
                self.threads.append(threading.current_thread())
                raise error
            return super().get(path, keys)

    async def scenario() -> None:
        lookups = Lookups({"p": Leaves()})
        with pytest.raises(ConfigError) as caught:
            await _get(lookups)
        assert f"Leaves) failed for the path '/s' with {type(error).__name__}; " in (
            str(caught.value)
        )
        assert "hunter2" not in str(caught.value)
        assert await _get(lookups) == "k"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (None, "gave None, expected"),
        ({"k": "hunter2"}, "gave a dict, expected"),
        (ProvidedValues({"k": 7}), "gave an int for k, expected"),  # type: ignore[dict-item]
        (ProvidedValues(["k"]), "gave a list of values, expected"),  # type: ignore[arg-type]
    ],
)
@virtual
async def test_a_provider_that_gives_something_else_is_named(answer: object, found: str) -> None:
    class Odd(Echo):
        def get(self, path: str, keys: Collection[str]) -> ProvidedValues:
            return answer  # type: ignore[return-value]

    lookups = Lookups({"p": Odd()}, start_thread=lambda work: work())
    with pytest.raises(ConfigError) as caught:
        await _get(lookups)
    assert f"Odd): get {found} ProvidedValues with texts by key" in str(caught.value)
    assert "hunter2" not in str(caught.value)
