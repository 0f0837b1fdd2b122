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

import hashlib
from dataclasses import dataclass, replace
from typing import Final

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.clock import iso_instant
from connectd.aws import exports
from connectd.connectors.dynamodb import export_fetch, export_files, stored_table
from connectd.connectors.dynamodb.export_files import DataFile
from connectd.connectors.dynamodb.export_reader import reader_of
from connectd.connectors.dynamodb.offsets import TableState
from connectd.connectors.dynamodb.source_api import (
    ExportDescription,
    ExportRequest,
    TableDescription,
)
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import FatalTaskError, InvariantError

_log = structlog.get_logger(__name__)

UNCONFIRMED_MAX_MS: Final = 3_600_000
"""How long after the start of INIT_SYNC an export is still requested for it. Well below the 8 hours
for which a token is remembered, and young enough for the stream's baseline."""

_ASKING: Final = Backoff(initial_s=10.0, max_s=60.0)
_MANIFEST_BYTES_MAX: Final = 256 * 1024**2


async def must_begin_anew(scope: TableScope, state: TableState) -> bool:
    """Whether an INIT_SYNC that was under way is of no use any more.

    Raises:
        FatalTaskError: the export that the state names cannot be asked for.
    """
    if state.export_arn is None:
        return scope.time.now_ms() - state.init_sync_start_ms > UNCONFIRMED_MAX_MS
    if state.total_segments is not None:
        return False  # it is complete, and being read
    export = await _describe(scope, state.export_arn)
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
    export = await _completed(scope, state)
    files = await _list_files(scope, description, state, export)
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
    settings = scope.config.scan.export
    bucket = _bucket(state)
    wanted = ExportRequest(
        table_arn=description.arn,
        token="",
        bucket=bucket,
        prefix=settings.prefix,
        bucket_owner=settings.bucket_owner,
        sse=settings.sse,
        kms_key_id=settings.kms_key_id,
    )
    # The same token with other parameters is refused: they are part of it.
    basis = f"{state.table_id}|{state.init_sync_start_ms}|{wanted!r}"
    wanted = replace(wanted, token=hashlib.sha256(basis.encode()).hexdigest())
    scope.progress.note = f"asking for an export to s3://{bucket}/{settings.prefix}"
    export = await scope.insist("requesting an export", lambda: scope.api.exports.request(wanted))
    _log.info("INIT_SYNC: an export is under way", table=scope.table, export=export.arn)
    return await _commit(scope, replace(state, export_arn=export.arn, export_ms=export.export_ms))


async def _completed(scope: TableScope, state: TableState) -> ExportDescription:
    """Wait for it, showing it in the table's row; AWS promises no time."""
    arn, asked = _arn(state), 0
    since_s = scope.clock.monotonic()
    while True:
        export = await _describe(scope, arn)
        if export.status == exports.COMPLETED:
            return export
        if export.status == exports.FAILED:
            raise FatalTaskError(
                f"table {scope.table}: export {arn} to s3://{_bucket(state)} has failed: "
                f"{export.failure or 'DynamoDB does not say why'}; mend that and restart the task, "
                "which exports it again"
            )
        asked += 1
        wait_s = _ASKING.wait_s(asked)
        minutes = (scope.clock.monotonic() - since_s) / 60
        next_at = iso_instant(scope.clock.wall_s() + wait_s)
        scope.progress.note = (
            f"export {arn} is {export.status}, waited for {minutes:.0f} min; asked for again at "
            f"{next_at}"
        )
        await scope.clock.sleep(wait_s)


async def _list_files(
    scope: TableScope, description: TableDescription, state: TableState, export: ExportDescription
) -> tuple[DataFile, ...]:
    bucket = _bucket(state)

    async def text_of(key: str) -> bytes:
        read = reader_of(scope, bucket, key)
        return await export_fetch.read_whole(
            f"s3://{bucket}/{key}", read, bytes_max=_MANIFEST_BYTES_MAX
        )

    key = export_files.summary_key(
        export.manifest_key, scope.config.scan.export.prefix, _arn(state)
    )
    files_key, items = export_files.read_summary(
        f"s3://{bucket}/{key}", await text_of(key), state, description.arn
    )
    return export_files.read_files(f"s3://{bucket}/{files_key}", await text_of(files_key), items)


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


async def _describe(scope: TableScope, arn: str) -> ExportDescription:
    return await scope.insist("asking for the export", lambda: scope.api.exports.describe(arn))


async def _commit(scope: TableScope, state: TableState) -> TableState:
    await scope.queue.commit(stored_table.table_partition(scope.table), state.to_offset())
    return state


def _bucket(state: TableState) -> str:
    if state.export_bucket is None:
        raise InvariantError(f"table {state.table} is not exported")
    return state.export_bucket


def _arn(state: TableState) -> str:
    if state.export_arn is None:
        raise InvariantError(f"table {state.table} has no export yet")
    return state.export_arn
