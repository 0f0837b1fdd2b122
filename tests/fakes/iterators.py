"""Shard iterators: opaque tokens that carry everything, so any number of them costs nothing.

A token names stream, shard, position, the moment of its issue and a serial number. It expires
15 minutes after its issue on the fake's clock, or when the script says so (by serial number); it
may be used any number of times until then.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

from tests.fakes.wire import validation

LIFETIME_S = 15 * 60.0
_VERSION = "1"


class ShardIterator(NamedTuple):
    """A position in a shard, and when it was handed out."""

    stream_arn: str
    shard_id: str
    position: int
    issued_s: float
    serial: int

    def token(self) -> str:
        """The text that clients pass around."""
        inner = f"{self.shard_id}|{self.position}|{self.issued_s!r}|{self.serial}"
        return f"{self.stream_arn}|{_VERSION}|{base64.b64encode(inner.encode()).decode()}"

    @classmethod
    def parse(cls, token: object) -> ShardIterator:
        """The iterator behind a token.

        Raises:
            AwsError: ValidationException for what never was a token.
        """
        try:
            if not isinstance(token, str):
                raise ValueError("not a text")
            arn, version, encoded = token.split("|")
            inner = base64.b64decode(encoded, validate=True).decode()
            shard_id, position, issued_s, serial = inner.split("|")
            if version != _VERSION:
                raise ValueError("another version")
            return cls(arn, shard_id, int(position), float(issued_s), int(serial))
        except (ValueError, binascii.Error):
            raise validation("Invalid ShardIterator") from None
