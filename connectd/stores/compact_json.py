"""JSON as Kafka Connect's internal converter writes it: compact, UTF-8, order kept."""

from __future__ import annotations

import json


def dumps(document: object) -> bytes:
    """The bytes of a record's key or value (spec kafka-connect C.1)."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
