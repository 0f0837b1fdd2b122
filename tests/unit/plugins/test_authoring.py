"""What authors of plugins get for nothing."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from connectd.errors import FatalTaskError
from connectd.plugins import authoring, entry_points

PARTITION = authoring.SourcePartition.of({"a": "b"})


class Source(authoring.SingleTaskSource):
    keys = authoring.ConfigDef([authoring.key("topic", "STRING")])
    task = authoring.PollingTask


def test_a_source_has_every_method_that_a_worker_calls() -> None:
    methods = entry_points.GROUPS["connectd.connectors"].methods
    assert [name for name in methods if not callable(getattr(Source, name, None))] == []


async def _started(offset: Any) -> authoring.PollingTask:
    task = authoring.PollingTask()
    context: Any = SimpleNamespace(offsets={PARTITION: offset} if offset else {})
    await task.start(context, {"topic": "t"})
    return task


@pytest.mark.parametrize(("offset", "wanted"), [(None, 0), ({"count": 7}, 7), ({"x": 1}, 0)])
def test_a_stored_offset_is_read_member_by_member(offset: Any, wanted: int) -> None:
    task = asyncio.run(_started(offset))
    assert task.stored(PARTITION, "count", 0) == wanted


def test_a_stored_offset_of_another_type_is_not_taken() -> None:
    task = asyncio.run(_started({"count": "seven"}))
    with pytest.raises(FatalTaskError, match=r"count = 'seven', expected int; alter or delete"):
        task.stored(PARTITION, "count", 0)


def test_a_key_without_default_is_required() -> None:
    assert authoring.key("a", "INT").is_required
    assert authoring.key("a", "INT", default=None).default is None
    with pytest.raises(ValueError, match="NUMBER"):
        authoring.key("a", "NUMBER")
