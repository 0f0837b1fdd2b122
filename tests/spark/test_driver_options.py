"""Options of the driver's JVM reach it, and no command line; a real spark-submit shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from connectd.configdef.spark_settings import SparkSettings
from connectd.connectors.dynamodb import spark_command
from tests.kit.scan_jobs import a_job
from tests.spark.scan_rig import SPARK_ENV

pytestmark = pytest.mark.timeout(300)

DEADLINE_S = 120.0

SHOWS_WHAT_IT_GOT = """
import json, os
from pathlib import Path
from pyspark import SparkContext

SparkContext._ensure_initialized()
got = [SparkContext._jvm.java.lang.System.getProperty(name) for name in ("db.pwd", "words", "own")]
line = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().decode().split("\\0")
print("GOT " + json.dumps([got, line]))
"""


def test_options_of_the_drivers_jvm_reach_it_and_no_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / 'a "private" place'
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    script = tmp_path / "shows.py"
    script.write_text(SHOWS_WHAT_IT_GOT, encoding="utf-8")
    own = tmp_path / "own.options"
    own.write_text("-Down=the-users -Dwords=overruled\n", encoding="utf-8")
    conf = {
        "spark.driver.defaultJavaOptions": "-Ddb.pwd=the-default -Dmy.credential=hush-hush",
        "spark.driver.extraJavaOptions": (
            f"-Ddb.pwd=hunter2 @{own} -Dwords='two words, \"quoted\"\\ and all'"
        ),
        "spark.driver.memory": "256m",
    }
    settings = SparkSettings(master="local[1]", conf=conf)
    with spark_command.write_files(a_job(), settings) as owned:
        parts = spark_command.find_parts(SparkSettings(java_home=SPARK_ENV["JAVA_HOME"]), {})
        command = spark_command.command(
            spark_command.SparkParts(parts.submit, str(script)),
            settings,
            a_job(),
            owned.path,
            SPARK_ENV,
        )
        done = subprocess.run(
            command.argv,
            env={"PATH": "/usr/bin:/bin", **command.env, "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("GOT ")] or [
        pytest.fail(done.stderr[-3000:])
    ]
    got, line = json.loads(said.removeprefix("GOT "))
    assert got == ["hunter2", 'two words, "quoted"\\ and all', "the-users"]
    assert "org.apache.spark.deploy.SparkSubmit" in line, "it is the JVM's"
    assert not any(secret in " ".join(line) for secret in ("hunter2", "hush-hush", "the-default"))
