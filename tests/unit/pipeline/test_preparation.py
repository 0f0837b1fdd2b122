"""Pages are made ready in order, and what is away is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from structlog.testing import capture_logs

from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup
from connectd.errors import AccessDeniedError, FatalTaskError, RetriableError
from connectd.model.record import Encoded, EncodedPage, RoutedPage
from connectd.pipeline.encoding import PageEncoding
from connectd.pipeline.preparation import PagePreparation
from connectd.pipeline.tolerance import ErrorPolicy, Stage, ToleranceExceededError
from connectd.pipeline.topics import TaskTopics
from tests.kit.virtual_time import run_virtual
from tests.unit.pipeline.pages import InlineEncoder, Odd, Registry, chain, encoding

_FOR_EVER = ErrorPolicy()
_ALL = ErrorPolicy(tolerates_all=True, retry_timeout_s=0)


class _Topics(TaskTopics):
    """Remembers what it was to see to."""

    def __init__(self, ensured: list[tuple[str, ...]]) -> None:
        super().__init__(clock=LoopClock())
        self._ensured = ensured

    creates = True

    async def ensure(self, encoded: Encoded) -> None:
        self._ensured.append(encoded.topics)


def _preparation(policy: ErrorPolicy, ensured: list[tuple[str, ...]] | None = None) -> Any:
    return PagePreparation(
        encoder=InlineEncoder(),
        policy=policy,
        clock=LoopClock(),
        topics=TaskTopics(clock=LoopClock()) if ensured is None else _Topics(ensured),
        log_fields={"connector": "orders", "task": 0},
    )


def _values(encoded: Encoded) -> list[bytes | None]:
    assert isinstance(encoded, RoutedPage)
    return [record.value for record in encoded.records]


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _virtual(scenario: Coroutine[Any, Any, None]) -> None:
    run_virtual(scenario)


def test_a_converter_whose_registry_is_away_is_called_again_and_loses_nothing() -> None:
    async def scenario() -> None:
        registry = Registry(away={2: 3})
        work = encoding([1, 2, 3], registry, _FOR_EVER)
        ready = await _preparation(_FOR_EVER).prepare(work)
        assert _values(ready()) == [b"1", b"2", b"3"]
        assert registry.seen == [1, 2, 2, 2, 2, 3]
        assert _now_s() == pytest.approx(0.3 + 0.6 + 1.2)
        assert (work.attempts_failed, work.retries, work.failure_count) == (3, 3, 0)

    _virtual(scenario())


def test_what_is_waited_for_is_shown_and_told_once() -> None:
    async def scenario() -> None:
        preparation = _preparation(_FOR_EVER)
        jobs = JobGroup("test")
        with capture_logs() as lines:
            jobs.spawn("page", preparation.prepare(encoding([1], Registry(away={1: 5}), _FOR_EVER)))
            await asyncio.sleep(1)
            assert preparation.trouble == (
                "VALUE_CONVERTER is tried again: registry does not answer"
            )
            await jobs.join(deadline_s=60)
        assert preparation.trouble == ""
        assert [line["log_level"] for line in lines] == ["warning", "info"]
        assert (lines[0]["stage"], lines[0]["class_name"]) == ("VALUE_CONVERTER", "test.Registry")
        assert lines[0]["record"] == "a record for topic t"

    _virtual(scenario())


def test_with_a_limit_the_page_is_cut_before_the_record() -> None:
    """Kafka skips the record here, even with tolerance none; nobody has agreed to lose it."""

    async def scenario() -> None:
        policy = ErrorPolicy(retry_timeout_s=2.0)
        work = encoding([1, 2, 3], Registry(away={2: 99}), policy)
        ready = await _preparation(policy).prepare(work)
        assert _values(ready()) == [b"1"]
        assert isinstance(work.ended_by, ToleranceExceededError)
        assert str(work.ended_by) == "Tolerance exceeded in error handler"
        assert isinstance(work.ended_by.__cause__, RetriableError)
        assert _now_s() == pytest.approx(2.0)
        assert [failure.stage for failure in work.failures] == [Stage.VALUE_CONVERTER]

    _virtual(scenario())


def test_with_a_limit_and_tolerance_the_record_is_skipped_and_the_next_has_its_own_time() -> None:
    async def scenario() -> None:
        policy = ErrorPolicy(tolerates_all=True, retry_timeout_s=1.0)
        work = encoding([1, 2, 3, 4], Registry(away={2: 99, 3: 99}), policy)
        ready = await _preparation(policy).prepare(work)
        assert _values(ready()) == [b"1", b"4"]
        assert _now_s() == pytest.approx(2.0)
        assert work.failure_count == 2

    _virtual(scenario())


def test_without_retries_nothing_is_waited_for() -> None:
    async def scenario() -> None:
        work = encoding([1, 2], Registry(away={1: 1}), _ALL)
        ready = await _preparation(_ALL).prepare(work)
        assert _values(ready()) == [b"2"]
        assert _now_s() == 0.0
        assert (work.retries, work.attempts_failed) == (0, 1)

    _virtual(scenario())


def test_whatever_a_plugin_raises_is_a_failed_record() -> None:
    async def scenario() -> None:
        work = encoding([1, 2], Registry(refused=frozenset({1})), _ALL)
        ready = await _preparation(_ALL).prepare(work)
        assert _values(ready()) == [b"2"]
        (failure,) = work.failures
        assert (failure.stage, failure.class_name) == (Stage.VALUE_CONVERTER, "test.Registry")
        assert str(failure.error) == "cannot write 1"

    _virtual(scenario())


class _Refusing(Registry):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def from_connect_data(self, topic: str, schema: Any, value: object) -> bytes | None:
        raise self.error


def test_a_defect_is_no_failed_record_and_never_tolerated() -> None:
    async def scenario() -> None:
        with pytest.raises(AssertionError, match="a bug"):
            await _preparation(_ALL).prepare(
                encoding([1], _Refusing(AssertionError("a bug")), _ALL)
            )

    _virtual(scenario())


def test_refused_credentials_are_no_failed_record_and_never_tolerated() -> None:
    async def scenario() -> None:
        refused = AccessDeniedError("who are you")
        work = encoding([1], _Refusing(refused), _ALL)
        await _preparation(_ALL).prepare(work)
        assert work.ended_by is refused
        assert work.failure_count == 0

    _virtual(scenario())


def test_stopping_ends_the_wait_at_once() -> None:
    async def scenario() -> None:
        preparation = _preparation(_FOR_EVER)
        jobs = JobGroup("test")
        jobs.spawn("page", preparation.prepare(encoding([1], Registry(away={1: 99}), _FOR_EVER)))
        await asyncio.sleep(100)
        before_s = _now_s()
        await jobs.cancel("page")
        assert _now_s() == before_s
        assert preparation.trouble == ""

    _virtual(scenario())


def test_topics_are_seen_to_before_the_page_is_ready() -> None:
    async def scenario() -> None:
        ensured: list[tuple[str, ...]] = []
        await _preparation(_FOR_EVER, ensured).prepare(encoding([1], Registry(), _FOR_EVER))
        assert ensured == [("t",)]

    _virtual(scenario())


def test_a_page_with_its_own_way_to_bytes_is_left_to_the_producers_thread() -> None:
    class Direct(PageEncoding):
        is_direct = True

        def __init__(self) -> None:
            self.calls = 0

        def __call__(self) -> Encoded:
            self.calls += 1
            return EncodedPage("t", [])

    async def scenario() -> None:
        work = Direct()
        ready = await _preparation(_FOR_EVER).prepare(work)
        assert work.calls == 0
        ready()
        ensured: list[tuple[str, ...]] = []
        await _preparation(_FOR_EVER, ensured).prepare(work)
        assert (work.calls, ensured) == (2, [("t",)])

    _virtual(scenario())


def test_a_page_for_a_topic_that_cannot_be_is_not_sent_whichever_way_it_takes() -> None:
    class Direct(PageEncoding):
        is_direct = True

        def __init__(self) -> None:
            pass

        def __call__(self) -> Encoded:
            return EncodedPage("no topic", [])

    async def scenario() -> None:
        ready = await _preparation(_FOR_EVER).prepare(Direct())
        with pytest.raises(FatalTaskError, match="'no topic': the name contains ' '"):
            ready()
        work = encoding([" "], Registry(), _FOR_EVER, chain(Odd()))
        ready = await _preparation(_FOR_EVER).prepare(work)
        assert _values(ready()) == []
        assert "'t ': the name contains ' '" in str(work.ended_by)

    _virtual(scenario())
