"""The topics of a comparison: each is followed from when it is first named to the end.

Which they are may turn out while the table is read, where transforms choose them. State: the
followers, owned here and closed by ``close``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from connectd.app.reconcile_parts import OnProgress, OpenFollower, topic_named
from connectd.errors import NotFoundError
from connectd.kafka.following import TopicFollower
from connectd.kafka.tailing import LogRecord


class FollowedTopics:
    """See the module's docstring. ``on_records`` hears of a topic and some of its records."""

    def __init__(
        self,
        open_follower: OpenFollower,
        on_records: Callable[[str, Sequence[LogRecord]], None],
        on_progress: OnProgress,
    ) -> None:
        self._open = open_follower
        self._on_records = on_records
        self._on_progress = on_progress
        self._followers: dict[str, TopicFollower] = {}
        self.policies: dict[str, str | None] = {}
        """cleanup.policy of each."""

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are followed, in order."""
        return tuple(sorted(self._followers))

    @property
    def records(self) -> int:
        """How many have come."""
        return sum(each.records for each in self._followers.values())

    async def follow(self, topic: str, start: Mapping[int, int] | None = None) -> None:
        """Begin to follow one; nothing happens if it is followed.

        Raises:
            NotFoundError: there is none.
            ConnectdError: it may not be read, or no broker answers.
        """
        if topic in self._followers:
            return

        def on_records(records: Sequence[LogRecord]) -> None:
            self._on_records(topic, records)

        follower = self._open(topic, on_records, start)
        with topic_named(topic):
            description = await follower.open()
        self._followers[topic] = follower
        self.policies[topic] = description.cleanup_policy

    async def follow_if_there(self, topic: str) -> bool:
        """As ``follow``; returns whether there is such a topic."""
        try:
            await self.follow(topic)
        except NotFoundError:
            return False
        return True

    async def ends(self, topic: str) -> Mapping[int, int]:
        """Where the partitions of a topic end now. Raises as ``follow``."""
        with topic_named(topic):
            return await self._open(topic, lambda _: None, None).ends()

    async def read(self) -> None:
        """Read all to their ends for the first time, and say how far it is."""
        for topic, follower in self._followers.items():
            await follower.read_to_end(self._telling(f"reading {topic}"))

    async def read_to_end(self) -> None:
        """All that was acknowledged before is told of."""
        for follower in self._followers.values():
            await follower.read_to_end()

    async def close(self) -> None:
        """End the reading."""
        followers, self._followers = self._followers, {}
        for follower in followers.values():
            await follower.close()

    def _telling(self, step: str) -> Callable[[int, int], None]:
        return lambda done, total: self._on_progress(step, done, total)
