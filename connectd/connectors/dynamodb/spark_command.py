"""The command that starts a scan on Spark: where its parts are, its environment, its files.

No secret stands on a command line, where every user of the machine could read it. The job, the
settings of Spark and the options of the driver's JVM, which Spark by itself would put there, are
files of mode 0600 in a directory of their own, of mode 0700. They are removed once the driver has
started. What it and Spark write meanwhile (the order of each chunk is a file of
PySpark, with the job in it) is below that directory too, which is removed when the driver has
ended; one that a killed worker has left is removed when the next one starts, or starts a job: whose
worker lives is told by a lock that it holds (``owned_directory``).
AWS keys are in the environment of the driver alone, and what ``CONNECT_`` variables tell this
worker is not passed on.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import connectd
from connectd.aio import owned_directory
from connectd.aio.child_process import ChildCommand
from connectd.aio.owned_directory import OwnedDirectory
from connectd.configdef import java_options, properties
from connectd.configdef.spark_settings import CONF_PREFIX, SparkSettings
from connectd.configdef.worker import ENV_PREFIX
from connectd.connectors.dynamodb import driver_words, scan_job
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.errors import ConfigError, ConnectdError, FatalTaskError, RetriableError

_PACKAGE: Final = "spark_jobs"
_SCRIPT: Final = "initial_scan.py"
_PREFIX: Final = "connectd-scan-"

_JVM_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""What spark-submit adds to the options of the driver's JVM. Where Spark writes follows from
java.io.tmpdir, unless spark.local.dir or SPARK_LOCAL_DIRS say something else."""

SETTING_LENGTH_MIN: Final = 5
"""A shorter value, as "true", stands in a text by chance."""

_OWN_AWS: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
)
"""Names of credentials that must not mix with those of a connector."""


@dataclass(frozen=True)
class SparkParts:
    """Paths of what starts a scan. ``java`` None: the installation of Spark may have its own."""

    submit: str
    script: str
    java: str | None = None


def find_parts(settings: SparkSettings, environ: Mapping[str, str]) -> SparkParts:
    """Where spark-submit and the job are.

    Java is looked for as well, unless ``spark.submit.command`` names an installation, which may
    have one of its own.

    Raises:
        ConfigError: something is missing.
    """
    submit, java = settings.submit_command, None
    if submit is not None:
        if not _is_program(submit):
            raise ConfigError(
                f"spark.submit.command is {submit}, expected the path of a program that this "
                "worker may run"
            )
        if settings.java_home:
            java = _java(settings.java_home, environ)
    else:
        beside = str(Path(sys.executable).parent / "spark-submit")
        submit = beside if _is_program(beside) else _on_path("spark-submit", environ)
        if submit is None:
            raise ConfigError(
                "no spark-submit was found beside Python or on PATH; install pyspark "
                "(pip install 'connectd[spark]') or set the worker's spark.submit.command"
            )
        java = _java(settings.java_home or environ.get("JAVA_HOME"), environ)
    return SparkParts(submit, _script(), java)


def _java(java_home: str | None, environ: Mapping[str, str]) -> str:
    java = str(Path(java_home) / "bin" / "java") if java_home else _on_path("java", environ)
    if java is None or not _is_program(java):
        found = f"there is no Java in {java_home}" if java_home else "no Java was found"
        raise ConfigError(f"{found}; install Java 17 or set the worker's spark.java.home")
    return java


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def command(
    parts: SparkParts,
    settings: SparkSettings,
    job: ScanJob,
    files: Path,
    environ: Mapping[str, str],
) -> ChildCommand:
    """The command for a job whose files are there (``write_files``)."""
    options = ["--master", settings.master, "--deploy-mode", "client"]
    options += ["--name", f"connectd-{job.connector}-{job.table}"]
    if settings.conf:
        # spark-defaults.conf of the installation counts as well, behind ours.
        options += ["--properties-file", str(_conf_file(files)), "--load-spark-defaults"]
    return ChildCommand(
        (parts.submit, *options, parts.script), _environment(settings, job, files, environ)
    )


def write_files(job: ScanJob, settings: SparkSettings) -> OwnedDirectory:
    """Write the job and Spark's settings into a new private directory, for the caller to remove.

    It has room for what a driver writes (``TMPDIR``), too. What workers have left there that are no
    more is removed.

    Raises:
        OSError: it cannot be written.
    """
    owned = OwnedDirectory(_PREFIX)
    directory = owned.path
    try:
        _room(directory).mkdir(mode=0o700)
        _write(_job_file(directory), job.to_json())
        if settings.conf:
            conf = _with_option_files(settings.conf, directory)
            _write(_conf_file(directory), properties.dump(conf).encode())
    except BaseException:
        owned.remove()
        raise
    return owned


