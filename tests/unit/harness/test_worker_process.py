"""What a worker process is given to read, and how its failure to start is reported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.harness.processes import HarnessError
from tests.harness.worker import WorkerProcess

SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/" else 404)
        self.end_headers()
        self.wfile.write(b'{"version":"1"}')
    def log_message(self, *_): pass
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


class ScriptedWorker(WorkerProcess):
    """Runs another program in the worker's place."""

    program = SERVER

    def command(self, home: Path) -> list[str]:
        return [sys.executable, "-c", self.program, str(self.rest_port)]


def test_the_properties_file_has_the_defaults_and_what_the_test_adds(tmp_path: Path) -> None:
    worker = ScriptedWorker(
        "broker:1",
        group_id="g",
        topics_prefix="x-",
        properties={"offset.flush.interval.ms": "50"},
        home=tmp_path,
    )
    with worker:
        lines = (tmp_path / "worker.properties").read_text().splitlines()
    assert "bootstrap.servers=broker:1" in lines
    assert "config.storage.topic=x-connect-configs" in lines
    assert "offset.flush.interval.ms=50" in lines
    assert len({line.split("=")[0] for line in lines}) == len(lines)


def test_answers_of_any_status_are_returned_and_a_killed_worker_starts_again_on_its_port(
    tmp_path: Path,
) -> None:
    with ScriptedWorker("broker:1", group_id="g", home=tmp_path) as worker:
        assert worker.request("GET", "/").body == {"version": "1"}
        assert worker.request("GET", "/nothing").status == 404
        first_pid = worker.pid
        worker.kill9()
        with pytest.raises(HarnessError, match="gave no answer to GET /"):
            worker.request("GET", "/")
        worker.start()
        assert worker.pid != first_pid
        assert worker.request("GET", "/").status == 200


def test_a_worker_that_ends_at_once_is_reported_with_its_log(tmp_path: Path) -> None:
    class Refuses(ScriptedWorker):
        program = "print('bootstrap.servers is missing'); raise SystemExit(2)"

    with (
        pytest.raises(HarnessError, match=r"(?s)exit code 2 while waiting.*servers is missing"),
        Refuses("broker:1", group_id="g", home=tmp_path),
    ):
        pytest.fail("a worker that ended counts as started")
