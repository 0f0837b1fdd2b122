"""Which tables are to be copied: by tags, or by whitelist.

A table is accepted when its stream is enabled and carries new images; others are listed with the
reason. Only DescribeTable is asked (DescribeStream allows ten calls per second and account, field
case D05). A table about which AWS gives no answer just now keeps its last verdict (D01); one that
was never judged is neither accepted nor skipped. Verdicts are compared as sets (D02).

``TableDiscovery`` remembers verdicts between rounds; ``connector`` decides when a round is due and
what a change means.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

import structlog

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import Clock
from connectd.aws.session import CONTROL_PLANE_CALLS_MAX
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.source_api import SourceApi, TableDescription
from connectd.errors import (
    AccessDeniedError,
    InvalidRequestError,
    RetriableError,
    TableGoneError,
)

_log = structlog.get_logger(__name__)

_VIEW_TYPES = ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")

_DESCRIBE = Backoff(initial_s=0.2, max_s=2.0, attempts_max=3)
"""Within a round; what still fails then keeps its verdict until the next round."""


_JUDGED_AT_ONCE: Final = CONTROL_PLANE_CALLS_MAX
"""Tables that are described at the same time: one after the other, a thousand would take as many
times as long as an answer does."""


def _raise(error: Exception) -> NoReturn:
    raise error


def stream_problem(description: TableDescription) -> str | None:
    """Why a table's stream cannot be followed; None when it can."""
    if not description.stream_enabled or description.stream_arn is None:
        return f"its stream is not enabled; enable it with {' or '.join(_VIEW_TYPES)}"
    if description.stream_view_type not in _VIEW_TYPES:
        return (
            f"its stream carries {description.stream_view_type}, expected "
            f"{' or '.join(_VIEW_TYPES)}; disable it and enable it anew"
        )
    return None


@dataclass(frozen=True)
class Discovered:
    """The result of a round: accepted tables, and the others with their reasons.

    ``uncertain``: tables that could not be judged in this round (their last verdict stands, if
    there is one).
    """

    tables: frozenset[str] = frozenset()
    skipped: Mapping[str, str] = field(default_factory=dict)
    uncertain: Mapping[str, str] = field(default_factory=dict)

    @property
    def unjudged(self) -> dict[str, str]:
        """Tables that never could be judged: they may be such as were copied before a restart."""
        judged = self.tables | self.skipped.keys()
        return {table: text for table, text in self.uncertain.items() if table not in judged}


class TableDiscovery:
    """Discovers tables, round after round; see the module's docstring."""

    def __init__(self, config: DynamoDbConfig, api: SourceApi, clock: Clock) -> None:
        self._config = config
        self._api = api
        self._clock = clock
        self._verdicts: dict[str, str | None] = {}

    async def discover(self) -> Discovered:
        """One round.

        Raises:
            RetriableError: the list of tables cannot be had just now.
            AccessDeniedError: the list is refused; or the description of every table is.
            InvalidRequestError: the tags are not acceptable to AWS; or no name of a table is.
        """
        candidates = await self._candidates()
        verdicts: dict[str, str | None] = {}
        uncertain: dict[str, str] = {}
        refused: list[AccessDeniedError | InvalidRequestError] = []
        for table, judged in zip(candidates, await self._judge_all(candidates), strict=True):
            try:
                verdicts[table] = judged()
            except (AccessDeniedError, InvalidRequestError) as error:
                refused.append(error)
                verdicts[table] = str(error)
            except RetriableError as error:
                uncertain[table] = str(error)
                _log.warning(
                    "describing table failed, its last verdict stands",
                    table=table,
                    error=str(error),
                )
                if table in self._verdicts:
                    verdicts[table] = self._verdicts[table]
        if refused and len(refused) == len(candidates):
            raise refused[0]
        self._report(verdicts)
        self._verdicts = verdicts
        return Discovered(
            tables=frozenset(table for table, reason in verdicts.items() if reason is None),
            skipped={table: reason for table, reason in verdicts.items() if reason is not None},
            uncertain=uncertain,
        )

    async def _candidates(self) -> list[str]:
        if self._config.whitelist:
            return list(self._config.whitelist)
        tags = self._config.tags
        return await self._api.tagging.tables_by_tags(
            [(tags.env_key, [tags.env_value]), (tags.ingestion_key, [])]
        )

    async def _judge_all(self, tables: Sequence[str]) -> list[Callable[[], str | None]]:
        """For each table a call that tells its verdict, or raises why there is none."""
        places = asyncio.Semaphore(_JUDGED_AT_ONCE)

        async def judged(table: str) -> Callable[[], str | None]:
            async with places:
                try:
                    verdict = await self._judge(table)
                except (AccessDeniedError, InvalidRequestError, RetriableError) as error:
                    return functools.partial(_raise, error)
            return lambda: verdict

        return await asyncio.gather(*map(judged, tables))

    async def _judge(self, table: str) -> str | None:
        """The reason to skip a table; None: it is accepted."""

        async def describe() -> TableDescription:
            return await self._api.dynamodb.describe_table(table)

        try:
            description = await retry(describe, clock=self._clock, policy=_DESCRIBE)
        except TableGoneError:
            # Tags outlive their table for a while (field case D08).
            return "the table does not exist"
        return stream_problem(description)

    def _report(self, verdicts: Mapping[str, str | None]) -> None:
        """Log what has changed since the round before."""
        for table, reason in verdicts.items():
            if table in self._verdicts and self._verdicts[table] == reason:
                continue
            if reason is None:
                _log.info("table accepted", table=table)
            else:
                _log.warning("table skipped", table=table, reason=reason)
        for table in self._verdicts.keys() - verdicts.keys():
            _log.info("table no longer found", table=table)