def _with_option_files(conf: Mapping[str, str], directory: Path) -> dict[str, str]:
    """The settings, with files in place of what would stand on the command line of the JVM."""
    changed = dict(conf)
    for key in java_options.DRIVER:
        words: list[str] = []
        for made in java_options.argument_files(java_options.split(conf.get(key, ""))):
            if made.endswith("\n"):
                path = directory / f"{key}-{len(words)}"
                _write(path, made.encode())
                made = f"@{path}"
            words.append('"' + made.replace("\\", "\\\\").replace('"', '\\"') + '"')
        if key in conf:
            changed[key] = " ".join(words)
    return changed


def remove_job(directory: Path) -> None:
    """Remove the files of a job that everybody has read; what the driver writes stays."""
    for each in directory.iterdir():
        if not each.is_dir():
            each.unlink(missing_ok=True)


def remove_stale_files(parent: Path) -> None:
    """Remove what workers have left that are no more, and nothing of one that lives anywhere."""
    owned_directory.sweep(_PREFIX, parent)


def verdict(code: int, tail: list[str], settings: SparkSettings) -> ConnectdError:
    """What it means that a driver has ended so, without a word; see ``DriverStarter``."""
    ended = f"was ended by signal {-code}" if code < 0 else f"has ended with exit code {code}"
    means = driver_words.meaning(tail)
    if means is None:
        line = driver_words.telling_line(tail)
        told = f": {line}{_settings_in(line, settings)}" if line else ""
        return RetriableError(f"the Spark driver {ended}{told}")
    message = f"the Spark driver {ended}: {explanation(tail, settings)}"
    return RetriableError(message) if means.is_retriable else FatalTaskError(message)


def explanation(tail: list[str], settings: SparkSettings) -> str:
    """What the last lines of a driver mean, in plain words; "" when that is not known."""
    means = driver_words.meaning(tail)
    if means is None:
        return ""
    quoted = f": {means.line}" if means.line else ""
    named = _settings_in(f"{means.text} {means.line}", settings)
    return f"{means.text} (spark.master is {settings.master}){quoted}{named}"


def _settings_in(text: str, settings: SparkSettings) -> str:
    """The settings that a text is about: it has their names, or what they are set to."""
    found = [
        f"{CONF_PREFIX}{name}"
        for name, value in settings.conf.items()
        if any(_has_word(text, each) for each in (name, value, *value.split(",")))
    ]
    return f"; look at {', '.join(found)}" if found else ""


def _has_word(text: str, word: str) -> bool:
    if len(word) < SETTING_LENGTH_MIN:
        return False
    return re.search(rf"(?<![\w.]){re.escape(word)}(?![\w]|\.\w)", text) is not None


def _environment(
    settings: SparkSettings, job: ScanJob, files: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    env = {name: value for name, value in environ.items() if not name.startswith(ENV_PREFIX)}
    aws = scan_job.aws_environment(job.aws)
    if aws:
        for name in _OWN_AWS:
            env.pop(name, None)
        env.update(aws)
    env.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if settings.is_local:
        env.setdefault("PYSPARK_PYTHON", sys.executable)
    if settings.java_home is not None:
        env["JAVA_HOME"] = settings.java_home
    here = Path(connectd.__file__).parent.parent
    if here.name not in ("site-packages", "dist-packages"):
        # Not installed: the driver must find the very same code.
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(here), env.get("PYTHONPATH", "")]))
    # Of the driver's side alone: where executors write is said where they run.
    room = str(_room(files))
    env["TMPDIR"] = room
    theirs = env.get(_JVM_OPTIONS, "")  # the last one wins
    env[_JVM_OPTIONS] = f'-Djava.io.tmpdir="{room}" {theirs}'.strip()
    env[scan_job.JOB_ENV] = str(_job_file(files))
    return env


def _script() -> str:
    """The path of the job. It is looked up, not imported: the daemon never imports Spark."""
    found = importlib.util.find_spec(_PACKAGE)
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        script = Path(place) / _SCRIPT
        if script.is_file():
            return str(script)
    raise ConfigError(f"the package {_PACKAGE}, which comes with connectd, is not installed")


def _on_path(program: str, environ: Mapping[str, str]) -> str | None:
    return shutil.which(program, path=environ.get("PATH", os.defpath))


def _job_file(directory: Path) -> Path:
    return directory / "job.json"


def _room(directory: Path) -> Path:
    return directory / "tmp"


def _conf_file(directory: Path) -> Path:
    return directory / "spark.properties"


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
