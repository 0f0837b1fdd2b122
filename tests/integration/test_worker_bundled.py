"""The connectors that come with Kafka, in a whole worker: bytes as real workers have written them.

The expected bytes were read from the topics of Kafka Connect 4.3.1 workers that ran the same
configurations over the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.kafka import KafkaBroker
from tests.harness.processes import wait_for
from tests.harness.topics import TopicRecord, read_topic
from tests.harness.worker import JSON_CONVERTER, WorkerProcess
from tests.integration.worker_rig import prefix_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

_DEADLINE_S = 60.0
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"

_TEXT = b"one\ntwo\r\nthree\rfour\n\xf0\x9f\x98\x80\npartial"
_STRUCT = (
    b'{"schema":{"type":"struct","fields":[{"type":"boolean","optional":false,"field":"boolean"},'
    b'{"type":"int32","optional":false,"field":"int"},{"type":"int64","optional":false,"field":'
    b'"long"},{"type":"float","optional":false,"field":"float"},{"type":"double","optional":false,'
    b'"field":"double"},{"type":"int32","optional":false,"field":"partitioning"},%s{"type":"int32",'
    b'"optional":false,"field":"id"},{"type":"int64","optional":false,"field":"seqno"}],"optional"'
    b':false,"name":"record","version":%d},"payload":{"boolean":true,"int":12,"long":12,"float":'
    b'12.2,"double":12.2,"partitioning":%d,%s"id":0,"seqno":%d}}'
)
_FIELD = b'{"type":"string","optional":false,"default":"abc","field":"string"},'


class Bundled:
    """A worker, and one connector at a time under a name of its own."""

    def __init__(self, broker: KafkaBroker, worker: WorkerProcess, prefix: str) -> None:
        self.worker = worker
        self._broker = broker
        self._bootstrap = broker.bootstrap
        self._prefix = prefix
        self.name = ""

    @property
    def topic(self) -> str:
        """The connector's topic."""
        return f"{self._prefix}{self.name}"

    def create(self, name: str, kind: str, **keys: str) -> None:
        """Create the connector; in ``keys`` two underscores stand for a dot."""
        self.name = name
        config = {
            "connector.class": kind,
            "topic": self.topic,
            **{key.replace("__", "."): value for key, value in keys.items()},
        }
        self.expect(201, "PUT", "/config", config)

    def expect(self, status: int, method: str, path: str = "", body: object = None) -> Any:
        """One request about the connector; its answer's body."""
        answer = self.worker.request(method, f"/connectors/{self.name}{path}", body)
        assert answer.status == status, f"{method} {path}: {answer.status} {answer.body}"
        return answer.body

    def delete_topic(self) -> None:
        """Delete the connector's topic under it, and wait until the broker has done so."""
        admin = self._broker.admin()
        admin.delete_topics([self.topic])[self.topic].result(_DEADLINE_S)

    def records(self, enough: int | None = None) -> list[TopicRecord]:
        """All records of the topic; with ``enough``, for one that is still written, so many."""
        return read_topic(self._bootstrap, self.topic, enough)

    def values(self, enough: int | None = None) -> list[bytes | None]:
        """Their values."""
        return [record.value for record in self.records(enough)]

    def committed(self) -> list[tuple[bytes | None, bytes | None]]:
        """Keys and values of the connector's records in the offsets topic."""
        records = read_topic(self._bootstrap, f"{self._prefix}connect-offsets")
        key = json.dumps([self.name])[:-1].encode()
        return [(each.key, each.value) for each in records if (each.key or b"").startswith(key)]

    def wait(self, what: str, ready: Any) -> None:
        """Until it is true."""
        assert wait_for(lambda: bool(ready()), deadline_s=_DEADLINE_S), (
            f"{what} did not happen\n{self.worker.log_tail()}"
        )

    def wait_count(self, count: int) -> None:
        """Until there are so many records; more may follow."""
        self.wait(f"{count} records", lambda: len(self.values(count)) == count)

    def wait_values(self, count: int) -> list[bytes | None]:
        """Until there are so many records; the values of all, of a source that has no more."""
        self.wait_count(count)
        return self.values()

    def wait_state(self, state: str, part: str = "tasks") -> Any:
        """Until the connector, or its first task, has this state; its status."""
        found: dict[str, Any] = {}

        def has_state() -> bool:
            answer = self.worker.request("GET", f"/connectors/{self.name}/status")
            if answer.status == 404:  # nothing has been said of its first life yet
                return False
            status = answer.body
            found.update((status["tasks"] or [{}])[0] if part == "tasks" else status["connector"])
            return found.get("state") == state

        self.wait(f"{part} {state}", has_state)
        return found

    def stop_and_settle(self) -> Any:
        """Stop the connector; its offsets."""
        self.expect(204, "PUT", "/stop")
        self.wait_state("STOPPED", "connector")
        return self.expect(200, "GET", "/offsets")["offsets"]


