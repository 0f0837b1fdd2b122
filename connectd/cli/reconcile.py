"""``connectd reconcile``: does a topic hold what its table holds?"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectd.app.exit_code import ExitCode
from connectd.cli import interrupts, screen, worker_api
from connectd.cli.progress import ProgressLine
from connectd.cli.screen import Colour
from connectd.errors import ConfigError, ConnectdError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connectd.app.reconcile_parts import Wishes
    from connectd.app.reconcile_wiring import Subject
    from connectd.cli.screen import Commands
    from connectd.configdef.worker import WorkerConfig
    from connectd.connectors.dynamodb.reconciling import Difference, Report

_HELP = """
Compares a DynamoDB table with the topic that a connector writes it to: scans the table, reads the
topic to its end, and takes the last record of each key.

  connectd reconcile orders-source orders -w worker.properties
  connectd reconcile orders-source orders -w worker.properties --json | jq .counts
  connectd reconcile orders-source orders -w worker.properties --repair
  connectd reconcile orders-source orders -w worker.properties --repair-extra
  connectd reconcile orders-source orders -w worker.properties --export s3://b/p/AWSDynamoDB/0169…
  connectd reconcile orders-source orders -w worker.properties --file connector.json

The connector's config is asked of a running worker (--url, or CONNECTD_URL in the environment), or
read from a --file as POST /connectors takes it. Brokers, converters and client settings are those
of the worker's properties file (-w); without one, of CONNECT_… variables in the environment.

  missing   the table has the item, the topic does not (no record, or a tombstone)
  stale     both have it; the topic's last record says something else
  extra     the topic has it, the table does not
  conflict  the table has it, and the last record of its key is another table's
  unconvertible
            the table has it, and the connector cannot make a record of it

In a topic that several tables share, the last record of a key counts, whosever it is. A conflict is
for you to end: in a compacted topic the tables overwrite one another, until each has a topic of its
own (kafka.topic.map) or keys that differ. Only envelopes name their table: where UnwrapDynamoDb
takes them away, another table's record of the same key is taken for a stale one.

The topic is the one that the connector writes to, and every topic that its transforms choose for
items of the table. One that no item goes to any more must be named (--topic). Where transforms give
no item a topic (the table is empty, or all are dropped), the connector's topic without them is
compared; if there is none either, nothing is, and that is exit code 2. Without transforms an empty
table is in order if its topic was never made.

What should be there is made by the connector's own transforms and converters. Items that a
transform drops are counted (skipped), and are no difference. Values that are
envelopes of this connector are compared by document: op, ts_ms, source.init_sync* and old_document
differ by nature. Values that a transform has changed (UnwrapDynamoDb) are compared as a whole.

A table that is written to is no problem: what differs is looked at again, item by item
(dynamodb:GetItem) and record by record, until it agrees or has differed for --settle seconds.
The scan is paced as the connector's own (init.sync.read.capacity.*); digests of all keys go into a
temporary file (--spill names its directory), some 200 bytes each. It goes with the command, also at
SIGTERM and SIGHUP; what a killed one has left, the next one removes.

--spark lets Spark do the first comparison, for tables that one process would scan for days: by the
worker's spark.* keys, as an initial scan on Spark. Topics that transforms choose must then be named
(--topic).

--export compares with a full export that is finished, instead of a scan: it costs no read capacity.
It is named by its ARN, or by the folder of its manifests. The export is older than the topic, so
every key that differs is asked of the table itself (dynamodb:GetItem, strongly consistent) before
it counts. A change made after the export that the topic lacks is not found. What --repair has
written is asked of the table once more when Kafka has it.

--repair writes the items that are missing or stale (as op r) and tombstones for what is extra, with
the connector's producer settings, waits until all are acknowledged, and compares again. An item
that changes in that very moment may be overtaken by its older state; the comparison behind the
repair says so. Pause the connector first if that must not be, and those that share the topic. Items
without a record (they cannot be converted, or a transform drops them) are left alone, and so are
conflicts, and extra records of which nobody can say that they are this table's: those whose key
does not lead back to an item, and those that name no table (UnwrapDynamoDb).

