"""The offsets of a standalone worker in their file: whole at any moment, and nobody else's."""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from connectd.errors import ConfigError, RetriableError
from connectd.model.record import SourceOffset, SourcePartition
from connectd.stores import java_serial
from connectd.stores.file_offset import FileOffsetStore
from connectd.stores.file_offset_home import OffsetFile

RECORDED = Path(__file__).parent / "recorded" / "standalone.offsets"
LINES = SourcePartition.of({"filename": "lines.txt"})
OTHER = SourcePartition.of({"filename": "other.txt"})
DEADLINE_S = 30.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "offsets"


def use(
    path: Path,
    work: Callable[[FileOffsetStore], Awaitable[None]],
    *,
    write_deadline_s: float = DEADLINE_S,
) -> None:
    async def run() -> None:
        store = FileOffsetStore(path, write_deadline_s=write_deadline_s)
        await store.open()
        try:
            await work(store)
        finally:
            await store.close()

    asyncio.run(run())


def put(path: Path, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
    use(path, lambda store: store.put("c", offsets))


def content(path: Path) -> java_serial.JavaMap:
    return java_serial.decode(path.read_bytes())


class TestTheFileOfAJavaWorker:
    def test_is_taken_over(self, path: Path) -> None:
        path.write_bytes(RECORDED.read_bytes())

        async def work(store: FileOffsetStore) -> None:
            assert store.get("copied", LINES) == {"position": 14}
            assert store.all("copied") == {LINES: {"position": 14}}
            assert store.get("reset", OTHER) is None
            assert store.all("reset") == {}

        use(path, work)
        assert path.read_bytes() == RECORDED.read_bytes(), "reading changes nothing"

    def test_can_be_handed_back(self, path: Path) -> None:
        path.write_bytes(RECORDED.read_bytes())
        use(path, lambda store: store.put("copied", {LINES: {"position": 19}}))
        assert content(path) == {
            b'["copied",{"filename":"lines.txt"}]': b'{"position":19}',
            b'["reset",{"filename":"other.txt"}]': None,
        }

    def test_keeps_what_cannot_be_read(self, path: Path) -> None:
        strange: java_serial.JavaMap = {None: b"1", b"not json": b"{}", b'["c",{"a":1}]': b"[]"}
        path.write_bytes(java_serial.encode(strange))
        with capture_logs() as logs:
            put(path, {LINES: {"n": 1}})
        assert content(path) == {**strange, b'["c",{"filename":"lines.txt"}]': b'{"n":1}'}
        (warning,) = [line for line in logs if line["log_level"] == "warning"]
        assert warning["entries"] == 3

    @pytest.mark.parametrize("damage", [b"", b"\0", b"more"])
    def test_that_is_damaged_is_refused_and_left_alone(self, path: Path, damage: bytes) -> None:
        broken = RECORDED.read_bytes()[:-3] + damage
        path.write_bytes(broken)
        with pytest.raises(ConfigError, match=r"offsets is not the offset file .*: byte \d+: "):
            put(path, {LINES: {"n": 1}})
        assert path.read_bytes() == broken

    def test_that_is_empty_is_a_new_one_and_told(self, path: Path) -> None:
        path.touch()
        with capture_logs() as logs:
            put(path, {LINES: {"n": 1}})
        assert [line["event"] for line in logs if line["log_level"] == "warning"] == [
            "the offset file is empty: starting without positions"
        ]
        assert len(content(path)) == 1


class TestWriting:
    def test_what_was_put_is_there_for_the_next_worker(self, path: Path) -> None:
        put(path, {LINES: {"n": 1}, OTHER: {"n": 2}})
        put(path, {LINES: None})

        async def work(store: FileOffsetStore) -> None:
            assert store.all("c") == {OTHER: {"n": 2}}

        use(path, work)

    def test_a_put_returns_when_the_file_has_it(self, path: Path) -> None:
        async def work(store: FileOffsetStore) -> None:
            for number in range(3):
                await store.put("c", {LINES: {"n": number}})
                assert list(content(path).values()) == [b'{"n":%d}' % number]

        use(path, work)

    def test_puts_during_a_write_share_the_next_one(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written: list[int] = []
        gate = threading.Event()
        write = OffsetFile.write

        def slow(self: OffsetFile, entries: Mapping[bytes | None, bytes | None]) -> None:
            assert gate.wait(DEADLINE_S)
            written.append(len(entries))
            write(self, entries)

        monkeypatch.setattr(OffsetFile, "write", slow)

        async def work(store: FileOffsetStore) -> None:
            puts = [
                asyncio.ensure_future(store.put(f"c{number}", {LINES: {"n": number}}))
                for number in range(50)
            ]
            await asyncio.sleep(0)
            assert store.get("c49", LINES) == {"n": 49}, "seen before it is written"
            assert store.all("c49") == {LINES: {"n": 49}}
            gate.set()
            await asyncio.gather(*puts)

        use(path, work)
        assert written == [1, 50]

    def test_the_permissions_of_the_file_stay(self, path: Path) -> None:
        path.touch()
        path.chmod(0o640)
        put(path, {LINES: {"n": 1}})
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_a_link_stays_a_link(self, path: Path, tmp_path: Path) -> None:
        target = tmp_path / "elsewhere" / "offsets"
        target.parent.mkdir()
        path.symlink_to(target)
        put(path, {LINES: {"n": 1}})
        assert path.is_symlink()
        assert len(content(target)) == 1

    def test_nothing_is_left_beside_the_file_but_its_lock(self, path: Path) -> None:
        put(path, {LINES: {"n": 1}})
        assert sorted(each.name for each in path.parent.iterdir()) == ["offsets", "offsets.lock"]


class TestADiskThatFails:
    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_is_told_and_the_old_content_stays(
        self, path: Path, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(28, "No space left on device")

        async def work(store: FileOffsetStore) -> None:
            await store.put("c", {LINES: {"n": 1}})
            with monkeypatch.context() as broken:
                if step == "fsync":
                    broken.setattr(os, "fsync", refuse)
                else:
                    broken.setattr(Path, "replace", refuse)
                with pytest.raises(RetriableError, match="No space left on device"):
                    await store.put("c", {LINES: {"n": 2}, OTHER: {"n": 3}})
            assert store.all("c") == {LINES: {"n": 1}}, "what failed is not answered"
            assert list(content(path).values()) == [b'{"n":1}']
            assert sorted(each.name for each in path.parent.iterdir()) == [
                path.name,
                "offsets.lock",
            ]
            await store.put("c", {LINES: {"n": 4}})
            assert list(content(path).values()) == [b'{"n":4}'], "it works again by itself"

        use(path, work)

    def test_one_that_hangs_is_told_and_what_waited_is_withdrawn(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate = threading.Event()
        write = OffsetFile.write

        def hang(self: OffsetFile, entries: Mapping[bytes | None, bytes | None]) -> None:
            assert gate.wait(DEADLINE_S)
            write(self, entries)

        monkeypatch.setattr(OffsetFile, "write", hang)

        async def work(store: FileOffsetStore) -> None:
            late = await asyncio.gather(
                store.put("c", {LINES: {"n": 1}}),
                store.put("c", {LINES: {"n": 2}, OTHER: {"n": 3}}),
                return_exceptions=True,
            )
            assert [type(each) for each in late] == [RetriableError, RetriableError]
            assert store.all("c") == {LINES: {"n": 1}}, "on its way: cannot be called back"
            gate.set()

        use(path, work, write_deadline_s=0.05)
        assert list(content(path).values()) == [b'{"n":1}']


class TestOpening:
    def test_two_workers_do_not_share_a_file(self, path: Path) -> None:
        async def work(store: FileOffsetStore) -> None:
            second = FileOffsetStore(path, write_deadline_s=DEADLINE_S)
            with pytest.raises(ConfigError, match=f"in use by process {os.getpid()} "):
                await second.open()
            await second.close()

        use(path, work)
        use(path, lambda store: store.refresh())  # free again

    def test_a_killed_worker_leaves_no_lock(self, path: Path) -> None:
        program = (
            "import os, sys\n"
            "from connectd.stores.file_offset_home import OffsetFile\n"
            "OffsetFile(sys.argv[1]).open()\n"
            "os.kill(os.getpid(), 9)\n"
        )
        done = subprocess.run([sys.executable, "-c", program, str(path)], check=False, timeout=60)
        assert done.returncode == -9
        put(path, {LINES: {"n": 1}})

    def test_through_a_link_it_is_the_same_file(self, path: Path, tmp_path: Path) -> None:
        link = tmp_path / "link"
        path.touch()
        link.symlink_to(path)

        async def work(store: FileOffsetStore) -> None:
            second = FileOffsetStore(link, write_deadline_s=DEADLINE_S)
            with pytest.raises(ConfigError, match="in use"):
                await second.open()
            await second.close()

        use(path, work)

    @pytest.mark.parametrize("where", ["missing/offsets", "file/offsets", "directory"])
    def test_a_place_that_cannot_be_used_is_told_at_the_start(
        self, tmp_path: Path, where: str
    ) -> None:
        (tmp_path / "file").touch()
        (tmp_path / "directory").mkdir()
        with pytest.raises(ConfigError, match=r"offset\.storage\.file\.filename .* cannot be used"):
            put(tmp_path / where, {})

    def test_a_file_that_is_far_too_large_is_not_read(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("connectd.stores.file_offset_home.FILE_BYTES_MAX", 100)
        path.write_bytes(RECORDED.read_bytes())
        with pytest.raises(ConfigError, match="larger than 100 bytes"):
            put(path, {})
        lock = os.open(f"{path}.lock", os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody has it
        os.close(lock)
