"""``connectd reconcile``: one table of one connector against its topic, once.

The table is scanned and its topics are read at the same time; both sides go into a file of digests
(``digest_file``). What differs at the end is looked at again until it agrees or has differed for
``settle_s`` (``second_look``). A repair reads every item that still differs once more, writes what
the connector would write of it, waits for all acknowledgements, and compares everything again.

Instead of the table a full export may be looked at first. Its picture is older than the topic, so
that much may differ which is in order; the second look, which asks the table itself, tells. What it
cannot tell: that the topic lacks a change made after the export, for there both say the same. So
what a repair has written, or has left because another record came, is asked of the table once more,
whatever the export says of it.

A topic may be shared with other tables. The last record of a key counts, whosever it is: what
another table's record holds is no difference, or a conflict if this table has an item there.

Nothing of this is known to a running worker: positions are not touched, and a repair's records
stand among the worker's own. An item that changes between its reading and the acknowledgement may
therefore be overtaken by its older state; the comparison that follows every repair says so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from connectd.app import reconcile_notes
from connectd.app.comparison import Comparison
from connectd.app.reconcile_parts import OnProgress, Parts, Wishes
from connectd.app.repairing import Repair
from connectd.connectors.dynamodb.digest_file import DigestFile
from connectd.connectors.dynamodb.reconciling import Repaired, Report
from connectd.connectors.dynamodb.second_look import Candidate

Mend = Callable[[Comparison, DigestFile], Awaitable[None]]
"""Writes what differs, while the topics are still followed."""


class Reconciliation:
    """Compares, and repairs; see the module's docstring."""

    def __init__(
        self, connector: str, table: str, parts: Parts, wishes: Wishes, on_progress: OnProgress
    ) -> None:
        self._connector = connector
        self._table = table
        self._parts = parts
        self._wishes = wishes
        self._on_progress = on_progress

    async def compare(self) -> Report:
        """One comparison.

        Raises:
            ConnectdError: table or topic cannot be read; what could not be compared is not told of.
        """
        return await self._compare(None)

    async def repair(self) -> Report:
        """Compare, write what is missing, stale or extra, and compare again.

        Raises:
            ConnectdError: as ``compare``, or Kafka does not take the records.
        """
        repaired, notes, overtaken = Repaired(0, 0), list[str](), list[Candidate]()

        async def mend(comparison: Comparison, digests: DigestFile) -> None:
            nonlocal repaired
            repair = Repair(
                self._parts,
                digests,
                comparison,
                self._on_progress,
                removes_extra=self._wishes.removes_extra,
            )
            repaired = await repair.run()
            overtaken.extend(repair.overtaken)
            if self._parts.export is not None:
                notes.append(reconcile_notes.asked_again(len(overtaken)))
            if repair.overwritten:
                notes.append(reconcile_notes.overwritten(repair.overwritten))

        report = await self._compare(mend)
        if not report.is_equal:
            report = await self._compare(None, overtaken)
        return replace(report, repaired=repaired, notes=(*report.notes, *notes))

    async def _compare(self, mend: Mend | None, ask_table_for: Sequence[Candidate] = ()) -> Report:
        async with AsyncExitStack() as stack:
            digests = stack.enter_context(DigestFile(self._wishes.spill))
            comparison = Comparison(
                self._table, self._parts, self._wishes, digests, self._on_progress
            )
            stack.push_async_callback(comparison.close)
            report = await comparison.run(self._connector, ask_table_for)
            if mend is not None and not report.is_equal:
                if comparison.denied is not None:
                    raise comparison.denied
                await mend(comparison, digests)
            return report
