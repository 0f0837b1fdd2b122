"""The reason among a driver's last lines."""

from __future__ import annotations

import pytest

from connectd.connectors.dynamodb import driver_words

FRAME = "\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)"
LOG_LEVEL = 'Setting Spark log level to "WARN".'


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], ""),
        ([LOG_LEVEL], ""),
        ([LOG_LEVEL, "the last line", "", FRAME, "\t... 15 more"], "the last line"),
        (
            [
                "26/11/28 11:42:07 WARN Utils: an error that is only a warning",
                "java.lang.IllegalStateException: of the stack behind a warning",
                FRAME,
                'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space',
                FRAME,
                "Caused by: java.io.IOException: something deeper",
                "\t... 15 more",
            ],
            'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space',
        ),
        (
            [
                "Traceback (most recent call last):",
                '  File "/jobs/initial_scan.py", line 3, in <module>',
                "    raise SystemError",
                "SystemError: no more",
            ],
            "SystemError: no more",
        ),
        (
            [
                "26/11/28 12:02:00 WARN StandaloneAppClient: Lost something",
                "org.apache.spark.SparkException: Exception thrown in awaitResult: ",
                FRAME,
                "Caused by: java.io.IOException: Connection reset by peer",
                FRAME,
            ],
            "Caused by: java.io.IOException: Connection reset by peer",
        ),
        (
            ["26/11/28 11:42:07 ERROR Executor: Exception in task 0.0", FRAME, LOG_LEVEL],
            "26/11/28 11:42:07 ERROR Executor: Exception in task 0.0",
        ),
        (["hello", "/bin/spark-class: line 90: /x: Is a directory", FRAME], None),
    ],
)
def test_the_line_that_tells_is_no_frame_and_no_noise(
    lines: list[str], expected: str | None
) -> None:
    if expected is None:
        (expected,) = [line for line in lines if "line 90" in line]
    assert driver_words.telling_line(lines) == expected


def test_a_java_that_refuses_its_options_is_quoted() -> None:
    means = driver_words.meaning(
        [
            "Unrecognized option: -XX:Nonsense",
            "Error: Could not create the Java Virtual Machine.",
            "Error: A fatal exception has occurred. Program will exit.",
        ]
    )
    assert means is not None
    assert not means.is_retriable
    assert "Unrecognized option: -XX:Nonsense" in means.line
