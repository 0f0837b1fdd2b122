"""One line per event, from our code and from libraries, in the format that fits the stream."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from connectd.errors import ConfigError
from connectd.observe import logs, redaction, repeats
from connectd.observe.logs import LogFormat


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    names = (*logs.OUR_LOGGERS, "connectd.test", "connectd.test.deep", "botocore")
    before = {name: logging.getLogger(name).level for name in names}
    root_level, handlers = root.level, list(root.handlers)
    yield
    root.handlers[:] = handlers
    root.setLevel(root_level)
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    redaction.forget_secrets()


def configured(level: str = "INFO", log_format: LogFormat = LogFormat.JSON) -> io.StringIO:
    stream = io.StringIO()
    logs.configure(log_format, level, stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_its_fields_in_order() -> None:
    stream = configured()
    with logs.context(connector="c", task=0, table="t"):
        structlog.get_logger("connectd.test").info("table discovered", shards=3)
    (line,) = lines(stream)
    assert list(line) == [
        "timestamp", "level", "logger", "event", "connector", "task", "table", "shards",
    ]  # fmt: skip
    assert line["level"] == "info"
    assert line["logger"] == "connectd.test"
    assert line["event"] == "table discovered"
    assert (line["connector"], line["task"], line["table"], line["shards"]) == ("c", 0, "t", 3)
    assert line["timestamp"].endswith("Z")
    assert "T" in line["timestamp"]


def test_context_ends_with_its_block_and_stays_in_its_job() -> None:
    stream = configured()
    log = structlog.get_logger("connectd.test")

    async def job(table: str) -> None:
        logs.bind_context(table=table)
        await asyncio.sleep(0)
        log.info("inside")

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(job("a"))
            group.create_task(job("b"))
        log.info("after")

    with logs.context(connector="c"):
        asyncio.run(both())
    log.info("outside")
    assert [(line.get("connector"), line.get("table")) for line in lines(stream)] == [
        ("c", "a"),
        ("c", "b"),
        ("c", None),
        (None, None),
    ]


def test_libraries_come_through_the_same_output_from_warning_on() -> None:
    stream = configured()
    library = logging.getLogger("botocore.endpoint")
    library.info("quiet")
    with logs.context(connector="c"):
        library.warning("retrying %s", "Scan")
    (line,) = lines(stream)
    assert (line["logger"], line["event"], line["connector"]) == (
        "botocore.endpoint",
        "retrying Scan",
        "c",
    )


def test_our_debug_level_makes_libraries_speak_at_info() -> None:
    stream = configured("debug")
    logging.getLogger("botocore").info("said")
    logging.getLogger("botocore").debug("signed request")
    structlog.get_logger("connectd.test").debug("detail")
    assert [line["event"] for line in lines(stream)] == ["said", "detail"]


def test_an_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"invalid log level 'loud'\. Expected one of OFF, FATAL"):
        configured("loud")


def test_exceptions_are_one_field_and_hold_no_secret() -> None:
    stream = configured()
    redaction.register_secret("hunter2")
    log = structlog.get_logger("connectd.test")
    try:
        raise ValueError("login with hunter2 refused")
    except ValueError:
        log.exception("task failed", password="p", options={"aws.secret.key": "k"})
        logging.getLogger("botocore").exception("library failed with %s", "hunter2")
    own, foreign = lines(stream)
    for line in (own, foreign):
        assert "Traceback" in line["exception"]
        assert "ValueError: login with [hidden] refused" in line["exception"]
    assert own["password"] == "[hidden]"
    assert own["options"] == {"aws.secret.key": "[hidden]"}
    assert foreign["event"] == "library failed with [hidden]"
    assert "hunter2" not in stream.getvalue()


def test_an_exception_object_as_field_keeps_its_trace() -> None:
    stream = configured()
    try:
        raise ValueError("lost")
    except ValueError as error:
        caught = error
    structlog.get_logger("connectd.test").warning("retrying", exc_info=caught, cause=caught)
    (line,) = lines(stream)
    assert line["exception"].endswith("ValueError: lost")
    assert line["cause"] == "ValueError: lost"


def test_repeated_lines_are_held_back_and_counted() -> None:
    stream = configured()
    log = structlog.get_logger("connectd.test")
    for attempt in range(repeats.LINES_MAX + 5):
        log.warning("broker away", attempt=attempt)
    assert len(lines(stream)) == repeats.LINES_MAX
    assert logs.statistics().suppressed == 5


def test_auto_is_json_on_a_pipe_and_console_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    pipe = configured(log_format=LogFormat.AUTO)
    structlog.get_logger("connectd.test").info("hello", table="t")
    assert lines(pipe)[0]["event"] == "hello"
    terminal = Terminal()
    logs.configure(LogFormat.AUTO, "INFO", terminal)
    structlog.get_logger("connectd.test").info("hello", table="t")
    assert "\x1b[" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")


def test_console_lines_have_no_colours_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = configured(log_format=LogFormat.CONSOLE)
    try:
        raise ValueError("lost")
    except ValueError:
        structlog.get_logger("connectd.test").exception("task failed", table="t")
    text = stream.getvalue()
    assert "\x1b[" not in text
    assert "task failed" in text
    assert "table=t" in text
    assert "ValueError: lost" in text
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    logs.configure(LogFormat.AUTO, "INFO", terminal)
    structlog.get_logger("connectd.test").info("hello")
    assert "\x1b[" not in terminal.getvalue()


def test_configuring_again_replaces_the_output() -> None:
    first = configured()
    second = configured()
    structlog.get_logger("connectd.test").info("once")
    assert first.getvalue() == ""
    assert len(lines(second)) == 1


def test_text_that_the_stream_cannot_encode_is_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    logs.configure(LogFormat.JSON, "INFO", stream)
    structlog.get_logger("connectd.test").info("odd", key="é\ud800")
    stream.flush()
    assert raw.getvalue().endswith(b'"key": "\\xe9\\ud800"}\n')


def test_a_broken_stream_loses_the_line_but_shows_no_secret(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream = configured()
    stream.close()
    structlog.get_logger("connectd.test").info("hello", password="hunter2")
    shown = capsys.readouterr().err
    assert shown == "a log line of connectd.test could not be written: ValueError\n"
