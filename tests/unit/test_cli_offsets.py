"""``connectd offsets``: through a worker's REST API, and in the file of one that is down."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from connectd import cli
from connectd.stores import java_serial
from connectd.stores.file_offset_home import OffsetFile
from tests.harness.processes import free_ports
from tests.kit.local_http import LocalHttp, Quiet

RECORDED = Path(__file__).parent / "stores" / "recorded" / "standalone.offsets"
LINES = {"partition": {"filename": "lines.txt"}, "offset": {"position": 14}}

CapSys = pytest.CaptureFixture[str]


class Worker(LocalHttp):
    """Answers every request with what it is told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.answer: bytes = b"{}"
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: dict[str, str] = {}
        worker = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                worker.asked.append((self.command, self.path, body))
                worker.headers = dict(self.headers)
                self.send_response(worker.status)
                self.send_header("Content-Length", str(len(worker.answer)))
                self.end_headers()
                self.wfile.write(worker.answer)

            do_GET = do_PATCH = do_DELETE = handle_any  # noqa: N815  the library's names

        super().__init__(Handler)

    def says(self, document: object, status: int = 200) -> None:
        self.status, self.answer = status, json.dumps(document).encode()


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker() as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "offsets"
    path.write_bytes(RECORDED.read_bytes())
    return path


