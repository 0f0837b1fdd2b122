"""``connectd connectors apply`` and ``connectd health``: files, paths and odd workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from connectd import cli

CapSys = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[2]
COMMAND_DEADLINE_S = 60
"""Less than a worker is given for one answer where nothing is said: what waits for that fails."""


class Group(ThreadingHTTPServer):
    """A worker whose group has the connector ``old``; takes everything and remembers it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.writes: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Group

    def _answer(self, status: int, document: object) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        answers: dict[str, object] = {"/connectors": ["old"], "/connectd/health/live": {}}
        is_there = self.path in answers or self.path == "/health"
        self._answer(200 if is_there else 404, answers.get(self.path, {}))

    def do_PUT(self) -> None:
        self.server.writes.append(f"PUT {self.path}")
        self._answer(201, {})

    def do_DELETE(self) -> None:
        self.server.writes.append(f"DELETE {self.path}")
        self._answer(200, {})

    def log_message(self, *_: object) -> None:
        """Nothing: the output is the command's."""


@pytest.fixture
def group() -> Iterator[Group]:
    with Group() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "connectors"
    path.mkdir()
    (path / "a.json").write_text(json.dumps({"name": "a"}))
    return path


@pytest.fixture
def silent() -> Iterator[str]:
    """Something that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def run(*arguments: object) -> int:
    return cli.main(list(map(str, arguments)))


def apply(url: str, *arguments: object) -> int:
    return run("connectors", "apply", "--url", url, "--deadline", 60, *arguments)


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "connectd", *map(str, arguments)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=COMMAND_DEADLINE_S,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("other", ["b.yaml", "b.json.bak", "README", "more/"])
@pytest.mark.parametrize("more", [(), ("--delete-unlisted",)])
def test_nothing_is_done_where_a_directory_has_something_else(
    group: Group, directory: Path, other: str, more: tuple[str, ...], capsys: CapSys
) -> None:
    path = directory / other
    path.mkdir() if other.endswith("/") else path.write_text("name: b")

    assert apply(group.url, *more, directory) == 2
    assert group.writes == []
    told = capsys.readouterr().err
    assert f"has {path.name}, expected only files of connectors" in told
    assert "nothing is changed" in told


def test_suffixes_may_be_large_and_hidden_files_are_left_alone(
    group: Group, directory: Path
) -> None:
    (directory / "B.JSON").write_text(json.dumps({"name": "b"}))
    (directory / "c.Properties").write_text("name=c\n")
    (directory / "..data").mkdir()
    (directory / ".swp").write_text("")

    assert apply(group.url, "--delete-unlisted", directory) == 0
    assert sorted(group.writes) == [
        "DELETE /connectors/old", *(f"PUT /connectors/{name}/config" for name in "abc"),
    ]  # fmt: skip


def test_an_empty_directory_beside_others_deletes_nothing(
    group: Group, directory: Path, tmp_path: Path, capsys: CapSys
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert apply(group.url, "--delete-unlisted", directory, empty) == 2
    assert group.writes == []
    assert "empty has no file of a connector" in capsys.readouterr().err
    assert apply(group.url, directory, empty) == 0


@pytest.mark.parametrize("more", [(), ("--delete-unlisted",)])
def test_a_file_that_cannot_be_used_does_not_keep_the_others_away(
    group: Group, directory: Path, more: tuple[str, ...], capsys: CapSys
) -> None:
    (directory / "bad.json").write_text("{")
    (directory / "c.json").write_text(json.dumps({"name": "twice"}))
    (directory / "d.properties").write_text("name=twice\n")

    assert apply(group.url, *more, directory) == 2
    assert group.writes == ["PUT /connectors/a/config"]
    told = capsys.readouterr()
    assert told.out == "a: created\nold: kept, though no file has it\n"
    assert "bad.json' is not JSON" in told.err
    assert "d.properties are about the same connector, twice" in told.err
    assert ("nothing is deleted" in told.err) == bool(more)


def test_where_no_file_can_be_used_nobody_is_asked(silent: str, directory: Path) -> None:
    (directory / "a.json").write_text("{")
    assert apply(silent, directory) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("connectors", "apply", "--deadline", "0.5", "FILE"),
        ("health", "--wait", "0.5"),
    ],
)
def test_one_who_never_answers_is_given_no_more_than_the_deadline(
    silent: str, directory: Path, arguments: tuple[str, ...]
) -> None:
    given = [str(directory) if each == "FILE" else each for each in arguments]
    ended = command(*given, "--url", silent)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr


def test_a_command_that_waits_ends_at_once_when_it_is_asked_to(directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(COMMAND_DEADLINE_S)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-m", "connectd", "connectors", "apply", "--url", url, directory],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process, listener.accept()[0]:
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=COMMAND_DEADLINE_S)
    assert (process.returncode, told) == (2, "")


def test_who_does_not_speak_http_is_no_worker(capsys: CapSys) -> None:
    def speak(listener: socket.socket) -> None:
        with listener.accept()[0] as call:
            call.recv(65536)
            call.sendall(b"SSH-2.0-x\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=speak, args=(listener,))
        thread.start()
        assert run("health", "--url", f"http://127.0.0.1:{listener.getsockname()[1]}") == 1
        thread.join()
    assert "what listens there does not speak HTTP" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--path", "health"),
        ("--path", "/a b"),
        ("--path", "/ü"),
        ("--wait", "nan"),
        ("--wait", "-1"),
        ("--wait", "inf"),
        ("--url", "http://localhost:8083/a b"),
        ("--url", "http://local host:8083"),
        ("--url", "http://ä..b:8083"),
    ],
)
def test_what_no_worker_could_be_asked_is_a_mistake(
    arguments: tuple[str, ...], capsys: CapSys
) -> None:
    try:
        code = run("health", *arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    assert "expected" in (told := capsys.readouterr().err) or "is not a number" in told


@pytest.mark.parametrize("deadline", ["nan", "-1", "many"])
def test_a_deadline_is_a_number_of_seconds(deadline: str, directory: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        run("connectors", "apply", "--deadline", deadline, directory)


def test_a_worker_of_this_machine_is_not_asked_through_a_proxy(
    group: Group, monkeypatch: pytest.MonkeyPatch, capsys: CapSys
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://u:hunter2@127.0.0.1:9")

    assert run("health", "--url", group.url) == 0
    assert run("health", "--url", "http://worker.example:8083") == 1
    told = capsys.readouterr().err
    assert "no worker answers at http://worker.example:8083 through the proxy of http_proxy" in told
    assert "hunter2" not in told


@pytest.mark.parametrize("arguments", [("health",), ("connectors", "apply", "DIRECTORY")])
def test_a_verdict_counts_though_nobody_reads_it(
    group: Group, directory: Path, arguments: tuple[str, ...]
) -> None:
    given = " ".join(str(directory) if each == "DIRECTORY" else each for each in arguments)
    for end, code in (("| true; exit ${PIPESTATUS[0]}", 0), ("> /dev/full", 1)):
        done = subprocess.run(
            ["bash", "-c", f"$PYTHON -m connectd {given} --url {group.url} {end}"],
            cwd=ROOT,
            text=True,
            capture_output=True,
            timeout=COMMAND_DEADLINE_S,
            check=False,
            env={**os.environ, "PYTHON": sys.executable},
        )
        assert done.returncode == code, done
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
