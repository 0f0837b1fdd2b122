"""The comparison on disk: for every key, the digest of what should be and of what is.

A table of a hundred million items has no place in memory, so both sides are put down in a temporary
SQLite file, some 150 bytes for each key plus the key itself, and the differences are asked of it.
The file is private, and gone with this object (``aio.owned_directory``); nothing in it has to
survive a crash, so it is written without a journal. Blocks; used in one thread.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from connectd.aio.owned_directory import OwnedDirectory
from connectd.connectors.dynamodb.reconciling import Counts
from connectd.connectors.dynamodb.second_look import Candidate
from connectd.errors import ConnectdError

_PREFIX: Final = "connectd-reconcile-"

CACHE_KIB: Final = 64 * 1024
"""Memory for pages of the file, and with it the memory of a whole comparison."""

# A key that another table's record holds (``reconciling.owner_of``) is none of the own table's, and
# where the own table has no item of it all is well. An item that cannot be converted is no other
# kind of difference. All in the words of ``reconciling.kind_of``.
_SCHEMA: Final = """
CREATE TABLE state (
  id BLOB PRIMARY KEY,
  topic TEXT NOT NULL,
  key BLOB,
  item_key BLOB,
  expected BLOB,
  found BLOB,
  kafka_partition INTEGER,
  kafka_offset INTEGER,
  timestamp_ms INTEGER,
  is_foreign AS (found IS NOT NULL AND substr(found, 1, 1) = X'66'),
  is_unconvertible AS (expected IS NOT NULL AND substr(expected, 1, 1) = X'75')
) WITHOUT ROWID
"""

_EXPECT: Final = """
INSERT INTO state (id, topic, key, item_key, expected) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET item_key = excluded.item_key, expected = excluded.expected
"""

# The last record of a key, in the words of ``second_look.is_later``.
_FIND: Final = """
INSERT INTO state (id, topic, key, found, kafka_partition, kafka_offset, timestamp_ms)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  found = excluded.found,
  kafka_partition = excluded.kafka_partition,
  kafka_offset = excluded.kafka_offset,
  timestamp_ms = excluded.timestamp_ms
WHERE kafka_partition IS NULL
  OR (kafka_partition = excluded.kafka_partition AND kafka_offset < excluded.kafka_offset)
  OR (kafka_partition <> excluded.kafka_partition AND timestamp_ms <= excluded.timestamp_ms)
"""

_FIND_AGAIN: Final = """
UPDATE state SET found = ?4, kafka_partition = ?5, kafka_offset = ?6, timestamp_ms = ?7
WHERE id = ?1 AND expected IS NOT found AND (
  kafka_partition IS NULL
  OR (kafka_partition = ?5 AND kafka_offset < ?6)
  OR (kafka_partition <> ?5 AND timestamp_ms <= ?7)
)
"""

_SETTLE: Final = """
UPDATE state SET expected = ?, found = ?, kafka_partition = ?, kafka_offset = ?, timestamp_ms = ?
WHERE id = ?
"""

_COUNTS: Final = """
SELECT
  count(expected),
  count(CASE WHEN NOT is_foreign THEN found END),
  count(CASE WHEN expected = found THEN 1 END),
  count(CASE WHEN NOT is_unconvertible AND found IS NULL THEN expected END),
  count(CASE WHEN NOT is_unconvertible AND NOT is_foreign AND expected <> found THEN 1 END),
  count(CASE WHEN NOT is_foreign AND expected IS NULL THEN found END),
  count(CASE WHEN NOT is_unconvertible AND is_foreign THEN expected END),
  count(CASE WHEN is_unconvertible THEN 1 END)