class TestAtAWorker:
    def test_offsets_are_listed(self, worker: Worker, capsys: CapSys) -> None:
        worker.says({"offsets": [LINES]})
        assert cli.main(["offsets", "list", "a b/c", "--url", f"{worker.url}/"]) == 0
        assert worker.asked == [("GET", "/connectors/a%20b%2Fc/offsets", None)]
        heads, row = capsys.readouterr().out.splitlines()
        assert heads.split() == ["CONNECTOR", "PARTITION", "OFFSET"]
        assert row.endswith('{"filename":"lines.txt"}  {"position":14}')

    def test_what_is_listed_can_be_written_back(
        self, worker: Worker, capsys: CapSys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CONNECTD_URL", worker.url)
        worker.says({"offsets": [LINES]})
        assert cli.main(["offsets", "list", "c", "--json"]) == 0
        saved = tmp_path / "saved"
        saved.write_text(capsys.readouterr().out)
        worker.says({"message": "The offsets for this connector have been altered successfully"})
        assert cli.main(["offsets", "alter", "c", "--from", str(saved)]) == 0
        assert worker.asked[-1] == ("PATCH", "/connectors/c/offsets", {"offsets": [LINES]})
        assert "altered successfully" in capsys.readouterr().out
        monkeypatch.setattr("sys.stdin", io.StringIO(saved.read_text()))
        assert cli.main(["offsets", "alter", "c", "--from", "-"]) == 0
        assert worker.asked[-1] == worker.asked[-2]

    @pytest.mark.parametrize("offset", ['{"position":3}', "null"])
    def test_one_offset_is_altered(self, worker: Worker, offset: str) -> None:
        arguments = ["offsets", "alter", "c", '{"filename":"a"}', offset, "--url", worker.url]
        assert cli.main(arguments) == 0
        entry = {"partition": {"filename": "a"}, "offset": json.loads(offset)}
        assert worker.asked == [("PATCH", "/connectors/c/offsets", {"offsets": [entry]})]

    def test_offsets_are_reset(self, worker: Worker) -> None:
        assert cli.main(["offsets", "reset", "c", "--url", worker.url]) == 0
        assert worker.asked == [("DELETE", "/connectors/c/offsets", None)]

    def test_offsets_of_one_table_are_listed_and_reset(
        self, worker: Worker, capsys: CapSys
    ) -> None:
        state = {"partition": {"table_name": "a"}, "offset": {"x": 1}}
        segment = {"partition": {"table_name": "a", "segment": 0}, "offset": {"x": 2}}
        other = {"partition": {"table_name": "b", "segment": 0}, "offset": {"x": 3}}
        worker.says({"offsets": [state, segment, other]})
        place = ["--url", worker.url]

        assert cli.main(["offsets", "list", "c", "--json", "--where", "segment=0", *place]) == 0
        assert json.loads(capsys.readouterr().out) == {"offsets": [segment, other]}

        assert cli.main(["offsets", "reset", "c", "--where", "table_name=a", *place]) == 0
        removed = [{**each, "offset": None} for each in (state, segment)]
        assert worker.asked[-1] == ("PATCH", "/connectors/c/offsets", {"offsets": removed})

        asked = len(worker.asked)
        assert cli.main(["offsets", "reset", "c", "--where", "table_name=A", *place]) == 1
        assert capsys.readouterr().err == "connectd: c has no offsets where table_name=A\n"
        assert [method for method, _, _ in worker.asked[asked:]] == ["GET"]

    @pytest.mark.parametrize("where", ["table_name", "=a", ""])
    def test_a_member_has_a_name_and_a_value(self, where: str, capsys: CapSys) -> None:
        with pytest.raises(SystemExit) as ended:
            cli.main(["offsets", "reset", "c", "--where", where])
        assert ended.value.code == 2
        assert "expected NAME=VALUE" in capsys.readouterr().err

    def test_a_refusal_is_told_in_the_workers_words(self, worker: Worker, capsys: CapSys) -> None:
        worker.says({"error_code": 400, "message": "Connectors must be in the STOPPED state"}, 400)
        assert cli.main(["offsets", "reset", "c", "--url", worker.url]) == 1
        assert capsys.readouterr().err == "connectd: Connectors must be in the STOPPED state\n"

    @pytest.mark.parametrize(("status", "answer"), [(502, b"<html>"), (200, b"<html>")])
    def test_something_else_that_answers_is_told(
        self, worker: Worker, capsys: CapSys, status: int, answer: bytes
    ) -> None:
        worker.status, worker.answer = status, answer
        assert cli.main(["offsets", "list", "c", "--url", worker.url]) == 1
        assert worker.url in capsys.readouterr().err

    def test_nobody_who_answers(self, capsys: CapSys) -> None:
        url = f"http://127.0.0.1:{free_ports(1)[0]}"
        assert cli.main(["offsets", "list", "c", "--url", url]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"connectd: no worker answers at {url}: ")

    def test_name_and_password_of_the_url_are_sent_and_not_shown(
        self, worker: Worker, capsys: CapSys
    ) -> None:
        url = worker.url.replace("http://", "http://me:planted%2Fsecret@")
        worker.says({"error_code": 404, "message": None}, 404)
        assert cli.main(["offsets", "list", "c", "--url", url]) == 1
        login = base64.b64encode(b"me:planted/secret").decode()
        assert worker.headers["Authorization"] == f"Basic {login}"
        assert "planted" not in capsys.readouterr().err

    @pytest.mark.parametrize(
        "url", ["localhost:8083", "ftp://me:planted@h", "http://", "http://h:x"]
    )
    def test_a_url_that_is_none(self, url: str, capsys: CapSys) -> None:
        assert cli.main(["offsets", "list", "c", "--url", url]) == 2
        told = capsys.readouterr().err
        assert "expected http://host:port" in told
        assert "planted" not in told


class TestInAFile:
    def test_all_connectors_are_listed(self, file: Path, capsys: CapSys) -> None:
        assert cli.main(["offsets", "list", "--file", str(file)]) == 0
        _, row = capsys.readouterr().out.splitlines()
        assert row.split() == ["copied", '{"filename":"lines.txt"}', '{"position":14}']
        assert cli.main(["offsets", "list", "--file", str(file), "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"copied": {"offsets": [LINES]}}
        assert file.read_bytes() == RECORDED.read_bytes()

    def test_one_offset_is_altered_and_all_else_stays(self, file: Path) -> None:
        partition, offset = '{"filename":"lines.txt"}', '{"position":4}'
        command = ["offsets", "alter", "copied", partition, offset, "--file", str(file)]
        assert cli.main(command) == 0
        assert java_serial.decode(file.read_bytes()) == {
            b'["copied",{"filename":"lines.txt"}]': b'{"position":4}',
            b'["reset",{"filename":"other.txt"}]': None,
        }

    def test_a_partition_is_found_in_whatever_order_its_members_are_given(self, file: Path) -> None:
        key = b'["c",{"b":1,"a":"x"}]'
        file.write_bytes(java_serial.encode({key: b'{"n":1}'}))
        command = ["offsets", "alter", "c", '{"a": "x", "b": 1}', '{"n":2}', "--file", str(file)]
        assert cli.main(command) == 0
        assert java_serial.decode(file.read_bytes()) == {key: b'{"n":2}'}

    def test_all_offsets_of_a_connector_are_reset(self, file: Path, capsys: CapSys) -> None:
        assert cli.main(["offsets", "reset", "copied", "--file", str(file)]) == 0
        assert java_serial.decode(file.read_bytes()) == {
            b'["reset",{"filename":"other.txt"}]': None
        }
        assert cli.main(["offsets", "reset", "copied", "--file", str(file)]) == 0
        assert "there are no offsets of copied" in capsys.readouterr().out

    def test_a_worker_that_runs_keeps_its_file(self, file: Path, capsys: CapSys) -> None:
        running = OffsetFile(file)
        running.open()
        try:
            assert cli.main(["offsets", "reset", "copied", "--file", str(file)]) == 2
        finally:
            running.close()
        assert "is in use by process" in capsys.readouterr().err
        assert file.read_bytes() == RECORDED.read_bytes()

    def test_a_missing_file_is_not_made(self, tmp_path: Path, capsys: CapSys) -> None:
        assert cli.main(["offsets", "list", "--file", str(tmp_path / "nope")]) == 2
        assert "there is no offset file" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["alter", "c"],
        ["alter", "c", '{"a":1}'],
        ["alter", "c", '{"a":1}', "{"],
        ["alter", "c", "1", '{"n":1}'],
        ["alter", "c", '{"a":1}', "2"],
        ["alter", "c", '{"a":1}', '{"n":1}', "--from", "x"],
        ["alter", "c", "--from", "/nope"],
    ],
)
def test_what_is_not_understood_reaches_nobody(
    arguments: list[str], worker: Worker, capsys: CapSys
) -> None:
    assert cli.main(["offsets", *arguments, "--url", worker.url]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert worker.asked == []


def test_values_that_no_offset_may_have_are_refused(file: Path, capsys: CapSys) -> None:
    command = ["offsets", "alter", "c", '{"a":[1]}', '{"n":1}', "--file", str(file)]
    assert cli.main(command) == 2
    assert "primitive" in capsys.readouterr().err
    assert file.read_bytes() == RECORDED.read_bytes()
