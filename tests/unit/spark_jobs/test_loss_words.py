"""Losses of chunks in our words."""

from __future__ import annotations

from spark_jobs import loss_words

CRASHED = (
    "Job aborted due to stage failure: Task 0 in stage 4.0 failed 1 times, most recent failure: "
    "Lost task 0.0 in stage 4.0 (TID 4) (127.0.0.1 executor driver): "
    "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). "
    "Consider setting 'spark.sql.execution.pyspark.udf.faulthandler.enabled' or "
    "'spark.python.worker.faulthandler.enabled' configuration to 'true' for the better Python "
    "traceback."
)


def test_a_python_worker_that_has_ended_is_named_with_its_segment() -> None:
    assert loss_words.told(CRASHED, 7) == (
        "a Python worker of segment 7 has ended, and its chunk is done again "
        "(Spark: Python worker exited unexpectedly (crashed))"
    )


def test_an_executor_that_is_lost_is_told_from_it() -> None:
    text = (
        "Job aborted due to stage failure: Lost task 0.0 in stage 1.0 (TID 1) (10.0.0.1 executor "
        "2): ExecutorLostFailure (executor 2 exited caused by one of the running tasks) Reason: "
        "Command exited with code 137; Consider boosting spark.executor.memoryOverhead"
    )
    found = loss_words.told(text, 0)
    assert found.startswith("the executor of segment 0 is lost, and its chunk is done again (Spark")
    assert "code 137" in found
    assert "Consider" not in found


def test_everything_else_is_spark_s_to_say_but_for_its_advice() -> None:
    assert loss_words.told("ModuleNotFoundError: No module named 'boto3'", 1) == (
        "ModuleNotFoundError: No module named 'boto3'"
    )
    assert loss_words.told("It failed. Consider setting 'x' to 'y'", 1) == "It failed"
