"""``make bench NAME=topics``: what a record costs a client that knows many topics.

The client finds the topic of each call by name, one after the other in the order in which they were
first written to. One call a record pays that for every record, a batch of ``kafka.batches`` once.
Nothing is sent: there is no broker, and what is measured is the time of the thread that hands
records over, a mean over the first topic, the last and those between.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial

from confluent_kafka import KafkaError, Message, Producer

from benchmarks import rig
from benchmarks.sizes import size
from connectd.kafka.batches import Batches

_RECORDS = [(b'{"id":"%08d"}' % number, b"x" * 400) for number in range(1000)]
_TOPICS_WRITTEN_TO = 10
_NOWHERE = "127.0.0.1:1"

Send = Callable[[str], None]


def _one_by_one(producer: Producer, topic: str) -> None:
    produce = producer.produce
    for key, value in _RECORDS:
        produce(topic, value, key, -1, _on_delivery)


def _by_batches(chooser: Batches, topic: str) -> None:
    if chooser.produce(topic, _RECORDS, _on_delivery).taken < len(_RECORDS):
        sys.exit("topics: the client's buffer is full")


def _on_delivery(error: KafkaError | None, message: Message) -> None:
    """As a page counts its records."""


def _us_per_record(producer: Producer, topics: list[str], send: Send) -> float:
    step = max(1, len(topics) // _TOPICS_WRITTEN_TO)
    chosen = [*topics[::step], topics[-1]]
    began_s = time.thread_time()
    for topic in chosen:
        send(topic)
    took_s = time.thread_time() - began_s
    producer.purge()
    producer.flush(10)
    return took_s / len(chosen) / len(_RECORDS) * 1e6


def _measure(count: int, rounds: int) -> dict[str, float]:
    """Least time per record of each way, in µs, with so many topics."""
    topics = [f"connectd-bench-{number:05d}" for number in range(count)]
    producer = Producer({"bootstrap.servers": _NOWHERE, "log_level": 0})
    chooser = Batches(producer, bytes_max=1_000_000)
    for topic in topics:
        chooser.produce(topic, [(None, b"")], _on_delivery)
    ways: dict[str, Send] = {
        "one_by_one_us": partial(_one_by_one, producer),
        "by_batches_us": partial(_by_batches, chooser),
    }
    least: dict[str, float] = {}
    for _ in range(rounds):
        for name, send in ways.items():
            least[name] = min(least.get(name, 1e9), _us_per_record(producer, topics, send))
    return {name: round(us, 2) for name, us in least.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench NAME=topics", description=__doc__)
    parser.add_argument(
        "--topics",
        type=size,
        nargs="+",
        default=[1, 100, 1000, 4000],
        help="(1 100 1000 4000)",
    )
    parser.add_argument("--rounds", type=size, default=5, help="of which the best counts (5)")
    options = parser.parse_args()
    by_topics: dict[str, dict[str, float]] = {}
    for count in options.topics:
        by_topics[str(count)] = _measure(count, options.rounds)
        rig.say(f"{count} topics: {by_topics[str(count)]}")
    most = by_topics[str(options.topics[-1])]
    result = {
        "bench": "topics",
        "ratio_of_one_by_one": round(most["one_by_one_us"] / most["by_batches_us"], 2),
        "by_topics": by_topics,
        "versions": rig.versions(),
        "machine": rig.machine(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