--repair-extra is --repair that removes these extra records as well, by tombstones with their own
key in their own partition. Use it only where no other table's records are in the topic. The scan
is strongly consistent then (twice the read capacity), and a record is removed if it stood in the
topic before the scan began, is still the last one of its key, and no item of the table has that
key. Records without a key cannot be removed.

Exit codes:
  0  the topic holds what the table holds
  1  it does not; with --repair: it still does not
  2  they could not be compared: no such connector, table or topic; access denied; no broker;
     partitions added meanwhile; interrupted
These count whether or not anybody reads the report to its end (… | head).
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = screen.add_command(commands, "reconcile", "compare a table with its topic", _HELP)
    parser.add_argument("connector", help="the connector's name")
    parser.add_argument("table", help="the table's name")
    parser.add_argument("-w", "--worker", type=Path, help="properties file of the worker")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--url", help=f"a worker's REST API (default: CONNECTD_URL, or {worker_api.DEFAULT_URL})"
    )
    where.add_argument("--file", type=Path, help="the connector's file, instead of a worker")
    repair = parser.add_mutually_exclusive_group()
    repair.add_argument("--repair", action="store_true", help="write what is missing or wrong")
    repair.add_argument(
        "--repair-extra", action="store_true",
        help="as --repair, and remove extra records that do not lead to an item or a table",
    )  # fmt: skip
    first = parser.add_mutually_exclusive_group()
    first.add_argument("--spark", action="store_true", help="let Spark do the first comparison")
    first.add_argument(
        "--export", metavar="ARN", help="compare with a finished full export (or s3://…) first"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--settle", type=screen.number(float, 0, 86_400, "seconds"), default=10.0,
        metavar="SECONDS", help="how long a difference must last to be one (default: 10)",
    )  # fmt: skip
    parser.add_argument(
        "--show", type=screen.number(int, 0, 1_000_000, "a whole number"), default=20, metavar="N",
        help="how many differences are listed (default: 20); all are counted",
    )  # fmt: skip
    parser.add_argument(
        "--topic", action="append", default=[], metavar="TOPIC", type=screen.topic,
        help="a further topic to read, where transforms choose the topic; may be repeated",
    )  # fmt: skip
    parser.add_argument("--spill", type=Path, metavar="DIRECTORY", help="where digests are kept")
    parser.set_defaults(command=_reconcile, interrupted=ExitCode.CONFIG)


def _reconcile(options: argparse.Namespace) -> int:
    from connectd.app.reconcile_parts import Wishes
    from connectd.observe import logs

    logs.configure(logs.LogFormat.CONSOLE, "ERROR", sys.stderr)
    wishes = Wishes(
        options.settle, options.show, tuple(options.topic), options.spill, options.repair_extra
    )
    progress = ProgressLine()
    try:
        try:
            with interrupts.asked_to_end() as signals:
                worker, subject = _worker_config(options.worker), _subject(options)
                report = asyncio.run(_run(subject, worker, wishes, progress, options, signals))
        finally:
            progress.clear()
        with screen.telling():
            if options.json:
                screen.print_json(report.to_json())
            else:
                _print(report)
    except ConnectdError as error:
        screen.complain(f"connectd: {error}")
        return ExitCode.CONFIG
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except Exception:  # Python's own exit code for a defect, 1, would say that they differ
        screen.complain(traceback.format_exc())
        raise SystemExit(ExitCode.CONFIG) from None
    return ExitCode.CLEAN if report.is_equal else ExitCode.FAILED


async def _run(
    subject: Subject,
    worker: WorkerConfig,
    wishes: Wishes,
    progress: ProgressLine,
    options: argparse.Namespace,
    signals: Sequence[int],
) -> Report:
    from connectd.app import reconcile_wiring

    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None, "a coroutine runs in a task"
    for each in signals:  # as asyncio does for SIGINT: everything is closed and removed
        loop.add_signal_handler(each, task.cancel)
    async with reconcile_wiring.opened(
        subject, worker, wishes, progress, on_spark=options.spark, export=options.export
    ) as reconciliation:
        repairs = options.repair or options.repair_extra
        return await (reconciliation.repair() if repairs else reconciliation.compare())


