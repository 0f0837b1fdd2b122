"""Standalone workers as processes: ours, and Apache Kafka's own as the judge.

Both keep their positions in ``offset_file`` and create the connectors of the files they are started
with. Their home is a directory of the test; relative paths in configs of connectors are not used,
since the two are started from different places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.harness.connect import RealConnectWorker
from tests.harness.worker import JSON_CONVERTER, WorkerProcess, properties_text

_DISTRIBUTED = "org.apache.kafka.connect.cli.ConnectDistributed"
_STANDALONE = "org.apache.kafka.connect.cli.ConnectStandalone"


class StandaloneWorker(WorkerProcess):
    """``connectd standalone``; owns its process."""

    def __init__(
        self,
        bootstrap: str,
        *,
        offset_file: Path,
        connectors: Sequence[Path] = (),
        home: Path,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is started yet; ``connectors`` are their files."""
        super().__init__(bootstrap, group_id="", home=home)
        self.connectors = list(connectors)
        self.properties = _properties(self, bootstrap, offset_file, properties or {})

    def command(self, home: Path) -> list[str]:
        """The command line, as a person would type it."""
        *python, _, worker = super().command(home)
        return [*python, "standalone", worker, *map(str, self.connectors)]


class RealStandaloneWorker(RealConnectWorker):
    """``connect-standalone`` of Apache Kafka; owns its process."""

    def __init__(
        self, bootstrap: str, *, offset_file: Path, connectors: Sequence[Path] = (), home: Path
    ) -> None:
        """As ``StandaloneWorker``; raises what ``RealConnectWorker`` raises."""
        super().__init__(bootstrap, group_id="", home=home)
        self.connectors = list(connectors)
        plugins = {
            name: value for name, value in self.properties.items() if name.startswith("plugin.")
        }
        self.properties = _properties(self, bootstrap, offset_file, plugins)

    def command(self, home: Path) -> list[str]:
        """The command line."""
        command = [_STANDALONE if word == _DISTRIBUTED else word for word in super().command(home)]
        return [*command, *map(str, self.connectors)]


def connector_file(path: Path, config: Mapping[str, str]) -> Path:
    """Write the properties file of a connector."""
    path.write_text(properties_text(config), encoding="utf-8")
    return path


def _properties(
    worker: WorkerProcess, bootstrap: str, offset_file: Path, more: Mapping[str, str]
) -> dict[str, str]:
    return {
        "bootstrap.servers": bootstrap,
        "key.converter": JSON_CONVERTER,
        "key.converter.schemas.enable": "false",
        "value.converter": JSON_CONVERTER,
        "value.converter.schemas.enable": "false",
        "offset.storage.file.filename": str(offset_file),
        "offset.flush.interval.ms": "200",
        "listeners": worker.rest_url,
        **more,
    }
