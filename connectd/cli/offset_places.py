"""Where ``connectd offsets`` finds offsets: at a running worker, or in a standalone worker's file.

Both places speak in the entries of the REST API: ``{"partition": {…}, "offset": {…} or None}``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from connectd.cli.worker_api import WorkerApi
from connectd.errors import ConfigError

Entry = dict[str, Any]


class Place(Protocol):
    """A home of offsets."""

    def read(self, connector: str) -> list[Entry]:
        """The offsets of a connector."""
        ...

    def alter(self, connector: str, entries: Sequence[Entry]) -> str:
        """Write some, None removing one; returns the sentence that says so."""
        ...

    def reset(self, connector: str) -> str:
        """Remove all of a connector."""
        ...


class WorkerPlace:
    """A worker's REST API; name and password may stand in the URL."""

    def __init__(self, url: str) -> None:
        self._api = WorkerApi(url)

    def read(self, connector: str) -> list[Entry]:
        answer = self._request("GET", connector, None)
        return list(answer.get("offsets", []))

    def alter(self, connector: str, entries: Sequence[Entry]) -> str:
        return str(self._request("PATCH", connector, {"offsets": list(entries)}).get("message", ""))

    def reset(self, connector: str) -> str:
        return str(self._request("DELETE", connector, None).get("message", ""))

    def _request(self, method: str, connector: str, body: object) -> dict[str, Any]:
        return self._api.connector(method, connector, "offsets", body)


class FilePlace:
    """The offset file of a standalone worker that does not run: it is locked while it is used."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise ConfigError(f"there is no offset file {path}")
        self._path = path

    def connectors(self) -> list[str]:
        """All that have offsets, in the order of their names."""
        with self._opened() as (values, _):
            owners = {owner for owner, _, _ in _decoded(values)}
        return sorted(owners)

    def read(self, connector: str) -> list[Entry]:
        with self._opened() as (values, _):
            return [
                {"partition": partition, "offset": offset}
                for owner, partition, offset in _decoded(values)
                if owner == connector
            ]

    def alter(self, connector: str, entries: Sequence[Entry]) -> str:
        from connectd.model.record import SourcePartition
        from connectd.stores import offset_format

        with self._opened() as (values, write):
            known = {
                _identity(partition): partition
                for owner, partition, _ in _decoded(values)
                if owner == connector
            }
            for entry in entries:
                # A person may write the members in another order than the connector did.
                partition: dict[str, Any] = entry["partition"]
                partition = known.get(_identity(partition), partition)
                key = offset_format.encode_key(connector, SourcePartition.of(partition))
                value = offset_format.encode_value(entry["offset"])
                if value is None:
                    values.pop(key, None)
                else:
                    values[key] = value
            write()
        return f"{len(entries)} offsets of {connector} in {self._path} have been altered"

    def reset(self, connector: str) -> str:
        entries = [{**entry, "offset": None} for entry in self.read(connector)]
        if not entries:
            return f"there are no offsets of {connector} in {self._path}"
        self.alter(connector, entries)
        return f"{len(entries)} offsets of {connector} in {self._path} have been removed"

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[dict[bytes | None, bytes | None], Callable[[], None]]]:
        from connectd.stores.file_offset_home import OffsetFile

        file = OffsetFile(self._path)
        values = file.open()
        try:
            yield values, lambda: file.write(values)
        finally:
            file.close()


def _decoded(
    values: dict[bytes | None, bytes | None],
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Connector, partition and offset of every entry that has all three."""
    from connectd.stores import offset_format

    for key, value in values.items():
        with contextlib.suppress(ValueError):  # not in our format; kept as it is
            connector, partition = offset_format.decode_key(key)
            offset = offset_format.decode_value(value)
            if partition is not None and offset is not None:
                yield connector, partition.to_dict(), dict(offset)


def _identity(partition: object) -> str:
    return json.dumps(partition, sort_keys=True)