def _worker_config(path: Path | None) -> WorkerConfig:
    from connectd.app import worker_file
    from connectd.configdef.worker import Mode, WorkerConfig, environment_properties

    if path is None:
        found = environment_properties(os.environ)
        if "bootstrap.servers" not in found:
            raise ConfigError(
                "the brokers and converters of the worker are not known; name its properties file "
                "with -w, or set CONNECT_BOOTSTRAP_SERVERS, CONNECT_KEY_CONVERTER, …"
            )
    else:
        found = worker_file.read(path, os.environ)
    # Nothing of the worker itself is started: where it keeps its offsets does not matter.
    is_distributed = "group.id" in found
    offsets = {} if is_distributed else {"offset.storage.file.filename": "-"}
    mode = Mode.DISTRIBUTED if is_distributed else Mode.STANDALONE
    return WorkerConfig.from_properties({**offsets, **found}, mode=mode)


def _subject(options: argparse.Namespace) -> Subject:
    from connectd.app.reconcile_wiring import Subject
    from connectd.configdef import connector_file

    if options.file is not None:
        file = connector_file.load(options.file)
        if file.name != options.connector:
            raise ConfigError(
                f"{options.file} is the connector {file.name}, expected {options.connector}"
            )
        return Subject(file.name, options.table, file.config, None)
    api = worker_api.WorkerApi(
        options.url or os.environ.get("CONNECTD_URL") or worker_api.DEFAULT_URL
    )
    config = api.connector("GET", options.connector, "config", None)
    return Subject(
        options.connector, options.table, config, _offset(api, options.connector, options.table)
    )


def _offset(api: worker_api.WorkerApi, connector: str, table: str) -> Any:
    """The table's state in the connector's offsets, None where there is none."""
    try:
        entries = api.connector("GET", connector, "offsets", None).get("offsets", [])
    except NotFoundError:
        return None  # a worker without this resource (before Kafka 3.5): the config was found
    for entry in entries:
        if entry.get("partition") == {"table_name": table}:
            return entry.get("offset")
    return None


def _print(report: Report) -> None:
    counts = report.counts
    topics = ", ".join(report.topics) or "no topic"
    print(f"table  {report.table}: {counts.items:,} items")
    if report.export is not None:
        print(f"export {report.export.arn} of {report.export.time or 'an unknown time'}")
    print(f"topic  {topics}: {counts.records:,} records, {counts.keys:,} keys with an item")
    if report.repaired is not None:
        told = report.repaired
        print(f"repair {told.records:,} records and {told.tombstones:,} tombstones written")
    if report.is_equal:
        print(screen.coloured(f"equal  compared by {report.compared.value}", Colour.GREEN))
    else:
        kinds = f"{counts.missing:,} missing, {counts.stale:,} stale, {counts.extra:,} extra"
        if counts.conflict:
            kinds += f", {counts.conflict:,} in conflict"
        if counts.unconvertible:
            kinds += f", {counts.unconvertible:,} unconvertible"
        print(screen.coloured(f"differ {kinds}", Colour.RED))
        print()
        screen.print_table(
            ("KIND", "TOPIC", "RECORD", "KEY"), [_row(each) for each in report.differences]
        )
        hidden = counts.different - len(report.differences)
        if hidden:
            print(f"… and {hidden:,} more")
    for note in report.notes:
        screen.complain(f"note: {note}")


def _row(difference: Difference) -> tuple[str, str, str, str]:
    record = "" if difference.offset is None else f"{difference.partition}@{difference.offset}"
    key = difference.key
    text = key if isinstance(key, str) else json.dumps(key, ensure_ascii=False)
    return difference.kind.value, difference.topic, record, text
