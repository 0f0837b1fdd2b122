"""The command that starts a scan on Spark: its parts, its environment, its files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from connectd.aio.child_process import ChildCommand
from connectd.aws.settings import AwsSettings
from connectd.configdef import properties
from connectd.configdef.spark_settings import SparkSettings
from connectd.connectors.dynamodb import scan_job, spark_command
from connectd.connectors.dynamodb.spark_command import SparkParts
from connectd.errors import ConfigError, FatalTaskError, RetriableError
from tests.kit.scan_jobs import a_job

SECRET = "an-ordinary-secret"


def executable(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def command_of(
    directory: Path,
    settings: SparkSettings | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    aws: AwsSettings | None = None,
) -> ChildCommand:
    return spark_command.command(
        SparkParts("/bin/spark-submit", "/jobs/initial_scan.py"),
        settings or SparkSettings(),
        a_job(aws=aws or AwsSettings("eu-west-1")),
        directory,
        environ or {},
    )


@pytest.fixture(autouse=True)
def private_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of a job come here."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    return directory


# -- parts -------------------------------------------------------------------------------------


def test_the_spark_submit_beside_python_is_taken_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    java = executable(tmp_path / "bin" / "java")
    on_path = executable(tmp_path / "bin" / "spark-submit")
    environ = {"PATH": str(tmp_path / "bin")}
    assert spark_command.find_parts(SparkSettings(), environ).submit == on_path
    beside = executable(tmp_path / "venv" / "spark-submit")
    parts = spark_command.find_parts(SparkSettings(), environ)
    assert parts.submit == beside
    assert parts.script.endswith("spark_jobs/initial_scan.py")
    Path(java).unlink()
    with pytest.raises(ConfigError, match=r"no Java was found; install Java 17"):
        spark_command.find_parts(SparkSettings(), environ)


def test_a_machine_without_spark_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(ConfigError, match=r"pip install 'connectd\[spark\]'"):
        spark_command.find_parts(SparkSettings(), {"PATH": str(tmp_path)})


def test_java_is_where_somebody_says_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    executable(tmp_path / "spark-submit")
    executable(tmp_path / "jdk" / "bin" / "java")
    good = {"PATH": "", "JAVA_HOME": str(tmp_path / "jdk")}
    spark_command.find_parts(SparkSettings(), good)
    spark_command.find_parts(SparkSettings(java_home=str(tmp_path / "jdk")), {"PATH": ""})
    with pytest.raises(ConfigError, match="there is no Java in /nowhere"):
        spark_command.find_parts(SparkSettings(java_home="/nowhere"), good)


def test_a_spark_submit_that_is_named_is_the_one_or_an_error(tmp_path: Path) -> None:
    named = executable(tmp_path / "spark" / "bin" / "spark-submit")
    parts = spark_command.find_parts(SparkSettings(submit_command=named), {})
    assert parts.submit == named
    with pytest.raises(ConfigError, match=r"spark.submit.command is /nowhere"):
        spark_command.find_parts(SparkSettings(submit_command="/nowhere"), {})


# -- the command -------------------------------------------------------------------------------


def test_the_command_names_master_script_and_table() -> None:
    found = command_of(Path("/files"), SparkSettings(master="spark://m:7077"))
    assert found.argv == (
        "/bin/spark-submit",
        *("--master", "spark://m:7077", "--deploy-mode", "client"),
        *("--name", "connectd-copy-orders"),
        "/jobs/initial_scan.py",
    )


def test_settings_of_spark_go_by_a_file_and_add_to_those_of_the_installation() -> None:
    settings = SparkSettings(conf={"spark.authenticate.secret": SECRET})
    found = command_of(Path("/files"), settings)
    assert "--properties-file" in found.argv
    assert "--load-spark-defaults" in found.argv
    assert SECRET not in " ".join(found.argv)


def test_aws_keys_of_the_connector_replace_all_others_in_the_environment_alone() -> None:
    environ = {
        "AWS_PROFILE": "mine",
        "AWS_SESSION_TOKEN": "of somebody else",
        "AWS_REGION": "eu-north-1",
    }
    aws = AwsSettings("eu-west-1", access_key_id="AKIA", secret_access_key=SECRET)
    found = command_of(Path("/files"), environ=environ, aws=aws)
    assert {name: each for name, each in found.env.items() if name.startswith("AWS_")} == {
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "eu-north-1",
    }
    assert SECRET not in " ".join(found.argv)


def test_without_keys_of_its_own_the_environment_finds_them() -> None:
    found = command_of(Path("/files"), environ={"AWS_PROFILE": "mine"})
    assert found.env["AWS_PROFILE"] == "mine"


def test_variables_of_the_worker_stay_with_the_worker() -> None:
    found = command_of(Path("/files"), environ={"CONNECT_SASL_JAAS_CONFIG": SECRET, "HOME": "/h"})
    assert SECRET not in found.env.values()
    assert found.env["HOME"] == "/h"


def test_the_driver_runs_this_python_and_this_code() -> None:
    local = command_of(Path("/files"), environ={"PYTHONPATH": "/more"})
    assert local.env["PYSPARK_DRIVER_PYTHON"] == local.env["PYSPARK_PYTHON"] == sys.executable
    root = str(Path(spark_command.__file__).parents[3])
    assert local.env["PYTHONPATH"] == f"{root}:/more"
    remote = command_of(Path("/files"), SparkSettings(master="yarn"))
    assert "PYSPARK_PYTHON" not in remote.env, "executors have a Python of their own"


def test_a_python_that_the_user_has_chosen_stays() -> None:
    found = command_of(Path("/files"), environ={"PYSPARK_PYTHON": "/opt/python"})
    assert found.env["PYSPARK_PYTHON"] == "/opt/python"


def test_the_driver_knows_its_job_and_its_java() -> None:
    found = command_of(Path("/files"), SparkSettings(java_home="/jdk"))
    assert found.env[scan_job.JOB_ENV] == "/files/job.json"
    assert found.env["JAVA_HOME"] == "/jdk"


def test_what_the_driver_writes_stays_in_its_private_directory() -> None:
    found = command_of(Path("/files"))
    assert found.env["TMPDIR"] == "/files/tmp"
    assert found.env["SPARK_SUBMIT_OPTS"] == '-Djava.io.tmpdir="/files/tmp"'
    environ = {"SPARK_SUBMIT_OPTS": "-Dmine=1", "SPARK_LOCAL_DIRS": "/fast", "TMPDIR": "/slow"}
    found = command_of(Path("/files"), environ=environ)
    assert found.env["SPARK_SUBMIT_OPTS"] == '-Djava.io.tmpdir="/files/tmp" -Dmine=1'
    assert found.env["SPARK_LOCAL_DIRS"] == "/fast", "the user's choice"


# -- files -------------------------------------------------------------------------------------


def test_files_are_for_their_owner_alone_and_can_be_read_back(private_tmp: Path) -> None:
    conf = {"spark.a": "x = #y\\z", "spark.b": "zwölf\nlines"}
    job = a_job()
    owned = spark_command.write_files(job, SparkSettings(conf=conf))
    directory = owned.path
    assert directory.parent == private_tmp
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()}
    assert modes == {"job.json": 0o600, "spark.properties": 0o600, "tmp": 0o700}
    assert scan_job.ScanJob.from_json((directory / "job.json").read_bytes()) == job
    assert properties.load(directory / "spark.properties") == conf
    owned.remove()
    owned.remove()
    assert list(private_tmp.iterdir()) == []


def test_options_of_the_drivers_jvm_are_files_too_and_no_setting_has_them() -> None:
    conf = {"spark.driver.extraJavaOptions": f"-Dauth={SECRET} @/own", "spark.a": "b"}
    with spark_command.write_files(a_job(), SparkSettings(conf=conf)) as owned:
        made = owned.path / "spark.driver.extraJavaOptions-0"
        assert stat.S_IMODE(made.stat().st_mode) == 0o600
        assert made.read_text() == f'"-Dauth={SECRET}"\n'
        assert properties.load(owned.path / "spark.properties") == {
            "spark.driver.extraJavaOptions": f'"@{made}" "@/own"',
            "spark.a": "b",
        }


def test_a_job_that_was_read_is_removed_before_what_the_driver_writes() -> None:
    owned = spark_command.write_files(a_job(), SparkSettings(conf={"spark.a": "b"}))
    directory = owned.path
    (directory / "tmp" / "spark-1").mkdir()
    spark_command.remove_job(directory)
    assert [each.name for each in directory.iterdir()] == ["tmp"]
    assert (directory / "tmp" / "spark-1").is_dir()
    owned.remove()
    assert not directory.exists()


def test_what_a_killed_worker_has_left_is_removed_and_nothing_of_one_that_lives(
    private_tmp: Path,
) -> None:
    (private_tmp / f"connectd-scan-{os.getpid()}-left").mkdir()  # its number is another's by now
    (private_tmp / "connectd-scan-1-left" / "tmp").mkdir(parents=True)
    (private_tmp / "else").mkdir()
    owned = spark_command.write_files(a_job(), SparkSettings())
    mine = owned.path
    program = "import sys, time; sys.path.insert(0, sys.argv[1])\n" + (
        "from connectd.aio.owned_directory import OwnedDirectory\n"
        "owned = OwnedDirectory('connectd-scan-4711-', sys.argv[2])\n"
        "print(owned.path, flush=True)\n"
        "time.sleep(600)\n"
    )
    root = str(Path(spark_command.__file__).parents[3])
    with subprocess.Popen(
        [sys.executable, "-c", program, root, str(private_tmp)], stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout is not None
            theirs = Path(other.stdout.readline().strip())
            spark_command.remove_stale_files(private_tmp)
            # Its number is that of no process here, as from another container.
            assert set(private_tmp.iterdir()) == {mine, theirs, private_tmp / "else"}
        finally:
            other.kill()
    spark_command.remove_stale_files(private_tmp)
    assert set(private_tmp.iterdir()) == {mine, private_tmp / "else"}
    owned.remove()


# -- the end -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "tail", "kind", "says"),
    [
        (1, ["JAVA_HOME is not set"], FatalTaskError, "exit code 1: no Java was found"),
        (1, ["ModuleNotFoundError: No module named 'connectd'"], FatalTaskError, "no connectd"),
        (1, ["E All masters are unresponsive!", "x"], RetriableError, "cannot be reached"),
        (-9, ["the last line"], RetriableError, "was ended by signal 9: the last line"),
        (2, [], RetriableError, "has ended with exit code 2"),
        (
            1,
            ["/opt/bin/spark-class: line 97: CMD: bad array subscript"],
            FatalTaskError,
            "exit code 1: the Java that was found does not run Spark's launcher",
        ),
        (
            1,
            [
                'Exception in thread "main" java.io.IOException: Cannot run program "/nope/py": '
                "error=2, No such file or directory",
                "\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1143)",
                "Caused by: java.io.IOException: error=2, No such file or directory",
                "\t... 15 more",
            ],
            FatalTaskError,
            'Cannot run program "/nope/py"',
        ),
        (
            1,
            ['java.io.IOException: Cannot run program "python3": error=12, Cannot allocate memory'],
            RetriableError,
            "Cannot allocate memory",
        ),
        (
            1,
            [
                'Exception in thread "main" org.apache.spark.SparkException: Master must either be '
                "yarn or start with spark, k8s, or local",
                "\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)",
            ],
            FatalTaskError,
            "exit code 1: spark.master is not one that Spark knows",
        ),
    ],
)
def test_an_end_without_a_word_is_understood_by_the_last_lines(
    code: int, tail: list[str], kind: type[Exception], says: str
) -> None:
    error = spark_command.verdict(code, tail, SparkSettings())
    assert isinstance(error, kind)
    assert says in str(error)


@pytest.mark.parametrize(
    ("conf", "line", "kind", "says"),
    [
        (
            {"spark.task.cpus": "4"},
            "The number of cores per executor (=2) has to be >= the number of cpus per task = 4.",
            FatalTaskError,
            "no executor has the cores of one task",
        ),
        (
            {"spark.log.level": "NOPE"},
            '[INVALID_CONF_VALUE.REQUIREMENT] The value in the config "spark.log.level" is',
            FatalTaskError,
            "Spark refuses one of its settings",
        ),
        (
            {"spark.driver.memory": "300m"},
            "[INVALID_DRIVER_MEMORY.SYSTEM_MEMORY] Insufficient driver memory: increase heap size "
            'using "spark.driver.memory" in Spark configuration.',
            FatalTaskError,
            "Spark refuses one of its settings",
        ),
        (
            {"spark.plugins": "com.acme.Fine,no.such.Plugin"},
            "java.lang.ClassNotFoundException: no.such.Plugin",
            FatalTaskError,
            "a class that a setting names is not on Spark's class path",
        ),
        (
            {"spark.local.dir": "/proc/nowhere"},
            "java.io.IOException: Failed to create a temp directory (under /proc/nowhere) after 10",
            FatalTaskError,
            "Spark cannot write where it is to",
        ),
        (
            {"spark.eventLog.dir": "/proc/nowhere"},
            "java.io.FileNotFoundException: File file:/proc/nowhere does not exist",
            FatalTaskError,
            "a file that a setting names is missing",
        ),
        (
            {"spark.driver.memory": "10m"},
            'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space',
            RetriableError,
            "the driver's JVM has too little memory",
        ),
        (
            {"spark.whatever": "peculiar"},
            "java.lang.IllegalStateException: what is a peculiar thing",
            RetriableError,
            "IllegalStateException: what is a peculiar thing",
        ),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    conf: dict[str, str], line: str, kind: type[Exception], says: str
) -> None:
    settings = SparkSettings(conf={"spark.ui.enabled": "true", **conf})
    error = spark_command.verdict(1, ["26/11/28 WARN Utils: all is true", line], settings)
    assert type(error) is kind
    assert says in str(error)
    assert str(error).endswith(f"; look at spark.conf.{next(iter(conf))}")
