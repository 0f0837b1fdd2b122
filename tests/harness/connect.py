"""A real Apache Kafka Connect worker as its own process: the judge of what connectd answers.

``RealConnectWorker`` has the shape of ``WorkerProcess``; what differs is the program. The file
connectors stand on the plugin path and not on the class path, as on a worker in production. Kafka's
own test connectors must stand on the class path: the worker loads classes of their package from
nowhere else (it lists them when they are on the plugin path, and then cannot find them). The jars
come from ``jars.CONNECT``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.harness import jars, java
from tests.harness.jars import Jar
from tests.harness.worker import WorkerProcess, rest_status

HEAP = "400m"
PLUGIN_ARTIFACTS = ("connect-file",)


class RealConnectWorker(WorkerProcess):
    """One distributed worker of Apache Kafka; owns its process and its directory."""

    start_deadline_s = 120.0

    def __init__(
        self,
        bootstrap: str,
        *,
        group_id: str,
        topics_prefix: str = "",
        properties: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        home: Path | None = None,
    ) -> None:
        """As ``WorkerProcess``.

        Raises JarsUnavailableError or JavaUnavailableError where the program cannot be had.
        """
        self._libs = jars.CONNECT.libs()
        self._runtime = java.find_java()
        self._archive = java.ClassArchive(self._runtime, self._libs.parent)
        plugins = ",".join(str(self._libs / jar.file_name) for jar in _plugins(True))
        super().__init__(
            bootstrap,
            group_id=group_id,
            topics_prefix=topics_prefix,
            properties={**_PLUGINS_BY_MANIFEST, "plugin.path": plugins, **(properties or {})},
            env=env,
            headers=headers,
            home=home,
        )

    @property
    def version(self) -> str:
        """The version of Apache Kafka Connect."""
        return jars.CONNECT.version()

    def command(self, home: Path) -> list[str]:
        """The command line."""
        log4j2 = home / "log4j2.properties"
        log4j2.write_text(_LOG4J2, encoding="utf-8")
        return [
            str(self._runtime.path),
            f"-Xmx{HEAP}",
            "-XX:+UseSerialGC",
            *self._archive.flags_for_reading(),
            *self._archive.flags_for_writing(home),
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={log4j2}",
            "-cp",
            ":".join(str(self._libs / jar.file_name) for jar in _plugins(False)),
            "org.apache.kafka.connect.cli.ConnectDistributed",
            str(self._properties_file(home)),
        ]

    def close(self) -> None:
        """Stop it, and keep the archive of classes that its JVM wrote at its end."""
        if self._process is not None:
            home = self._process.log_path.parent
            self._stop()
            self._archive.keep(home)
        super().close()

    def _answers(self) -> bool:
        """Jetty answers in words of its own before the worker is there: the status alone counts."""
        try:
            return rest_status(f"{self.rest_url}/health", self._headers) == 200
        except OSError:
            return False


def _plugins(wanted: bool) -> list[Jar]:
    """The jars that are plugins, or those that are not."""
    return [jar for jar in jars.CONNECT.jars() if (jar.artifact in PLUGIN_ARTIFACTS) is wanted]


_PLUGINS_BY_MANIFEST = {"plugin.discovery": "service_load"}
"""Reads the jars' own lists of plugins; to look into every class costs seconds at each start."""

_LOG4J2 = """\
rootLogger.level = WARN
rootLogger.appenderRef.out.ref = OUT
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %-5p %c{1}: %m%n%throwable
"""
