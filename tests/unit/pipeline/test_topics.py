"""Topics are there, or created, before records are sent to them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from structlog.testing import capture_logs

from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup
from connectd.configdef import topic_creation
from connectd.errors import (
    AccessDeniedError,
    BrokerUnavailableError,
    ConfigError,
    FatalTaskError,
)
from connectd.kafka.admin import TopicSpec
from connectd.model.record import EncodedPage, RoutedPage, RoutedRecord
from connectd.pipeline.topics import TaskTopics
from tests.kit.virtual_time import run_virtual


class Admin:
    """A cluster with some topics, and errors that it answers with first."""

    def __init__(self, *topics: str, errors: tuple[Exception, ...] = ()) -> None:
        self.topics = set(topics)
        self.errors = deque(errors)
        self.asked: list[str] = []
        self.created: list[TopicSpec] = []
        self.others_create = False

    async def exists(self, topic: str, deadline_s: float) -> bool:
        self.asked.append(topic)
        self._fail()
        return topic in self.topics

    async def create(self, spec: TopicSpec, deadline_s: float) -> bool:
        self._fail()
        self.created.append(spec)
        self.topics.add(spec.name)
        return not self.others_create

    def _fail(self) -> None:
        if self.errors:
            error = self.errors.popleft()
            if not isinstance(error, NoError):
                raise error


class NoError(Exception):
    """The next call goes well."""


def _topics(admin: Admin, **keys: str) -> TaskTopics:
    given = {f"topic.creation.{name.replace('__', '.')}": text for name, text in keys.items()}
    rules = topic_creation.read(
        {
            "topic.creation.default.partitions": "2",
            "topic.creation.default.replication.factor": "1",
            **given,
        }
    )
    return TaskTopics(clock=LoopClock(), rules=rules, open_admin=lambda: admin)


def _page(*topics: str) -> RoutedPage:
    return RoutedPage([RoutedRecord(topic, None, b"x") for topic in topics])


def _virtual(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run_virtual(scenario())


def test_every_topic_is_looked_for_once_and_created_if_it_is_missing() -> None:
    async def scenario() -> None:
        admin = Admin("there")
        topics = _topics(admin, groups="g", g__include="new.*", g__cleanup__policy="compact")
        with capture_logs() as lines:
            for _ in range(3):
                await topics.ensure(_page("there", "new-1", "other", "new-1"))
        assert admin.asked == ["there", "new-1", "other"]
        assert admin.created == [
            TopicSpec("new-1", 2, 1, {"cleanup.policy": "compact"}),
            TopicSpec("other", 2, 1, {}),
        ]
        assert [(line["event"], line["topic"], line["group"]) for line in lines] == [
            ("topic created", "new-1", "g"),
            ("topic created", "other", "default"),
        ]

    _virtual(scenario)


def test_a_topic_that_somebody_else_has_created_meanwhile_is_as_good() -> None:
    async def scenario() -> None:
        admin = Admin()
        admin.others_create = True
        topics = _topics(admin)
        with capture_logs() as lines:
            await topics.ensure(EncodedPage("t", []))
            await topics.ensure(EncodedPage("t", []))
        assert admin.asked == ["t"]
        assert lines == []

    _virtual(scenario)


def test_a_broker_that_does_not_answer_is_asked_again_and_seen() -> None:
    async def scenario() -> None:
        away = BrokerUnavailableError("no broker")
        admin = Admin(errors=(away, NoError(), away, away))
        topics = _topics(admin)
        jobs = JobGroup("test")
        with capture_logs() as lines:
            jobs.spawn("ensure", topics.ensure(EncodedPage("t", [])))
            await asyncio.sleep(0.1)
            assert topics.trouble == "topic t is not seen to yet: no broker"
            await jobs.join(deadline_s=60)
        assert topics.trouble == ""
        assert len(admin.asked) == 4
        assert [spec.name for spec in admin.created] == ["t"]
        assert [line["log_level"] for line in lines] == ["warning", "info"]

    _virtual(scenario)


def test_a_task_that_may_not_create_a_topic_fails_in_kafkas_words() -> None:
    async def scenario() -> None:
        admin = Admin(errors=(NoError(), AccessDeniedError("not allowed")))
        topics = _topics(admin, default__partitions="-1", default__cleanup__policy="compact")
        with pytest.raises(FatalTaskError) as raised:
            await topics.ensure(EncodedPage("t", []))
        assert str(raised.value) == (
            "Task failed to create new topic (name=t, numPartitions=default, replicationFactor=1, "
            "replicasAssignments=null, configs={cleanup.policy=compact}). Ensure that the task is "
            "authorized to create topics or that the topic exists and restart the task"
        )
        assert isinstance(raised.value.__cause__, AccessDeniedError)

    _virtual(scenario)


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        ((ConfigError("bad"),), "Error while attempting to describe topics 't': bad"),
        ((NoError(), ConfigError("3 replicas")), "Unable to create topic(s) 't': 3 replicas"),
    ],
)
def test_every_other_refusal_fails_the_task_with_its_reason(
    errors: tuple[Exception, ...], text: str
) -> None:
    async def scenario() -> None:
        with pytest.raises(FatalTaskError) as raised:
            await _topics(Admin(errors=errors)).ensure(EncodedPage("t", []))
        assert str(raised.value) == text

    _virtual(scenario)


def test_without_rules_nobody_is_asked() -> None:
    async def scenario() -> None:
        topics = TaskTopics(clock=LoopClock())
        assert not topics.creates
        await topics.ensure(EncodedPage("t", []))

    _virtual(scenario)


def test_the_workers_own_topics_are_not_written_to() -> None:
    topics = TaskTopics(clock=LoopClock(), reserved=frozenset({"connect-offsets"}))
    page = _page("orders", "connect-offset")
    assert topics.checked(page) is page
    with pytest.raises(FatalTaskError, match="connect-offsets: it is one of the worker's own"):
        topics.checked(_page("orders", "connect-offsets"))