FROM state
"""

_COUNTED: Final = (
    "items", "keys", "equal", "missing", "stale", "extra", "conflict", "unconvertible"
)  # fmt: skip

_KEY: Final = """
SELECT id, topic, key, item_key, expected, found, kafka_partition, kafka_offset, timestamp_ms
FROM state WHERE id = ?
"""

_DIFFERENCES: Final = """
SELECT id, topic, key, item_key, expected, found, kafka_partition, kafka_offset, timestamp_ms
FROM state WHERE expected IS NOT found AND NOT (expected IS NULL AND is_foreign) AND id > ?
ORDER BY id LIMIT ?
"""


class Expected(NamedTuple):
    """A record that should be there; ``item_key`` is the item's key as DynamoDB's JSON. One that
    cannot be made stands in ``NO_TOPIC`` (``reconciling``), under the item's key."""

    key_id: bytes
    topic: str
    key: bytes | None
    item_key: bytes | None
    digest: bytes | None


class Found(NamedTuple):
    """A record that is there; ``digest`` None: it says that there is no item."""

    key_id: bytes
    topic: str
    key: bytes | None
    digest: bytes | None
    partition: int
    offset: int
    timestamp_ms: int


class DigestFile:
    """See the module's docstring; ``close`` it, or use it in a ``with`` block."""

    def __init__(self, folder: str | Path | None = None) -> None:
        """Make the file in a directory of its own below ``folder`` (None: the system's choice).

        Raises:
            ConnectdError: the disk refuses.
        """
        with _disk_errors(folder):
            self._home = OwnedDirectory(_PREFIX, folder)
        self._folder = folder
        try:
            with _disk_errors(folder):
                self._file = _opened(self._home.path / "digests")
        except BaseException:
            self._home.remove()
            raise

    def expect(self, rows: Iterable[Expected]) -> None:
        """Put down what should be there.

        Raises:
            ConnectdError: the disk refuses, as of every method.
        """
        self._write(_EXPECT, rows)

    def find(self, rows: Iterable[Found]) -> None:
        """Put down what is there; of each key the last record counts."""
        self._write(_FIND, rows)

    def find_again(self, rows: Iterable[Found]) -> None:
        """Put down what has come since, of keys that differ; others stay as they are."""
        self._write(_FIND_AGAIN, rows)

    def settle(self, candidates: Iterable[Candidate]) -> None:
        """Put down what a second look has shown."""
        self._write(
            _SETTLE,
            (
                (
                    each.expected,
                    each.found,
                    each.partition,
                    each.offset,
                    each.timestamp_ms,
                    each.key_id,
                )
                for each in candidates
            ),
        )

    def counts(self) -> Counts:
        """Items, keys, and how they compare."""
        with _disk_errors(self._folder):
            row = self._file.execute(_COUNTS).fetchone()
        return Counts(**dict(zip(_COUNTED, row, strict=True)))

    def differences(self, limit: int, *, after: bytes = b"") -> list[Candidate]:
        """Keys that differ, at most so many, in the order of their ids, behind ``after``."""
        with _disk_errors(self._folder):
            rows = self._file.execute(_DIFFERENCES, (after, limit)).fetchall()
        return [Candidate(*row) for row in rows]

    def state(self, key_id: bytes) -> Candidate | None:
        """What is known of one key, whether it differs or not; None: nothing."""
        with _disk_errors(self._folder):
            row = self._file.execute(_KEY, (key_id,)).fetchone()
        return None if row is None else Candidate(*row)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._home.remove()

    def __enter__(self) -> DigestFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with _disk_errors(self._folder):
            self._file.execute("BEGIN")
            self._file.executemany(statement, rows)
            self._file.execute("COMMIT")


def _opened(path: Path) -> sqlite3.Connection:
    file = sqlite3.connect(path, isolation_level=None)
    for pragma in (
        "journal_mode = OFF",
        "synchronous = OFF",
        "locking_mode = EXCLUSIVE",
        f"cache_size = -{CACHE_KIB}",
        "temp_store = FILE",
    ):
        file.execute(f"PRAGMA {pragma}")
    file.execute(_SCHEMA)
    return file


@contextlib.contextmanager
def _disk_errors(folder: str | Path | None) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        where = folder or tempfile.gettempdir()
        raise ConnectdError(
            f"keeping digests in {where}: {error}; a comparison needs some 200 bytes of disk for "
            "each key, name a directory that has them with --spill"
        ) from error
