"""Drivers as real child processes: what they tell, and that they end. Spark itself is a script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from connectd.aws.settings import AwsSettings
from connectd.configdef.spark_settings import SparkSettings
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.scan_reports import (
    Failed,
    Finished,
    ScanReport,
    SegmentMoved,
    Started,
)
from connectd.connectors.dynamodb.spark_driver import SparkSubmit
from connectd.connectors.dynamodb.spark_engine import ScanDriver
from connectd.errors import ConfigError, RetriableError
from tests.fakes import spark_submit
from tests.kit.scan_jobs import a_job

STARTED = Started("4.3.0", "local[2]", 2)

Submit = Callable[..., SparkSubmit]


@pytest.fixture
def submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submit:
    """Makes starters of drivers that behave as named."""
    private = tmp_path / "tmp"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    program = spark_submit.install(tmp_path)

    def make(behaviour: str, *, grace_s: float = 30.0, **settings: Any) -> SparkSubmit:
        given = SparkSettings(submit_command=program, master=behaviour, **settings)
        return SparkSubmit(given, grace_s=grace_s, asked_grace_s=grace_s)

    return make


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 50))


async def heard(submit: SparkSubmit, job: ScanJob | None = None) -> tuple[list[ScanReport], Any]:
    """All reports, the exit code and the tail of a driver that ends by itself."""
    async with submit.start(job or a_job()) as driver:
        reports = [report async for report in driver.reports()]
        return reports, (await driver.wait(), driver.tail())


async def first_of(driver: ScanDriver) -> ScanReport:
    async for report in driver.reports():
        return report
    raise AssertionError(f"the driver tells nothing: {driver.tail()}")


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def files_left(tmp_path: Path) -> list[str]:
    return [each.name for each in (tmp_path / "tmp").iterdir()]


def test_a_good_driver_is_heard_to_its_end(submit: Submit, tmp_path: Path) -> None:
    async def scenario() -> None:
        reports, (code, tail) = await heard(submit("finishes"))
        assert reports[0] == STARTED
        assert [each.position.segment for each in reports if isinstance(each, SegmentMoved)] == [
            0,
            1,
            2,
        ]
        assert reports[-1] == Finished()
        assert code == 0
        assert sorted(tail) == ["26/11/28 WARN something else", "Picked up something"]

    run(scenario())
    assert files_left(tmp_path) == []


def test_a_driver_that_dies_has_told_what_it_has_told(submit: Submit) -> None:
    async def scenario() -> None:
        reports, (code, _) = await heard(submit("dies"))
        assert len(reports) == 2
        assert code == -9

    run(scenario())


def test_a_flood_of_log_text_hides_no_report_and_only_its_end_is_kept(submit: Submit) -> None:
    async def scenario() -> None:
        reports, (_, tail) = await heard(submit("floods"))
        assert len(reports) == 5
        assert len(tail) == 50

    run(scenario())


def test_lines_that_only_look_like_reports_are_log_text(submit: Submit) -> None:
    async def scenario() -> None:
        reports, (_, tail) = await heard(submit("tells-nonsense"))
        assert reports == [Finished()]
        assert tail[:3] == [
            '{"connectd":"segment","segment":0',
            '{"connectd":"dances"}',
            '{"connectd":',
        ]
        assert tail[3].startswith('{"connectd":"started","spark":"zzz')

    run(scenario())


def test_a_driver_that_says_why_is_quoted_without_secrets(submit: Submit) -> None:
    async def scenario() -> None:
        reports, (code, tail) = await heard(submit("says-why"))
        assert reports == [Failed("Kafka refuses", retriable=False)]
        assert code == 3
        assert tail == ["password=[hidden] is wrong"]

    run(scenario())


def test_the_last_lines_of_a_driver_that_dies_are_heard_whole(submit: Submit) -> None:
    async def scenario() -> None:
        reports, (code, tail) = await heard(submit("dies-talking"))
        assert (reports, code) == ([STARTED], 1)
        assert len(tail) == 50
        assert "SystemError: no more" in tail[-40:]
        assert tail[-1] == "OutOfMemoryError: Java heap space"

    run(scenario())


def test_a_line_that_has_begun_is_told_of_a_driver_that_hangs(submit: Submit) -> None:
    async def scenario() -> None:
        async with submit("stops-in-a-word").start(a_job()) as driver:
            assert await first_of(driver) == STARTED
            for _ in range(3_000):
                if len(driver.tail()) == 2:
                    break
                await asyncio.sleep(0.01)
            assert driver.tail() == ["waiting for an an", "password of the key store: "]

    run(scenario())


def test_files_are_there_for_the_driver_and_gone_once_it_has_started(
    submit: Submit, tmp_path: Path
) -> None:
    async def scenario() -> None:
        aws = AwsSettings("eu-west-1", access_key_id="AKIA", secret_access_key="hush")
        conf = {"spark.authenticate.secret": "of-spark"}
        reports, (_, tail) = await heard(submit("shows-itself", conf=conf), a_job(aws=aws))
        assert reports == [STARTED, Finished()]
        assert tail[:2] == ["conf of 1 settings", "job orders"]
        arguments = tail[2]
        assert "of-spark" not in arguments
        assert "hush" not in arguments
        assert tail[3:] == ["secret hush", "files are gone"]

    run(scenario())
    assert files_left(tmp_path) == []


def test_leaving_a_driver_that_hangs_ends_it(submit: Submit, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with submit("hangs").start(a_job()) as driver:
            assert await first_of(driver) == STARTED
        assert await driver.wait() == -15

    run(scenario())
    assert files_left(tmp_path) == []


def test_nothing_is_left_of_a_driver_that_ignores_its_end(submit: Submit) -> None:
    async def scenario() -> None:
        async with submit("ignores-sigterm", grace_s=0.2).start(a_job()) as driver:
            assert await first_of(driver) == STARTED
            (line,) = [each for each in driver.tail() if each.startswith("pids")]
            pids = [int(each) for each in line.split()[1:]]
            assert all(is_alive(pid) for pid in pids)
            driver.ask_to_end()
            assert [each async for each in driver.reports()] == []
            assert await driver.wait() == -9
        for _ in range(3_000):
            if not any(is_alive(pid) for pid in pids):
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"one of {pids} lives")

    run(scenario())


def test_a_spark_submit_that_cannot_run_says_so(tmp_path: Path) -> None:
    broken = tmp_path / "spark-submit"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    starter = SparkSubmit(SparkSettings(submit_command=str(broken)))

    async def scenario() -> None:
        assert await starter.problem() == ""
        async with starter.start(a_job()) as driver:
            assert [each async for each in driver.reports()] == []
            code = await driver.wait()
            why = starter.verdict(code, driver.tail())
        assert code == 127
        assert "spark-submit cannot be started: No such file or directory" in str(why)

    run(scenario())


def test_a_spark_submit_that_is_not_there_is_a_matter_of_configuration() -> None:
    starter = SparkSubmit(SparkSettings(submit_command="/nowhere/spark-submit"))

    async def scenario() -> None:
        problem = await starter.problem()
        assert problem.startswith("spark.submit.command is /nowhere/spark-submit")
        async with starter.start(a_job()):
            raise AssertionError("it was started")

    with pytest.raises(ConfigError):
        run(scenario())


def test_a_java_that_is_too_old_is_in_the_way(tmp_path: Path) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'version \"11.0.1\"' >&2\n")
    java.chmod(0o755)
    program = spark_submit.install(tmp_path)
    settings = SparkSettings(submit_command=program, java_home=str(tmp_path / "jdk"))

    async def scenario() -> None:
        assert "is too old, it is Java 11" in await SparkSubmit(settings).problem()

    run(scenario())


def test_a_directory_is_no_spark_submit(tmp_path: Path) -> None:
    async def scenario() -> None:
        problem = await SparkSubmit(SparkSettings(submit_command=str(tmp_path))).problem()
        assert problem.startswith(f"spark.submit.command is {tmp_path}, expected the path of a")

    run(scenario())


def test_a_master_that_refuses_is_told_before_anything_is_started(
    submit: Submit, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with submit("spark://127.0.0.1:1").start(a_job()):
            raise AssertionError("it was started")

    with pytest.raises(
        RetriableError,
        match=r"cannot be reached \(spark.master is spark://127.0.0.1:1\): 127.0.0.1:1: Connection",
    ):
        run(scenario())
    assert files_left(tmp_path) == []
