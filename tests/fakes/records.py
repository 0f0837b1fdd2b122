"""Stream records: one change of one item, and its wire form.

The bytes follow the GetRecords reference: fields in alphabetical order, the creation time rounded
down to the second, ``userIdentity`` only when the service itself deleted the item (TTL).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tests.fakes.attributes import StoredItem
from tests.fakes.wire import aws_seconds

VIEW_TYPES = ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")

_BY_SERVICE = b',"userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}'


class Change(NamedTuple):
    """One effective write of one item."""

    sequence: int
    created_s: int
    keys: StoredItem
    old: StoredItem | None
    new: StoredItem | None
    by_service: bool = False

    @property
    def event_name(self) -> str:
        """INSERT, MODIFY or REMOVE."""
        if self.old is None:
            return "INSERT"
        return "REMOVE" if self.new is None else "MODIFY"


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """How the changes of one stream look on the wire."""

    region: str
    view_type: str
    salt: int  # 32 bits that keep event ids of different streams apart

    @property
    def has_new(self) -> bool:
        """Whether records carry the item as it became."""
        return self.view_type in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")

    @property
    def has_old(self) -> bool:
        """Whether records carry the item as it was."""
        return self.view_type in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")

    def event_id(self, sequence: bytes) -> bytes:
        """32 hex digits, different for every record of every stream."""
        return b"%08x" % self.salt + sequence.zfill(24)

    def size_of(self, change: Change) -> int:
        """``SizeBytes``: the key and the images that the view type shows."""
        size = change.keys.size
        if self.has_new and change.new is not None:
            size += change.new.size
        if self.has_old and change.old is not None:
            size += change.old.size
        return size

    def encode(self, change: Change) -> bytes:
        """The record as GetRecords sends it."""
        sequence = b"%d" % change.sequence
        return self.assemble(
            created_s=change.created_s,
            keys=change.keys.wire,
            new=change.new.wire if change.new is not None else None,
            old=change.old.wire if change.old is not None else None,
            sequence=sequence,
            size=self.size_of(change),
            event_id=self.event_id(sequence),
            event_name=change.event_name,
            by_service=change.by_service,
        )

    def assemble(
        self,
        *,
        created_s: int,
        keys: bytes,
        new: bytes | None,
        old: bytes | None,
        sequence: bytes,
        size: int,
        event_id: bytes,
        event_name: str,
        by_service: bool = False,
    ) -> bytes:
        """The record from its parts; bulk data passes placeholders for some of them."""
        parts = [
            b'{"awsRegion":"',
            self.region.encode(),
            b'","dynamodb":{"ApproximateCreationDateTime":',
            aws_seconds(float(created_s)),
            b',"Keys":',
            keys,
        ]
        if self.has_new and new is not None:
            parts += (b',"NewImage":', new)
        if self.has_old and old is not None:
            parts += (b',"OldImage":', old)
        parts += (
            b',"SequenceNumber":"',
            sequence,
            b'","SizeBytes":%d,"StreamViewType":"' % size,
            self.view_type.encode(),
            b'"},"eventID":"',
            event_id,
            b'","eventName":"',
            event_name.encode(),
            b'","eventSource":"aws:dynamodb","eventVersion":"1.1"',
            _BY_SERVICE if by_service else b"",
            b"}",
        )
        return b"".join(parts)
