"""Which metrics a PromQL expression names, as far as a test has to know."""

from __future__ import annotations

import re

_SELECTOR = re.compile(r"\b(?:kafka_|connectd_|process_)[a-z0-9_]+")


def metrics_of(expression: str) -> set[str]:
    """Names of metrics in it."""
    return set(_SELECTOR.findall(expression))
