"""How a worker reaches Spark: its ``spark.`` keys as a value (declared in ``worker_keys_spark``).

Keys under ``spark.conf.`` are passed on to Spark without that prefix, whatever they are. What would
take the driver away from the worker that starts it, or contradicts ``spark.master``, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connectd.configdef import java_options
from connectd.configdef.parsing import ParsedConfig
from connectd.configdef.values import invalid_value
from connectd.errors import ConfigError

CONF_PREFIX: Final = "spark.conf."
LOCAL: Final = "local[*]"

MASTERS: Final = (
    "local, local[N], local[*], local[N,F], spark://host:port[,host:port...], k8s://https://host, "
    "yarn"
)
"""The forms of a master; N threads, F failures of a task."""

_MASTER: Final = re.compile(
    r"local(\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\])?"
    r"|spark://[^\s,:/]+:\d{1,5}(,[^\s,:/]+:\d{1,5})*|spark://\[[0-9a-fA-F:.]+\]:\d{1,5}"
    r"|k8s://\S+|yarn"
)

_OWN_NAME: Final = "spark."
_REFUSED: Final = {
    "spark.master": "set the worker's spark.master instead",
    "spark.submit.deployMode": (
        "the driver is a child of the worker, which follows and ends it, so it runs in client mode"
    ),
}


@dataclass(frozen=True)
class SparkSettings:
    """All of it; ``submit_command`` and ``java_home`` None: to be found. Prints without secrets."""

    submit_command: str | None = None
    master: str = LOCAL
    java_home: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    chunk_s: float = 5.0
    drivers_max: int = 1
    idle_timeout_s: float = 1_800.0
    restarts_max: int = 5
    restart_initial_s: float = 5.0
    restart_max_s: float = 300.0

    @property
    def is_local(self) -> bool:
        """Whether everything runs on this machine."""
        return self.master.startswith("local")


class _Master:
    """A validator: what Spark itself would only refuse when it is started."""

    def __call__(self, name: str, value: object) -> None:
        if not (isinstance(value, str) and _MASTER.fullmatch(value)):
            raise invalid_value(name, value, f"Expected one of {MASTERS}")

    def __str__(self) -> str:
        return MASTERS


MASTER: Final = _Master()


def read(parsed: ParsedConfig, properties: Mapping[str, str]) -> SparkSettings:
    """The settings of a worker.

    Raises:
        ConfigError: a key under ``spark.conf.`` cannot be passed on; one line per problem.
    """
    conf = {
        name.removeprefix(CONF_PREFIX): value
        for name, value in properties.items()
        if name.startswith(CONF_PREFIX)
    }
    problems = [_problem(name) or _options_problem(name, value) for name, value in conf.items()]
    if any(problems):
        raise ConfigError("\n".join(filter(None, problems)))
    return SparkSettings(
        submit_command=parsed.optional_string("spark.submit.command") or None,
        master=parsed.string("spark.master"),
        java_home=parsed.optional_string("spark.java.home") or None,
        conf=conf,
        chunk_s=float(parsed.integer("spark.chunk.seconds")),
        drivers_max=parsed.integer("spark.drivers.max"),
        idle_timeout_s=parsed.integer("spark.idle.timeout.ms") / 1000,
        restarts_max=parsed.integer("spark.restart.attempts.max"),
        restart_initial_s=parsed.integer("spark.restart.backoff.ms") / 1000,
        restart_max_s=parsed.integer("spark.restart.backoff.max.ms") / 1000,
    )


def _problem(name: str) -> str:
    if name in _REFUSED:
        return f"{CONF_PREFIX}{name} cannot be set: {_REFUSED[name]}"
    if not name.startswith(_OWN_NAME) or name == _OWN_NAME:
        return (
            f"{CONF_PREFIX}{name} is not a setting of Spark, all of which begin with spark.; "
            f"write {CONF_PREFIX}spark.{name} if that is meant"
        )
    return ""


def _options_problem(name: str, value: str) -> str:
    if name not in java_options.DRIVER and name not in java_options.ELSEWHERE:
        return ""
    problem = java_options.problem(value)
    if problem:
        return f"{CONF_PREFIX}{name} {problem}"
    shown = java_options.exposure(value) if name in java_options.ELSEWHERE else ""
    if not shown:
        return ""
    return (
        f"{CONF_PREFIX}{name} has what looks like a secret ({shown}), and Spark would put it on "
        "command lines; write the options into a file that only the user of those processes reads, "
        "at the same path on every machine, and set @<its path>"
    )