@pytest.fixture(scope="module")
def shared(
    kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bundled]:
    prefix = prefix_of(__name__)
    worker = WorkerProcess(
        kafka_broker.bootstrap,
        group_id=f"{prefix}group",
        topics_prefix=prefix,
        home=tmp_path_factory.mktemp("worker"),
        properties={"offset.flush.interval.ms": "100", "offset.storage.partitions": "2"},
    )
    worker.start()
    try:
        yield Bundled(kafka_broker, worker, prefix)
    finally:
        worker.close()


@pytest.fixture
def bundled(shared: Bundled) -> Iterator[Bundled]:
    yield shared
    shared.expect(204, "DELETE")


def test_a_file_becomes_the_records_and_offsets_of_a_real_worker(
    bundled: Bundled, tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(_TEXT)
    bundled.create("lines", "FileStreamSource", file=str(path), value__converter=JSON_CONVERTER)
    texts = (b"one", b"two", b"three", b"four", rb"\uD83D\uDE00")
    bundled.wait_values(5)
    assert [(record.key, record.value, record.headers) for record in bundled.records()] == [
        (None, b'{"schema":{"type":"string","optional":false},"payload":"%s"}' % text, ())
        for text in texts
    ]
    bundled.wait("a commit", bundled.committed)
    assert bundled.committed()[-1] == (
        b'["lines",{"filename":"%s"}]' % bytes(path),
        b'{"position":25}',
    )
    bundled.wait("topic", lambda: bundled.expect(200, "GET", "/topics")["lines"]["topics"])
    assert bundled.expect(200, "GET", "/topics") == {"lines": {"topics": [bundled.topic]}}


def test_positions_are_altered_and_reset_while_the_connector_is_stopped(
    bundled: Bundled, tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"a\nb\nc\n")
    bundled.create("altered", "FileStreamSource", file=str(path), value__converter=_STRINGS)
    assert bundled.wait_values(3) == [b"a", b"b", b"c"]
    (stored,) = bundled.stop_and_settle()
    assert stored == {"partition": {"filename": str(path)}, "offset": {"position": 6}}

    stored["offset"]["position"] = 2
    assert bundled.expect(200, "PATCH", "/offsets", {"offsets": [stored]}) == {
        "message": "The offsets for this connector have been altered successfully"
    }
    bundled.expect(202, "PUT", "/resume")
    assert bundled.wait_values(5)[3:] == [b"b", b"c"]

    bundled.stop_and_settle()
    bundled.expect(200, "DELETE", "/offsets")
    bundled.expect(202, "PUT", "/resume")
    assert bundled.wait_values(8)[5:] == [b"a", b"b", b"c"]


def test_a_killed_worker_loses_no_line_and_a_stopped_one_repeats_none(
    bundled: Bundled, tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    expected = [b"%d" % number for number in range(20_000)]
    path.write_bytes(b"\n".join(expected[:10_000]) + b"\n")
    bundled.create(
        "killed", "FileStreamSource", file=str(path), batch__size="7", value__converter=_STRINGS
    )
    bundled.wait_count(100)
    bundled.worker.kill9()
    with path.open("ab") as file:
        file.write(b"\n".join(expected[10_000:]) + b"\n")
    bundled.worker.start()
    bundled.wait("every line", lambda: set(bundled.values()) == set(expected))
    # Only what was not committed comes again, in order: each line's last time is behind the last
    # time of the line before it.
    last = {value: number for number, value in enumerate(bundled.values())}
    assert [value for value, _ in sorted(last.items(), key=lambda each: each[1])] == expected

    (stored,) = bundled.stop_and_settle()
    assert stored["offset"]["position"] == path.stat().st_size
    count = len(bundled.values())
    with path.open("ab") as file:
        file.write(b"more\n")
    bundled.expect(202, "PUT", "/resume")
    assert bundled.wait_values(count + 1)[count:] == [b"more"]


def test_a_line_that_fails_keeps_back_none_before_it_and_comes_first_when_that_is_mended(
    bundled: Bundled, tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"1\n2\nthree\n4\n")
    keys = {
        "file": str(path),
        "value__converter": _STRINGS,
        "transforms": "number",
        "transforms__number__type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms__number__spec": "int32",
    }
    bundled.create("mended", "FileStreamSource", **keys)
    trace = bundled.wait_state("FAILED")["trace"]
    assert "Tolerance exceeded in error handler" in trace
    assert bundled.values() == [b"1", b"2"]
    assert bundled.expect(200, "GET", "/topics")["mended"]["topics"] == [bundled.topic]
    (stored,) = bundled.stop_and_settle()
    assert stored["offset"] == {"position": 4}

    config = bundled.expect(200, "GET", "/config")
    for key in [key for key in config if key.startswith("transforms")]:
        del config[key]
    bundled.expect(200, "PUT", "/config", config)
    bundled.expect(202, "PUT", "/resume")
    assert bundled.wait_values(4) == [b"1", b"2", b"three", b"4"]


@pytest.mark.kafka("control")
def test_a_topic_that_is_deleted_comes_back_and_no_line_is_lost_though_errors_are_tolerated(
    bundled: Bundled, tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"0\n")
    bundled.create(
        "deleted",
        "FileStreamSource",
        file=str(path),
        value__converter=_STRINGS,
        errors__tolerance="all",
        producer__override__metadata__max__age__ms="200",
    )
    assert bundled.wait_values(1) == [b"0"]
    for number in range(1, 5):
        bundled.delete_topic()
        line = b"%d" % number
        with path.open("ab") as file:
            file.write(line + b"\n")
        bundled.wait(f"line {number}", lambda line=line: bundled.values()[-1:] == [line])
        assert bundled.expect(200, "GET", "/status")["tasks"][0]["state"] == "RUNNING"


def test_headers_pass_the_header_converter(bundled: Bundled, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"a\n")
    bundled.create(
        "headed",
        "FileStreamSource",
        file=str(path),
        value__converter=_STRINGS,
        transforms="h",
        transforms__h__type="org.apache.kafka.connect.transforms.InsertHeader",
        transforms__h__header="made",
        transforms__h__value__literal="[1, 2]",
    )
    bundled.wait_values(1)
    (record,) = bundled.records()
    assert record.headers == (("made", b"[1,2]"),)


def test_structs_have_the_bytes_of_a_real_worker(bundled: Bundled) -> None:
    bundled.create(
        "structs",
        "SchemaSource",
        num__messages="4",
        throughput="-1",
        multiple__schema="true",
        partition__count="3",
        key__converter=JSON_CONVERTER,
        value__converter=JSON_CONVERTER,
    )
    assert bundled.wait_values(4) == [
        _STRUCT % (b"", 1, 0, b"", 0),
        _STRUCT % (_FIELD, 2, 1, b'"string":"def",', 1),
        _STRUCT % (b"", 1, 2, b"", 2),
        _STRUCT % (_FIELD, 2, 0, b'"string":"def",', 3),
    ]
    assert {record.key for record in bundled.records()} == {
        b'{"schema":{"type":"string","optional":false},"payload":"key"}'
    }
    bundled.wait("a commit", bundled.committed)
    assert bundled.committed()[-1] == (b'["structs",{"id":0}]', b'{"seqno":3}')


def test_structs_as_text_and_without_schema_have_those_bytes_too(bundled: Bundled) -> None:
    bundled.create(
        "texts",
        "SchemaSource",
        num__messages="1",
        throughput="-1",
        key__converter=_STRINGS,
        value__converter=_STRINGS,
    )
    bundled.wait_values(1)
    (record,) = bundled.records()
    assert (record.key, record.value) == (
        b"key",
        b"Struct{boolean=true,int=12,long=12,float=12.2,double=12.2,partitioning=0,id=0,seqno=0}",
    )


def test_numbers_go_on_where_they_have_stopped(bundled: Bundled) -> None:
    bundled.create(
        "numbers",
        "VerifiableSource",
        throughput="500",
        key__converter="org.apache.kafka.connect.converters.IntegerConverter",
        value__converter="org.apache.kafka.connect.converters.LongConverter",
    )
    bundled.wait_count(50)
    for _ in range(2):
        bundled.stop_and_settle()
        count = len(bundled.values())
        bundled.expect(202, "PUT", "/resume")
        bundled.wait_count(count + 50)
    bundled.stop_and_settle()
    values = [int.from_bytes(value or b"", "big") for value in bundled.values()]
    assert values == list(range(len(values)))
    assert {record.key for record in bundled.records()} == {b"\0\0\0\0"}


def test_a_task_that_is_told_to_fail_shows_why(bundled: Bundled) -> None:
    bundled.create("mock-task", "MockSource", mock_mode="task-failure", delay_ms="10")
    task = bundled.wait_state("FAILED")
    first, *_ = task["trace"].splitlines()
    assert first.endswith("MockFailureError: mock_mode is task-failure: failing as it asks")
    assert bundled.expect(200, "GET", "/status")["connector"]["state"] == "RUNNING"


def test_a_connector_that_is_told_to_fail_shows_why(bundled: Bundled) -> None:
    bundled.create("mock-connector", "MockSource", mock_mode="connector-failure", delay_ms="10")
    connector = bundled.wait_state("FAILED", "connector")
    assert "mock_mode is connector-failure" in connector["trace"]


def test_they_are_listed_and_described_as_kafkas_are(bundled: Bundled) -> None:
    bundled.create("listed", "MockSource")
    listed = bundled.worker.request("GET", "/connector-plugins").body
    names = {plugin["class"] for plugin in listed if plugin["type"] == "source"}
    assert names >= {
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "org.apache.kafka.connect.tools.MockSourceConnector",
        "org.apache.kafka.connect.tools.SchemaSourceConnector",
        "org.apache.kafka.connect.tools.VerifiableSourceConnector",
    }
    keys = bundled.worker.request("GET", "/connector-plugins/FileStreamSource/config").body
    shown = ("name", "type", "required", "default_value", "importance", "group", "order_in_group")
    assert [tuple(key[name] for name in shown) for key in keys[:3]] == [
        ("file", "STRING", False, None, "HIGH", None, -1),
        ("topic", "STRING", True, None, "HIGH", None, -1),
        ("batch.size", "INT", False, "2000", "LOW", None, -1),
    ]
