"""One export from its request to the list of its data files: full ones for INIT_SYNC, incremental
ones for gaps. Who asks keeps what must survive a crash; here is nothing of it.

AWS promises no time, so an export is waited for however long it takes, which the table's row shows.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import replace
from typing import Final

from connectd.aio.backoff import Backoff
from connectd.aio.clock import iso_instant
from connectd.aws import exports
from connectd.connectors.dynamodb import export_fetch, export_files
from connectd.connectors.dynamodb.export_files import DataFile
from connectd.connectors.dynamodb.export_reader import reader_of
from connectd.connectors.dynamodb.source_api import ExportDescription, ExportRequest, ExportWindow
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import FatalTaskError

UNCONFIRMED_MAX_MS: Final = 3_600_000
"""How long after its beginning an export is still requested that nobody has confirmed. Well below
the 8 hours for which a token is remembered, and young enough for the stream's baseline."""

_ASKING: Final = Backoff(initial_s=10.0, max_s=60.0)


def wanted(
    scope: TableScope, table_arn: str, bucket: str, name: str, window: ExportWindow | None = None
) -> ExportRequest:
    """The request of the export of this name. Its token follows from it: equal ones are one export.

    The same token with other parameters is refused, so they are part of it.
    """
    settings = scope.config.scan.export
    request = ExportRequest(
        table_arn=table_arn,
        token="",
        bucket=bucket,
        prefix=settings.prefix,
        bucket_owner=settings.bucket_owner,
        sse=settings.sse,
        kms_key_id=settings.kms_key_id,
        window=window,
    )
    return replace(request, token=hashlib.sha256(f"{name}|{request!r}".encode()).hexdigest())


async def request(scope: TableScope, wanted: ExportRequest) -> ExportDescription:
    """Begin an export, or find the one that this request has begun.

    Raises:
        FatalTaskError: it is refused.
    """
    scope.progress.note = f"asking for an export to s3://{wanted.bucket}/{wanted.prefix}"
    return await scope.insist("requesting an export", lambda: scope.api.exports.request(wanted))


async def describe(scope: TableScope, arn: str) -> ExportDescription:
    """How far an export is.

    Raises:
        FatalTaskError: it cannot be asked for.
    """
    return await scope.insist("asking for the export", lambda: scope.api.exports.describe(arn))


async def completed(scope: TableScope, arn: str, bucket: str, about: str = "") -> ExportDescription:
    """Wait for it, from its own beginning on, whichever life of the task that was in. ``about``
    ends what the table's row says meanwhile, and then of its manifests.

    Raises:
        FatalTaskError: it has failed.
    """
    asked = 0
    asked_ms = scope.time.now_ms()
    while True:
        export = await describe(scope, arn)
        if export.status == exports.COMPLETED:
            scope.progress.note = f"export {arn} is complete, its manifests are read{about}"
            return export
        if export.status == exports.FAILED:
            raise FatalTaskError(
                f"table {scope.table}: export {arn} to s3://{bucket} has failed: "
                f"{export.failure or 'DynamoDB does not say why'}; mend that and restart the task, "
                "which exports it again"
            )
        asked += 1
        wait_s = _ASKING.wait_s(asked)
        began_ms = asked_ms if export.started_ms is None else export.started_ms
        minutes = max(0, scope.time.now_ms() - began_ms) / 60_000
        next_at = iso_instant(scope.clock.wall_s() + wait_s)
        scope.progress.note = (
            f"export {arn} is {export.status}, waited for {minutes:.0f} min; asked for again at "
            f"{next_at}{about}"
        )
        await scope.rest(wait_s)


async def list_files(
    scope: TableScope,
    export: ExportDescription,
    bucket: str,
    table_arn: str,
    kind: str = exports.FULL,
) -> tuple[DataFile, ...]:
    """The data files of a complete export, in an order that is the same in every life.

    Raises:
        DamagedExportError: its manifests are not what DynamoDB wrote, or not this export's.
    """
    prefix = scope.config.scan.export.prefix
    _, files = await export_fetch.read_manifests(
        bucket,
        export_files.summary_key(export.manifest_key, prefix, export.arn),
        functools.partial(reader_of, scope, bucket),
        arn=export.arn,
        table_arn=table_arn,
        kind=kind,
    )
    return files
