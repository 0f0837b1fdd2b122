"""What this connector asks of AWS: these calls, and nothing else.

``connectd.aws.clients.AwsClients`` provides them in production, an in-memory double in tests. The
errors that they raise are those of ``connectd.errors``: ``ThrottledError`` and
``TransientNetworkError`` (try again), ``IteratorExpiredError``, ``TrimmedDataError``,
``TableGoneError``, ``StreamGoneError``, ``AccessDeniedError``, ``InvalidRequestError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from connectd.aws.dynamodb import KeyAttribute, TableDescription
from connectd.aws.exports import ExportDescription, ExportRequest, ExportWindow, ObjectPart
from connectd.aws.settings import AwsSettings
from connectd.aws.streams import IteratorKind, Shard, StreamDescription
from connectd.aws.tagging import TagFilter
from connectd.aws.transport import RawResponse

__all__ = [
    "ExportDescription",
    "ExportRequest",
    "ExportWindow",
    "ExportsApi",
    "IteratorKind",
    "KeyAttribute",
    "ObjectPart",
    "RawResponse",
    "Shard",
    "SourceApi",
    "SourceApiPool",
    "StreamDescription",
    "StreamsApi",
    "TableDescription",
    "TablesApi",
    "TagsApi",
]


class TablesApi(Protocol):
    """Tables and their pages."""

    async def describe_table(self, table: str) -> TableDescription:
        """What the table is now."""
        ...

    async def scan(
        self,
        table: str,
        *,
        segment: int,
        total_segments: int,
        exclusive_start_key: bytes | None,
        limit: int | None,
        consistent: bool = False,
    ) -> RawResponse:
        """One page of a segment."""
        ...


class StreamsApi(Protocol):
    """Table streams, their shards and records."""

    async def describe_stream(self, arn: str, *, can_wait: bool = False) -> StreamDescription:
        """The stream and all of its shards; ``can_wait``: others go first."""
        ...

    async def shard_iterator(
        self, arn: str, shard_id: str, kind: IteratorKind, sequence_number: str | None
    ) -> str:
        """An iterator at a position of a shard."""
        ...

    async def get_records(self, iterator: str, limit: int) -> RawResponse:
        """One page of a shard."""
        ...


class TagsApi(Protocol):
    """Tables by tag."""

    async def tables_by_tags(self, filters: Sequence[TagFilter]) -> list[str]:
        """Names of the tables that pass every filter."""
        ...


class ExportsApi(Protocol):
    """Exports of tables, and the objects that they consist of."""

    async def request(self, wanted: ExportRequest) -> ExportDescription:
        """Begin an export, or find the one that the same request began."""
        ...

    async def describe(self, arn: str) -> ExportDescription:
        """How far an export is."""
        ...

    async def read_object(self, bucket: str, key: str, *, start: int, length: int) -> ObjectPart:
        """Bytes of an object from ``start`` on; none beyond its end."""
        ...


class SourceApi(Protocol):
    """The clients of one account and region."""

    @property
    def dynamodb(self) -> TablesApi:
        """Tables."""
        ...

    @property
    def streams(self) -> StreamsApi:
        """Streams."""
        ...

    @property
    def tagging(self) -> TagsApi:
        """Tags."""
        ...

    @property
    def exports(self) -> ExportsApi:
        """Exports."""
        ...


class SourceApiPool(Protocol):
    """Shares clients between connectors and tasks with equal settings."""

    async def acquire(self, settings: AwsSettings) -> SourceApi:
        """Clients for these settings; one ``release`` answers it."""
        ...

    async def release(self, clients: Any) -> None:
        """Give clients back."""
        ...
