"""One HTTP request exactly as a script has it, and its answer."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ANSWER_WITHIN_S = 100.0
"""Longer than the 90 s after which a worker itself gives up on a request."""


@dataclass(frozen=True)
class Answer:
    """Status, headers (names in lower case) and body; a body that is not JSON stays text."""

    status: int
    headers: Mapping[str, str]
    body: Any
    """None where there is none."""


def send(
    address: str, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
) -> Answer:
    """Send one request to ``host:port``; raises OSError or HTTPException when nothing answers."""
    connection = http.client.HTTPConnection(address, timeout=ANSWER_WITHIN_S)
    try:
        connection.request(method, path, body=body, headers=dict(headers))
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    found = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, found, _parsed(content))


def _parsed(content: bytes) -> Any:
    if not content:
        return None
    text = content.decode("utf-8", errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text
