"""Transactions of tests, and when they are over for readers."""

from __future__ import annotations

from confluent_kafka import Producer

DEADLINE_S = 20.0


def transactional_producer(bootstrap: str, name: str) -> Producer:
    """A producer that may begin a transaction; whatever others of this name began is over.

    A transaction's end is confirmed before its markers are in the partitions, and a reader of
    committed records sees nothing of it until they are. So a test that wants to read asks for
    another producer of the same name first: it is ready only after that (KIP-98, "InitPidRequest").
    """
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(DEADLINE_S)
    return producer
