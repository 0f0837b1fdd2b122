"""The AWS account that the fake plays: its tables, its streams, its clock and its defaults."""

from __future__ import annotations

import re

from tests.fakes.clock import FakeClock
from tests.fakes.keys import KeySchema
from tests.fakes.records import VIEW_TYPES
from tests.fakes.streams import Stream, StreamName, label_at
from tests.fakes.tables import Table
from tests.fakes.wire import AwsError, Payload, validation

ACCOUNT_ID = "123456789012"
_TABLE_NAME = re.compile(r"[a-zA-Z0-9_.-]+")


class Account:
    """Everything that exists; operations look things up and create them here."""

    def __init__(
        self, clock: FakeClock, *, region: str = "eu-west-1", account_id: str = ACCOUNT_ID
    ) -> None:
        self.clock = clock
        self.region = region
        self.account_id = account_id
        self.default_partitions = 1
        self.tables: dict[str, Table] = {}
        self._streams: dict[str, Stream] = {}
        self.ghosts: dict[str, tuple[dict[str, str], int]] = {}  # ARN: tags, calls left to show

    def table_arn(self, name: str) -> str:
        """The ARN of a table of this account."""
        return f"arn:aws:dynamodb:{self.region}:{self.account_id}:table/{name}"

    def table(self, name_or_arn: object) -> Table:
        """A table by name or ARN.

        Raises:
            AwsError: ValidationException for a name that cannot be one, ResourceNotFoundException.
        """
        if not isinstance(name_or_arn, str) or not name_or_arn:
            raise validation(
                "1 validation error detected: Value null at 'tableName' failed to satisfy "
                "constraint: Member must not be null"
            )
        name = name_or_arn
        if name.startswith("arn:"):
            name = name.rpartition("table/")[2]
        elif not _TABLE_NAME.fullmatch(name):
            raise validation(
                f"1 validation error detected: Value '{name}' at 'tableName' failed to satisfy "
                "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
            )
        table = self.tables.get(name)
        if table is None:
            raise AwsError(
                "ResourceNotFoundException",
                f"Requested resource not found: Table: {name} not found",
            )
        return table

    def create_table(
        self, name: str, schema: KeySchema, description: Payload, *, partitions: int | None = None
    ) -> Table:
        """Add a table.

        Raises:
            AwsError: ResourceInUseException when the name is taken.
        """
        if name in self.tables:
            raise AwsError("ResourceInUseException", f"Table already exists: {name}")
        table = Table(
            name,
            self.table_arn(name),
            schema,
            description,
            clock=self.clock,
            partitions=partitions or self.default_partitions,
        )
        self.tables[name] = table
        return table

    def delete_table(self, name: str) -> Table:
        """Drop a table; its stream stays readable for 24 h."""
        table = self.table(name)
        table.detach()
        del self.tables[table.name]
        return table

    def enable_stream(self, table: Table, view_type: str) -> Stream:
        """Give a table a new stream, with a new label and one open shard per partition."""
        if view_type not in VIEW_TYPES:
            raise validation(
                f"1 validation error detected: Value '{view_type}' at "
                "'streamSpecification.streamViewType' failed to satisfy constraint: Member must "
                f"satisfy enum value set: [{', '.join(VIEW_TYPES)}]"
            )
        if table.stream is not None:
            raise validation(f"Table already has an enabled stream: TableName: {table.name}")
        label_s = self.clock.now_s()
        while self._stream_arn(table, label := label_at(label_s)) in self._streams:
            label_s += 0.001
        stream = Stream(
            StreamName(table.name, label, self._stream_arn(table, label)),
            table.schema,
            region=self.region,
            view_type=view_type,
            ranges=list(table.partitions),
            now_s=self.clock.now_s(),
        )
        self._streams[stream.name.arn] = stream
        table.attach(stream)
        return stream

    def _stream_arn(self, table: Table, label: str) -> str:
        return f"{table.arn}/stream/{label}"

    def streams(self) -> list[Stream]:
        """All streams that can still be read, by ARN."""
        now_s = self.clock.now_s()
        for arn in [arn for arn, stream in self._streams.items() if stream.is_gone(now_s)]:
            del self._streams[arn]
        return [self._streams[arn] for arn in sorted(self._streams)]

    def stream(self, arn: object) -> Stream:
        """A stream by its ARN.

        Raises:
            AwsError: ValidationException, or ResourceNotFoundException when it never was or is
                out of the retention.
        """
        if not isinstance(arn, str) or len(arn) < 37:
            raise validation(
                f"1 validation error detected: Value '{arn}' at 'streamArn' failed to satisfy "
                "constraint: Member must have length greater than or equal to 37"
            )
        stream = self._streams.get(arn)
        if stream is None or stream.is_gone(self.clock.now_s()):
            raise AwsError(
                "ResourceNotFoundException",
                f"Requested resource not found: Stream: {arn} not found",
            )
        return stream
