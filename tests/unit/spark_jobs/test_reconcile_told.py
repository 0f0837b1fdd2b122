"""What is told of a comparison on Spark that has failed."""

from __future__ import annotations

import pytest

from spark_jobs import reconcile

WORKER = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed 1 times
Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
connectd.errors.AccessDeniedError: scanning table orders: dynamodb:Scan is not allowed

\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:1)
"""


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(WORKER), "scanning table orders: dynamodb:Scan is not allowed"),
        (OSError("no disk\nand more"), "no disk"),
        (OSError(), "OSError"),
    ],
)
def test_the_words_of_the_worker_come_first(error: Exception, text: str) -> None:
    assert reconcile._told(error) == text
