"""The files of a comparison on Spark, which hold passwords."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from connectd.aio.child_process import ChildCommand
from connectd.app.reconcile_on_spark import SparkLook
from connectd.connectors.dynamodb import scan_reports
from connectd.connectors.dynamodb.scan_reports import Finished, Started

DRIVER = """
import sys
sys.stdout.write(sys.argv[1])
sys.stdout.flush()
"""


def test_they_are_removed_once_the_driver_has_started(tmp_path: Path) -> None:
    for name in ("job.json", "reconcile.json", "spark.properties"):
        (tmp_path / name).write_text("a password")
    lines = "".join(
        scan_reports.to_line(each) for each in (Started("4.0", "local[*]", 2), Finished())
    )
    unused: Any = None
    heard: list[str] = []

    look = SparkLook(unused, unused, {})
    command = ChildCommand((sys.executable, "-c", DRIVER, lines), {})
    asyncio.run(look._run(command, tmp_path, heard.append))

    assert heard == ["Spark 4.0 (local[*]) compares"]
    assert list(tmp_path.iterdir()) == []
