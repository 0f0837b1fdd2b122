"""Who scans a table, and the scan itself: this process (``scan``) or Spark (``spark_scan``), or
nobody, when the table is read from an export (``export_sync``).

The choice between those who scan is made anew in every life of a scan: positions mean the same to
both, so that a scan may change hands. Positions in an export mean something else, so what began as
one ends as one. It says in one line of the log which, and why.

With ``auto`` this process scans what Spark cannot, also where that shows only when Spark is
started, as long as no driver has ever got so far that Spark was there. The table's row says why.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import structlog

from connectd.connectors.dynamodb import export_sync, scan, scan_job, scan_lease
from connectd.connectors.dynamodb.config import ScanEngine, ScanSettings
from connectd.connectors.dynamodb.export_reader import ExportedItems, ExportReader
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.scan_ledger import ScanLedger
from connectd.connectors.dynamodb.source_api import TableDescription
from connectd.connectors.dynamodb.spark_engine import HandOff, Turn
from connectd.connectors.dynamodb.spark_scan import SparkScan
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import ConfigError, FatalTaskError, TableGoneError

_log = structlog.get_logger(__name__)

_NO_SPARK = "this worker offers no Spark"


@dataclass(frozen=True)
class EngineChoice:
    """Who scans, and why. ``hand_off`` is the way to Spark, if it is Spark.

    ``instead`` says why it is not Spark although the table is large enough. ``is_free``: nobody
    has asked for Spark by name, so that this process may scan instead.
    """

    why: str
    hand_off: HandOff | None = None
    is_export: bool = False
    instead: str = ""
    is_free: bool = False

    @property
    def engine(self) -> str:
        """For people to look at."""
        who = "spark" if self.on_spark else "daemon"
        return f"export, read by {who}" if self.is_export else who

    @property
    def on_spark(self) -> bool:
        """Whether it is Spark."""
        return self.hand_off is not None


async def choose_engine(
    settings: ScanSettings,
    description: TableDescription,
    hand_off: HandOff | None,
    *,
    under_way: TableState | None = None,
) -> EngineChoice:
    """Who scans a table, by ``init.sync.engine`` and by what an INIT_SYNC under way began as.

    Raises:
        ConfigError: it must be Spark, and there is none.
    """
    if under_way is None:
        is_export, began = settings.engine is ScanEngine.EXPORT, "init.sync.engine is export; "
    else:
        is_export, began = under_way.export_bucket is not None, "INIT_SYNC began with an export; "
    if is_export:
        choice = await _who(
            settings, description, hand_off, settings.export.reader, "init.sync.export.reader"
        )
        return replace(choice, why=began + choice.why, is_export=True)
    if settings.engine is ScanEngine.EXPORT:
        return EngineChoice("INIT_SYNC began as a scan, so it is no export")
    return await _who(settings, description, hand_off, settings.engine, "init.sync.engine")


async def _who(
    settings: ScanSettings,
    description: TableDescription,
    hand_off: HandOff | None,
    wanted: ScanEngine,
    key: str,
) -> EngineChoice:
    """This process or Spark, as ``key`` wants it."""
    if wanted is ScanEngine.DAEMON:
        return EngineChoice(f"{key} is daemon")
    if wanted is ScanEngine.SPARK:
        problem = await _problem(hand_off)
        if problem:
            raise ConfigError(f"table {description.name}: {key} is spark, but {problem}")
        return EngineChoice(f"{key} is spark", hand_off)
    is_large = description.size_bytes >= settings.spark_from_bytes
    is_long = 0 < settings.spark_from_items <= description.item_count
    measured = f"the table has {description.size_bytes} bytes and {description.item_count} items"
    if not is_large and not is_long:
        return EngineChoice(f"{measured}, below the thresholds of Spark")
    reached = f"{measured}, enough for init.sync.spark.threshold.{'bytes' if is_large else 'items'}"
    problem = await _problem(hand_off)
    if problem:
        return EngineChoice(f"{reached}, but {problem}", instead=problem)
    return EngineChoice(reached, hand_off, is_free=True)


async def _problem(hand_off: HandOff | None) -> str:
    return _NO_SPARK if hand_off is None else await hand_off.engine.starter.problem()


@asynccontextmanager
async def turn_of(scope: TableScope, choice: EngineChoice) -> AsyncIterator[Turn | None]:
    """Wait until it is the table's turn to be scanned, which it has for as long as the block lasts.

    Tables that this process scans need none, and exports are waited for without one. It is waited
    for before the stream's baseline is laid: a table that waits for long must not find that its
    stream does not reach back to its scan.
    """
    if choice.hand_off is None or choice.is_export:
        yield None
        return
    engine = choice.hand_off.engine
    with engine.turns.turn() as turn:
        if turn.must_wait:
            _log.info("INIT_SYNC waits for other scans on Spark", table=scope.table)
            scope.progress.enter(
                "DELAYED",
                "INIT_SYNC waits for its turn: spark.drivers.max is "
                f"{engine.settings.drivers_max}, and as many tables are scanned on Spark",
            )
        await turn.take()
        yield turn


Baseline = Callable[[], Awaitable[object]]


async def scan_table(
    scope: TableScope,
    description: TableDescription,
    plan: TablePlan,
    state: TableState,
    stored: Mapping[int, SegmentPosition],
    choice: EngineChoice,
    turn: Turn | None,
    baseline: Baseline,
) -> TableState:
    """Scan what is left, from a durable RUNNING state to a durable FINISHED one.

    ``baseline`` returns once it is durable where the stream stands, which the end waits for.

    Raises:
        FatalTaskError: the table cannot be scanned (further).
    """
    _log.info(
        "INIT_SYNC: who scans is chosen",
        table=scope.table,
        engine=choice.engine,
        why=choice.why,
        segments=state.total_segments,
    )
    if choice.is_export:
        return await _read_export(scope, description, plan, state, stored, choice, baseline)
    hand_off = choice.hand_off
    on_spark = hand_off is not None and turn is not None
    engine = "spark" if on_spark else "daemon"
    ledger = ScanLedger(scope, state, stored, engine=engine, baseline=baseline)
    if hand_off is not None and turn is not None:
        job = make_job(scope, hand_off, description, plan, state)
        spark = SparkScan(
            scope, ledger, hand_off, turn, lambda segments: replace(job, segments=segments)
        )
        finished = await _on_spark(spark, choice)
        if isinstance(finished, TableState):
            return finished
        choice = replace(choice, instead=finished)
        turn.give()
    _show_instead(scope, ledger, choice)
    pacer = scan.make_pacer(scope, description, state.total_segments or 1)
    return await scan.TableScan(scope, plan, ledger, pacer).run()


async def _on_spark(spark: SparkScan, choice: EngineChoice) -> TableState | str:
    """The finished state, or why this process must do what Spark cannot.

    Raises:
        FatalTaskError: it cannot, and it must be Spark, or has been.
    """
    try:
        return await spark.run()
    except TableGoneError:
        raise
    except (FatalTaskError, ConfigError) as error:
        if not choice.is_free or spark.has_started:
            raise
        _log.warning(
            "Spark cannot be started, this worker goes on with the table itself",
            table=spark.table,
            error=str(error),
        )
        return str(error)


def _show_instead(scope: TableScope, ledger: ScanLedger, choice: EngineChoice) -> None:
    if choice.instead:
        ledger.progress.engine = "export, read by daemon" if choice.is_export else "daemon"
        scope.progress.note = f"read by this worker, not by Spark: {choice.instead}"


async def _read_export(
    scope: TableScope,
    description: TableDescription,
    plan: TablePlan,
    state: TableState,
    stored: Mapping[int, SegmentPosition],
    choice: EngineChoice,
    baseline: Baseline,
) -> TableState:
    """Wait for an export, and have it read."""
    export = await export_sync.complete_export(scope, description, state)
    hand_off, files = choice.hand_off, export.files
    ledger = ScanLedger(scope, export.state, stored, engine="export", baseline=baseline)

    async def read_here() -> TableState:
        _show_instead(scope, ledger, choice)
        bucket = export_sync.bucket_of(export.state)
        await ExportReader(scope, bucket, files, ExportedItems(plan, ledger)).run()
        return await ledger.finish()

    if hand_off is None or not files:
        return await read_here()
    job = replace(
        make_job(scope, hand_off, description, plan, export.state),
        units_per_s=None,
        item_bytes=None,
    )

    def job_for(left: tuple[SegmentPosition, ...]) -> ScanJob:
        return replace(
            job, segments=left, files={each.segment: files[each.segment] for each in left}
        )

    async with turn_of(scope, replace(choice, is_export=False)) as turn:
        assert turn is not None
        scope.progress.enter("INIT_SYNC")
        ledger = ScanLedger(scope, export.state, stored, engine="export", baseline=baseline)
        finished = await _on_spark(SparkScan(scope, ledger, hand_off, turn, job_for), choice)
    if isinstance(finished, TableState):
        return finished
    choice = replace(choice, instead=finished)
    return await read_here()


def make_job(
    scope: TableScope,
    hand_off: HandOff,
    description: TableDescription,
    plan: TablePlan,
    state: TableState,
) -> ScanJob:
    """All that Spark must know, but for the segments that are left.

    Raises:
        ConfigError: a converter or client of the connector is wrong.
    """
    config, engine = hand_off.config, hand_off.engine
    records = engine.records(hand_off.connector, config)
    return ScanJob(
        connector=hand_off.connector,
        table=plan.table,
        topic=plan.topic,
        key=plan.key_schema,
        envelope=plan.envelope,
        state=state,
        segments=(),
        key_converter=records.key_converter,
        value_converter=records.value_converter,
        header_converter=records.header_converter,
        producer=records.producer,
        admin=records.admin,
        aws=scope.config.aws,
        connector_config=scan_job.plugin_config(config),
        errors=records.errors,
        creates_topics=records.creates_topics,
        reserved_topics=records.reserved_topics,
        consistent_read=scope.config.scan.consistent_read,
        page_size=scope.config.scan.page_size,
        units_per_s=scan.units_per_s(scope.config.scan, description),
        item_bytes=scan.item_bytes(description),
        chunk_s=engine.settings.chunk_s,
        lease_s=scan_lease.lease_s(
            engine.settings.chunk_s, is_export=state.export_bucket is not None
        ),
    )
