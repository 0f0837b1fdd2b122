"""Metrics: what one is, and the text in which Prometheus reads them.

A ``Metric`` is declared once, in the catalogue (``metrics_connect``, ``metrics_own``), and used by
whoever computes it and by the reference page (``metrics_page``). Nothing is counted here: for each
scrape the application makes an ``Exposition``, the rooms of the worker add their numbers to it, and
it is rendered once. There is no registry that would have to be kept in step with tables
that come and go: what does not exist any more is not added.

The text is written here and not by prometheus-client, which takes forty times as long: it would
hold up the event loop for most of a second with 1,000 tables. It still reads the numbers of the
process, and the tests read our text with its parser.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from connectd.errors import InvariantError

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Value = int | float

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_BREATH_LINES: Final = 1_000
"""Lines that are rendered without a pause: about a millisecond."""


class Kind(Enum):
    """What Prometheus is told of a metric; the value is its word."""

    GAUGE = "gauge"
    COUNTER = "counter"  # a name that ends in _total
    UNTYPED = "untyped"  # counts that Kafka Connect calls otherwise


class Dialect(Enum):
    """Rules for the JMX exporter in wide use, whose names dashboards are made for."""

    JMX1 = "jmx1"  # the exporter's version 1: drops _total where a rule names no type
    STRIMZI = "strimzi"  # also the exporter's own example for Kafka Connect
    DEBEZIUM = "debezium"


@dataclass(frozen=True, eq=False)
class Metric:
    """One metric: what it is called, what it says, and what it is computed from.

    ``aliases`` are the names that other rules give the same number.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    unit: str
    help: str
    source: str
    aliases: tuple[tuple[Dialect, str], ...] = ()

    def __post_init__(self) -> None:
        if (self.kind is Kind.COUNTER) != self.name.endswith("_total"):
            raise InvariantError(f"{self.name}: a counter ends in _total, and nothing else does")


@dataclass(frozen=True, eq=False)
class MetricGroup:
    """Metrics with the same labels, by a short name; those of Connect by its attribute's."""

    title: str
    labels: tuple[str, ...]
    metrics: Mapping[str, Metric]

    def __getitem__(self, name: str) -> Metric:
        return self.metrics[name]


Numbers = Mapping[MetricGroup, Mapping[str, Value]]
"""What a room has to say of one thing, by the short names of its groups."""


def label_text(**labels: str | int) -> str:
    """Labels as Prometheus writes them; the caller keeps the order of the metric's own."""
    if not labels:
        return ""
    inner = ",".join(f'{name}="{str(text).translate(_ESCAPES)}"' for name, text in labels.items())
    return f"{{{inner}}}"


def value_text(value: Value) -> str:
    """A number as Prometheus reads it; NaN stands for what is not known."""
    if isinstance(value, int):
        return str(int(value))  # also of a bool
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else repr(value)


class Exposition:
    """One answer under way: numbers are added, then it is rendered. Used on the event loop."""

    def __init__(self, dialects: Iterable[Dialect] = Dialect) -> None:
        """``dialects``: whose names are written beside the metrics' own."""
        self._dialects = frozenset(dialects)
        # Texts, not pairs: thousands of pairs would call the garbage collector in.
        self._samples: dict[Metric, list[str]] = {}

    def add(self, metric: Metric, labels: str, value: Value) -> None:
        """A number; ``labels`` as of ``label_text``."""
        samples = self._samples.get(metric)
        if samples is None:
            samples = self._samples[metric] = []
        samples.append(f"{labels} {value_text(value)}\n")

    def add_all(self, group: MetricGroup, labels: str, numbers: Mapping[str, Value]) -> None:
        """Numbers of a group by their short names, all with the same labels."""
        for name, value in numbers.items():
            self.add(group[name], labels, value)

    def names(self) -> list[str]:
        """The names that the answer has, in its order."""
        return [name for metric in self._samples for name in self._names(metric)]

    async def render(self) -> bytes:
        """The answer. Gives way to others after every few lines; nothing may be added meanwhile."""
        parts: list[str] = []
        lines = 0
        for metric, samples in self._samples.items():
            for name in self._names(metric):
                parts.append(_head(name, metric))
                parts.extend([name + sample for sample in samples])
                lines += len(samples)
                if lines >= _BREATH_LINES:
                    lines = 0
                    await asyncio.sleep(0)
        return "".join(parts).encode()

    def _names(self, metric: Metric) -> list[str]:
        others = [name for dialect, name in metric.aliases if dialect in self._dialects]
        return [metric.name, *others]


def _head(name: str, metric: Metric) -> str:
    text = metric.help.replace("\\", r"\\").replace("\n", r"\n")
    kind = metric.kind
    if kind is Kind.COUNTER and not name.endswith("_total"):
        kind = Kind.UNTYPED
    return f"# HELP {name} {text}\n# TYPE {name} {kind.value}\n"
