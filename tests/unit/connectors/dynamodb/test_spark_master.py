"""A master that nobody is."""

from __future__ import annotations

import asyncio
import socket

from connectd.connectors.dynamodb import spark_master


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def refusal_of(*addresses: str) -> str:
    return asyncio.run(spark_master.refusal(f"spark://{','.join(addresses)}", ask_s=30.0))


def test_masters_that_all_refuse_are_named_with_their_reason() -> None:
    first, second = f"127.0.0.1:{closed_port()}", f"127.0.0.1:{closed_port()}"
    found = refusal_of(first, second)
    assert first in found
    assert second in found
    assert found.count("Connection refused") == 2


def test_one_that_listens_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert refusal_of(f"127.0.0.1:{closed_port()}", f"127.0.0.1:{port}") == ""


def test_other_masters_are_not_asked() -> None:
    for master in ("local[*]", "yarn", "k8s://https://127.0.0.1:1"):
        assert asyncio.run(spark_master.refusal(master)) == ""
