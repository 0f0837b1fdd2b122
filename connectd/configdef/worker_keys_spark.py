"""The keys about Spark, to which large scans are handed; ``worker_keys`` puts them in place."""

from __future__ import annotations

from connectd.configdef import spark_settings, validators
from connectd.configdef.definition import ConfigKey, ConfigType, Importance
from connectd.configdef.key_group import KeyGroup

_MEDIUM, _LOW = Importance.MEDIUM, Importance.LOW
_STRING, _INT, _LONG = ConfigType.STRING, ConfigType.INT, ConfigType.LONG

# The declarations below read as tables.
# fmt: off


def spark_keys() -> list[ConfigKey]:
    """Declarations, in the order of the reference."""
    group = KeyGroup("Spark")
    key = group.key
    key("spark.submit.command", _STRING, None, _LOW,
        "Path of spark-submit. Not set: the one beside the Python that runs the worker, else the "
        "one that PATH finds.")
    key("spark.master", _STRING, spark_settings.LOCAL, _MEDIUM,
        "Where scans run: local[*] (on this machine), spark://host:port, k8s://https://host:port, "
        "yarn. Settings of Spark itself follow under spark.conf., for example "
        "spark.conf.spark.executor.instances; they reach Spark in a private file, and the options "
        "of the driver's JVM (spark.driver.extraJavaOptions) do in another. Spark itself puts "
        "those of executors on command lines, so what looks like a secret in them is refused.",
        spark_settings.MASTER)
    key("spark.java.home", _STRING, None, _LOW,
        "Directory of the Java that Spark is to use, 17 or newer. Not set: what JAVA_HOME or PATH "
        "say.")
    key("spark.chunk.seconds", _INT, 5, _LOW,
        "About how long one Spark job reads one segment before its position is stored. What is "
        "sent again after a crash grows with it.", validators.between(1, 600))
    key("spark.drivers.max", _INT, 1, _MEDIUM,
        "Scans on Spark that this worker starts at the same time, each with a driver (a JVM) on "
        "this machine. Further tables wait for their turn before their scan begins.",
        validators.between(1, 1_000))
    key("spark.idle.timeout.ms", _LONG, 1_800_000, _LOW,
        "A scan on Spark of which nothing comes back for so long, beyond the length of a chunk, is "
        "ended and started anew, whatever its driver says meanwhile; that counts as a failure. "
        "Longer than the cluster may let an application wait for its executors.",
        validators.between(60_000, 604_800_000))
    key("spark.restart.attempts.max", _INT, 5, _MEDIUM,
        "How often in a row a scan on Spark is started anew after it has failed, with the segments "
        "that are left; then its table fails. One that has got on has all its attempts again.",
        validators.between(0, 1_000_000))
    key("spark.restart.backoff.ms", _LONG, 5_000, _LOW,
        "The wait before the first such start; it doubles from failure to failure. Between half "
        "and all of a wait passes, at random.", validators.between(100, 86_400_000))
    key("spark.restart.backoff.max.ms", _LONG, 300_000, _LOW,
        "The longest such wait.", validators.between(100, 86_400_000))
    return group.keys


# fmt: on
