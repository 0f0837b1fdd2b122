"""The test sources: what they emit, where it goes, and how they fail when they are told to."""

from __future__ import annotations

import asyncio

import pytest

from connectd.connectors.tools.mock import MockFailureError, MockSourceConnector, MockSourceTask
from connectd.connectors.tools.schema_source import SchemaSourceConnector, SchemaSourceTask
from connectd.connectors.tools.verifiable_source import (
    VerifiableSourceConnector,
    VerifiableSourceTask,
)
from connectd.errors import ConfigError
from connectd.model.schema import INT32, INT64, Struct
from tests.kit.source_rig import SourceContext, records_of
from tests.kit.virtual import virtual

_SCHEMA = {"id": "1", "topic": "t", "num.messages": "4", "throughput": "-1"}
_VERIFIABLE = {"id": "1", "topic": "t", "throughput": "-1", "name": "numbers"}


def _shown(value: object) -> str:
    assert isinstance(value, Struct)
    return ",".join(f"{field.name}={member}" for field, member in value.items())


@virtual
async def test_schema_source_alternates_between_two_versions() -> None:
    task = SchemaSourceTask()
    await task.start(
        SourceContext(), {**_SCHEMA, "multiple.schema": "TRUE", "partition.count": "3"}
    )
    records = records_of(*await task.poll())
    numbers = "boolean=True,int=12,long=12,float=12.2,double=12.2"
    assert [_shown(record.value) for record in records] == [
        f"{numbers},partitioning=0,id=1,seqno=0",
        f"{numbers},partitioning=1,string=def,id=1,seqno=1",
        f"{numbers},partitioning=2,id=1,seqno=2",
        f"{numbers},partitioning=0,string=def,id=1,seqno=3",
    ]
    assert {(record.topic, record.key, record.kafka_partition) for record in records} == {
        ("t", "key", 1)
    }


@virtual
async def test_schema_source_counts_its_messages_anew_in_every_life() -> None:
    context = SourceContext()
    for first in (0, 4):
        task = SchemaSourceTask()
        await task.start(context, _SCHEMA)
        (batch,) = await task.poll()
        values = [record.value for record in records_of(batch)]
        assert [value.get("seqno") for value in values if isinstance(value, Struct)] == list(
            range(first, first + 4)
        )
        context.commit(batch)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await task.poll()
        await task.stop()


@virtual
async def test_verifiable_source_emits_its_numbers_under_the_task() -> None:
    task = VerifiableSourceTask()
    await task.start(SourceContext(), _VERIFIABLE)
    records = records_of(*await task.poll(), *await task.poll())
    assert [record.value for record in records] == list(range(1000))
    assert {(r.key_schema, r.key, r.value_schema, r.kafka_partition) for r in records} == {
        (INT32, 1, INT64, None)
    }


@virtual
async def test_verifiable_source_tells_where_and_when_if_asked() -> None:
    task = VerifiableSourceTask()
    await task.start(SourceContext(), {**_VERIFIABLE, "complete.record.data": "true"})
    first = records_of(*await task.poll())[0]
    assert _shown(first.value) == "name=numbers,task=1,topic=t,time_ms=1700000000000,seqno=0"


@pytest.mark.parametrize(
    ("task", "config", "message"),
    [
        (SchemaSourceTask, {**_SCHEMA, "num.messages": "x"}, "num.messages is 'x'"),
        (SchemaSourceTask, {**_SCHEMA, "num.messages": " 5"}, "num.messages is ' 5'"),
        (SchemaSourceTask, {**_SCHEMA, "partition.count": "0"}, "partition.count is 0"),
        (SchemaSourceTask, {**_SCHEMA, "partition.count": "2147483648"}, "of 32 bits"),
        (SchemaSourceTask, {**_SCHEMA, "topic": ""}, "topic is not set"),
        (VerifiableSourceTask, {"topic": "t", "id": "0"}, "throughput is None"),
        (VerifiableSourceTask, {"throughput": "1", "id": "0"}, "topic is not set"),
    ],
)
@virtual
async def test_a_wrong_setting_fails_the_start(
    task: type[SchemaSourceTask] | type[VerifiableSourceTask],
    config: dict[str, str],
    message: str,
) -> None:
    with pytest.raises(ConfigError, match=message):
        await task().start(SourceContext(), config)


@pytest.mark.parametrize("connector", [SchemaSourceConnector, VerifiableSourceConnector])
@virtual
async def test_every_task_knows_its_number(
    connector: type[SchemaSourceConnector] | type[VerifiableSourceConnector],
) -> None:
    made = connector()
    await made.start(SourceContext(), {"topic": "t", "id": "9"})
    assert await made.task_configs(2) == [{"topic": "t", "id": "0"}, {"topic": "t", "id": "1"}]
    assert connector.alter_offsets({}, {}) is False


@virtual
async def test_a_mock_task_fails_after_its_delay() -> None:
    context, task = SourceContext(), MockSourceTask()
    await task.start(context, {"mock_mode": "task-failure", "delay_ms": "2000"})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.5):
            await task.poll()
    with pytest.raises(MockFailureError, match="mock_mode is task-failure"):
        await task.poll()
    assert round(context.services.clock.monotonic(), 3) == 2.0


@pytest.mark.parametrize("mode", [{}, {"mock_mode": "connector-failure"}, {"mock_mode": "x"}])
@virtual
async def test_any_other_mock_task_waits_for_ever(mode: dict[str, str]) -> None:
    task = MockSourceTask()
    await task.start(SourceContext(), mode)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(100_000):
            await task.poll()


@pytest.mark.parametrize("stops", [False, True])
@virtual
async def test_a_mock_connector_fails_after_its_delay_unless_it_is_stopped(stops: bool) -> None:
    context, connector = SourceContext(), MockSourceConnector()
    config = {"mock_mode": "connector-failure"}
    await connector.start(context, config)
    assert await connector.task_configs(5) == [config]
    await context.services.clock.sleep(14.9)
    assert context.errors == []
    if stops:
        await connector.stop()
    await context.services.clock.sleep(0.2)
    assert [type(error) for error in context.errors] == ([] if stops else [MockFailureError])
    await connector.stop()


@virtual
async def test_a_mock_with_a_wrong_delay_fails_at_once() -> None:
    config = {"mock_mode": "connector-failure", "delay_ms": "x"}
    with pytest.raises(ConfigError, match="delay_ms is 'x'"):
        await MockSourceConnector().start(SourceContext(), config)
    with pytest.raises(ConfigError, match="delay_ms is 'x'"):
        await MockSourceTask().start(SourceContext(), {**config, "mock_mode": "task-failure"})


def test_nobody_promises_to_write_exactly_once() -> None:
    for connector in (MockSourceConnector, SchemaSourceConnector, VerifiableSourceConnector):
        assert connector.config_def().names() == ()
        assert connector.validate({"exactly.once.support": "requested"}) == {}
        (message,) = connector.validate({"exactly.once.support": "REQUIRED"})[
            "exactly.once.support"
        ]
        assert message.startswith("The connector does not implement the API required")
