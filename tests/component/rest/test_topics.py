"""Active topics over REST (spec kafka-connect A.5)."""

from __future__ import annotations

from connectd.runtime.herder import HerderSettings
from tests.kit.control_plane import control_plane
from tests.kit.virtual import virtual


@virtual
async def test_topics_are_those_written_to_since_the_last_reset() -> None:
    """H57."""
    async with control_plane() as plane:
        await plane.create("s")
        task = plane.probes["s"].latest()
        for topic in ("t2", "t1", "t2"):
            task.spec.on_topic(topic)
        answer = await plane.client.get("/connectors/s/topics")
        assert (answer.status, answer.json()) == (200, {"s": {"topics": ["t1", "t2"]}})
        answer = await plane.client.put("/connectors/s/topics/reset")
        assert (answer.status, answer.body) == (202, b"")
        assert (await plane.client.get("/connectors/s/topics")).json() == {"s": {"topics": []}}
        task.spec.on_topic("t1")
        assert (await plane.client.get("/connectors/s/topics")).json() == {"s": {"topics": ["t1"]}}


@virtual
async def test_a_connector_that_wrote_nothing_or_is_unknown_has_an_empty_list() -> None:
    """R20."""
    async with control_plane() as plane:
        await plane.create("s")
        for name in ("s", "none"):
            answer = await plane.client.get(f"/connectors/{name}/topics")
            assert (answer.status, answer.json()) == (200, {name: {"topics": []}})


@virtual
async def test_topics_of_a_deleted_connector_are_forgotten() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        plane.probes["s"].latest().spec.on_topic("t1")
        await plane.client.delete("/connectors/s")
        await plane.settle()
        assert plane.statuses.topics("s") == ()


@virtual
async def test_tracking_may_be_disabled() -> None:
    """H58."""
    async with control_plane(settings=HerderSettings(tracks_topics=False)) as plane:
        await plane.create("s")
        plane.probes["s"].latest().spec.on_topic("t1")
        for answer in (
            await plane.client.get("/connectors/s/topics"),
            await plane.client.put("/connectors/s/topics/reset"),
        ):
            assert (answer.status, answer.message) == (403, "Topic tracking is disabled.")
        assert plane.statuses.topics("s") == ()


@virtual
async def test_the_reset_may_be_disabled_alone() -> None:
    async with control_plane(settings=HerderSettings(allows_topic_reset=False)) as plane:
        answer = await plane.client.put("/connectors/s/topics/reset")
        assert (answer.status, answer.message) == (403, "Topic tracking reset is disabled.")
        assert (await plane.client.get("/connectors/s/topics")).status == 200
