"""Structured logs: one line per event, JSON or console, from our code and from libraries alike.

``configure`` is called once, by the entry point; importing has no effect. Everybody writes with
``structlog.get_logger(__name__)``: a constant message and fields. structlog hands its events to the
standard library's loggers, so that levels are those of its hierarchy of names and can be changed at
run time (``levels``); one handler of the root logger renders everything:

    structlog ─┐                                ┌ JSON (pipes, containers)
               ├─▶ root handler ─ gate ─ redact ┤
    stdlib  ───┘                                └ console (terminals)

Libraries are heard from WARNING on, from INFO on while our own level is DEBUG. Their DEBUG lines
hold signed requests and must be asked for by name.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any, Final, TextIO

import structlog
from structlog.contextvars import bind_contextvars, bound_contextvars, merge_contextvars
from structlog.stdlib import ProcessorFormatter

from connectd.aio import clock
from connectd.observe import levels, redaction, repeats

Event = MutableMapping[str, Any]

OUR_LOGGERS: Final = ("connectd", "spark_jobs")
_FIELDS_FIRST: Final = ("timestamp", "level", "logger", "event", "connector", "task", "table")


class LogFormat(Enum):
    """How lines look. AUTO is CONSOLE on a terminal, JSON everywhere else."""

    AUTO = "auto"
    JSON = "json"
    CONSOLE = "console"


def configure(log_format: LogFormat, level: str, stream: TextIO) -> None:
    """Send all logs of the process to ``stream``. Calling it again replaces the earlier output.

    Raises:
        ConfigError: there is no such level.
    """
    own_level = levels.number_of(level)
    on_terminal = stream.isatty()
    as_console = log_format is LogFormat.CONSOLE or (log_format is LogFormat.AUTO and on_terminal)
    handler = _Output(stream)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[merge_contextvars],
            processors=[
                _describe_record,
                structlog.processors.format_exc_info,
                ProcessorFormatter.remove_processors_meta,
                _redact_fields,
                _console(colors=on_terminal and "NO_COLOR" not in os.environ)
                if as_console
                else _render_json,
            ],
        )
    )
    root = logging.getLogger()
    for earlier in [each for each in root.handlers if isinstance(each, _Output)]:
        root.removeHandler(earlier)
    root.addHandler(handler)
    root.setLevel(logging.INFO if own_level <= logging.DEBUG else logging.WARNING)
    for name in OUR_LOGGERS:
        logging.getLogger(name).setLevel(own_level)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            merge_contextvars,
            ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,  # lines are few; a cached logger outlives its settings
    )


@contextmanager
def context(
    *, connector: str | None = None, task: int | None = None, table: str | None = None
) -> Iterator[None]:
    """Put these fields on every line written in the block, by this job and those that it starts."""
    with bound_contextvars(**_context_fields(connector, task, table)):
        yield


def bind_context(
    *, connector: str | None = None, task: int | None = None, table: str | None = None
) -> None:
    """Put these fields on every further line of the current job (a job has its own context)."""
    bind_contextvars(**_context_fields(connector, task, table))


def statistics() -> repeats.RepeatStatistics:
    """What the gate for repeated lines holds and has held back."""
    outputs = [each for each in logging.getLogger().handlers if isinstance(each, _Output)]
    return outputs[0].gate.statistics() if outputs else repeats.RepeatStatistics(0, 0)


class _Output(logging.StreamHandler[TextIO]):
    """The one handler; ``emit`` runs under its lock, which also guards the gate."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.gate = repeats.RepeatGate()

    def emit(self, record: logging.LogRecord) -> None:
        suppressed = self.gate.admit(record)
        if suppressed is None:
            return
        if suppressed:
            record.repeats_suppressed = suppressed
        super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        """What the stream cannot encode (lone surrogates, a terminal in ASCII) is escaped."""
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        return super().format(record).encode(encoding, "backslashreplace").decode(encoding)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  the library's name
        """Says that a line is lost; the library's own way prints the record with its secrets."""
        cause = type(sys.exc_info()[1]).__name__
        with suppress(OSError, ValueError):  # the stream is gone: nowhere left to say it
            sys.stderr.write(f"a log line of {record.name} could not be written: {cause}\n")


def _context_fields(
    connector: str | None, task: int | None, table: str | None
) -> dict[str, str | int]:
    fields = {"connector": connector, "task": task, "table": table}
    return {name: value for name, value in fields.items() if value is not None}


def _describe_record(_logger: Any, _method: str, event: Event) -> Event:
    record: logging.LogRecord = event["_record"]
    event["timestamp"] = clock.iso_instant(record.created)
    event["level"] = record.levelname.lower()
    event["logger"] = record.name
    suppressed = getattr(record, "repeats_suppressed", 0)
    if suppressed:
        event["repeats_suppressed"] = suppressed
    return event


def _redact_fields(_logger: Any, _method: str, event: Event) -> Event:
    names = [name for name in _FIELDS_FIRST if name in event]
    names += [name for name in event if name not in _FIELDS_FIRST]
    return {name: redaction.redact_field(name, event[name]) for name in names}


def _render_json(_logger: Any, _method: str, event: Event) -> str:
    return json.dumps(event, ensure_ascii=False)


def _console(*, colors: bool) -> structlog.typing.Processor:
    return structlog.dev.ConsoleRenderer(
        colors=colors,
        sort_keys=False,
        pad_event_to=0,
        exception_formatter=structlog.dev.plain_traceback,
    )
