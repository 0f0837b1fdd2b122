"""What the Spark image starts: an executor where Spark asks for one, else ``connectd``.

Spark on Kubernetes gives its executors' containers the one argument ``executor``, and all else in
variables of the environment (``BasicExecutorFeatureStep`` of Spark 4; its own image has a shell
script that reads them). The process becomes what it starts: signals and exit codes are that one's.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

EXECUTOR: Final = "executor"

_JAVA_OPTION: Final = "SPARK_JAVA_OPT_"
_BACKEND: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTIONS: Final = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def executor_command(environ: Mapping[str, str], spark_home: Path) -> list[str]:
    """The command line of an executor.

    Raises:
        KeyError: Spark has not said something that it says to every executor.
    """
    memory = environ["SPARK_EXECUTOR_MEMORY"]
    java = Path(environ["JAVA_HOME"]) / "bin" / "java"
    options = [word for option, name in _OPTIONS.items() for word in (option, environ[name])]
    return [
        str(java),
        *_java_options(environ),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        _class_path(environ, spark_home),
        _BACKEND,
        *options,
    ]


def _java_options(environ: Mapping[str, str]) -> list[str]:
    numbered = [name for name in environ if name.startswith(_JAVA_OPTION)]
    numbered.sort(key=lambda name: int(name.removeprefix(_JAVA_OPTION)))
    return [environ[name] for name in numbered]


def _class_path(environ: Mapping[str, str], spark_home: Path) -> str:
    parts = [
        environ.get("SPARK_CONF_DIR") or str(spark_home / "conf"),
        environ.get("HADOOP_CONF_DIR"),
        environ.get("SPARK_CLASSPATH"),
        str(spark_home / "jars" / "*"),
        environ.get("SPARK_EXTRA_CLASSPATH"),
        environ.get("SPARK_DIST_CLASSPATH"),
    ]
    return ":".join(filter(None, parts))


def main(arguments: list[str], environ: Mapping[str, str] = os.environ) -> None:
    """Become the executor, or ``connectd``; does not return.

    Raises:
        SystemExit: an executor is asked for that cannot be started; with the reason.
    """
    if arguments[:1] != [EXECUTOR]:
        python = Path(sys.executable)
        os.execv(python, [str(python), "-m", "connectd", *arguments])  # noqa: S606  no shell
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SystemExit("there is no PySpark beside this Python; use the image of --target spark")
    try:
        command = executor_command(environ, Path(found.origin).parent)
    except KeyError as missing:
        raise SystemExit(f"{missing.args[0]} is not set; only Spark starts executors") from missing
    os.execve(command[0], command, {**environ, "SPARK_USER": environ.get("SPARK_USER", "connectd")})  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
