"""``python -m tests.conformance.page``: write ``docs/differences.md``, for users.

The page is drawn from the lists that the comparisons use (``rest/known``, ``vectors/differences``)
and from ``further_differences``, so that what a test knows of is what users can read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.conformance import further_differences
from tests.conformance.rest import known
from tests.conformance.vectors import differences

PAGE: Final = Path(__file__).parents[2] / "docs" / "differences.md"

_HEAD: Final = """\
# Where connectd differs from the Java worker

Compared with Apache Kafka Connect 4.3.1 on Java 17: the answers of its REST API, request by
request, and those of its converters, transforms and predicates, case by case (`make conformance`).
What is not listed here is meant to be equal. Why the REST server and the lifecycles differ stands
in [decision 7](decisions/0007-where-the-rest-server-is-not-javas.md) and
[decision 8](decisions/0008-lifecycle-where-it-is-not-javas.md). This page is generated from the
lists of those comparisons: `python -m tests.conformance.page` writes it.
"""

_FOR_MAINTAINERS: Final = re.compile(
    r"\s*\((?:field case )?(?:[A-Z]\d\d(?:, )?)+\)|\s*\(DESIGN, [^)]*\)"
)
"""Where a rule stands among the papers of those who build this."""

_SPOKEN_NAMES: Final = {
    "SimpleDateFormat": "Date patterns",
    "regex.Pattern": "Regular expressions",
    "Converter": "All converters",
}


def text() -> str:
    """The page."""
    parts = [_HEAD]
    parts += _sections("", further_differences.BY_SUBJECT)
    reasons = {
        subject: [each.reason for each in entries] for subject, entries in known.BY_SUBJECT.items()
    }
    parts += _sections("REST API: ", reasons)
    parts += _sections("", _of_plugins())
    return "\n".join(parts)


def _of_plugins() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in differences.KNOWN:
        subject = _SPOKEN_NAMES.get(each.of_class, f"`{each.of_class}`")
        found.setdefault(subject, []).append(each.reason)
    return dict(sorted(found.items(), key=lambda item: item[0].strip("`")))


def _sections(prefix: str, by_subject: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for subject, reasons in by_subject.items():
        lines = dict.fromkeys(f"* {_sentence(reason)}" for reason in reasons)
        yield "\n".join([f"## {prefix}{subject}", "", *lines, ""])


def _sentence(reason: str) -> str:
    plain = _FOR_MAINTAINERS.sub("", reason)
    whole = plain if plain.endswith(".") else f"{plain}."
    return whole[0].upper() + whole[1:]


def main() -> int:
    """Write it."""
    PAGE.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
