"""INIT_SYNC from an export: DynamoDB writes the table to S3, and it is read there.

It costs no read capacity. The records are those of a scan. In four steps, each durable in the table
state before the next, so that a crash at any moment continues the same export:

* the state RUNNING names the bucket, and the stream's baseline is laid (both by ``table_job``);
* the export is requested. Its token follows from the state, so that asking twice is one export;
  its time is the service's choice, after the baseline, and what comes later is the stream's;
* DescribeExport is asked until it is complete, however long that takes;
* its data files are read, each of them a segment of INIT_SYNC: by this process
  (``export_reader``) or by Spark, as ``scanning`` decides.

An export that has failed fails the table; the next start of the task begins INIT_SYNC anew, as it
does when the export was never confirmed (``must_begin_anew``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from connectd.aws import exports
from connectd.connectors.dynamodb import export_making, stored_table
from connectd.connectors.dynamodb.export_files import DataFile
from connectd.connectors.dynamodb.export_making import UNCONFIRMED_MAX_MS
from connectd.connectors.dynamodb.offsets import TableState
from connectd.connectors.dynamodb.source_api import ExportDescription, TableDescription
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import FatalTaskError, InvariantError

_log = structlog.get_logger(__name__)


async def must_begin_anew(scope: TableScope, state: TableState) -> bool:
    """Whether an INIT_SYNC that was under way is of no use any more.

    Raises:
        FatalTaskError: the export that the state names cannot be asked for.
    """
    if state.export_arn is None:
        return scope.time.now_ms() - state.init_sync_start_ms > UNCONFIRMED_MAX_MS
    if state.total_segments is not None:
        return False  # it is complete, and being read
    export = await export_making.describe(scope, state.export_arn)
    if export.status != exports.FAILED:
        return False
    _log.warning(
        "the export has failed, INIT_SYNC begins anew",
        table=scope.table,
        export=export.arn,
        failure=export.failure,
    )
    return True


@dataclass(frozen=True)
class CompleteExport:
    """An export that can be read, and the durable state RUNNING that says so.

    ``files[i]`` is segment i; an export without files has one segment and no items.
    """

    state: TableState
    files: tuple[DataFile, ...]


async def complete_export(
    scope: TableScope, description: TableDescription, state: TableState
) -> CompleteExport:
    """From a durable RUNNING state with a baseline to an export that is complete.

    Raises:
        FatalTaskError: the table cannot be exported, or its export cannot be read.
    """
    if state.export_arn is None:
        state = await _request(scope, description, state)
    export = await export_making.completed(scope, _arn(state), bucket_of(state))
    files = await export_making.list_files(scope, export, bucket_of(state), description.arn)
    state = await _settle(scope, state, export, files)
    _log.info(
        "INIT_SYNC: reading an export",
        table=scope.table,
        export=export.arn,
        files=len(files),
        items=sum(each.items for each in files),
    )
    scope.progress.note = ""
    scope.progress.items_estimated = sum(each.items for each in files)
    return CompleteExport(state, files)


async def _request(
    scope: TableScope, description: TableDescription, state: TableState
) -> TableState:
    wanted = export_making.wanted(
        scope, description.arn, bucket_of(state), f"{state.table_id}|{state.init_sync_start_ms}"
    )
    export = await export_making.request(scope, wanted)
    _log.info("INIT_SYNC: an export is under way", table=scope.table, export=export.arn)
    return await _commit(scope, replace(state, export_arn=export.arn, export_ms=export.export_ms))


async def _settle(
    scope: TableScope, state: TableState, export: ExportDescription, files: tuple[DataFile, ...]
) -> TableState:
    """Make durable what positions in the files stand on."""
    if state.total_segments is None:
        export_ms = export.export_ms or state.export_ms or state.init_sync_start_ms
        return await _commit(
            scope, replace(state, total_segments=max(1, len(files)), export_ms=export_ms)
        )
    if state.total_segments != max(1, len(files)):
        raise FatalTaskError(
            f"table {scope.table}: export {export.arn} has {len(files)} files, it had "
            f"{state.total_segments}; remove the table's offset so that it is exported again"
        )
    return state


async def _commit(scope: TableScope, state: TableState) -> TableState:
    await scope.queue.commit(stored_table.table_partition(scope.table), state.to_offset())
    return state


def bucket_of(state: TableState) -> str:
    """The bucket that an INIT_SYNC from an export reads."""
    if state.export_bucket is None:
        raise InvariantError(f"table {state.table} is not exported")
    return state.export_bucket


def _arn(state: TableState) -> str:
    if state.export_arn is None:
        raise InvariantError(f"table {state.table} has no export yet")
    return state.export_arn
