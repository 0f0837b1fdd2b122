"""Asks a worker of Kafka, with its file connectors installed, and writes the recordings anew.

``python -m tests.unit.plugins.kafka.record http://127.0.0.1:8083``
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tests.unit.plugins.kafka import abridged
from tests.unit.plugins.kafka.cases import CASES, FILE, JSON, TRANSFORMS, config_of

HERE: Final = Path(__file__).parent
TIMEOUT_S: Final = 60.0
DESCRIBED: Final = (
    FILE,
    JSON,
    "org.apache.kafka.connect.storage.StringConverter",
    "org.apache.kafka.connect.converters.ByteArrayConverter",
    f"{TRANSFORMS}.RegexRouter",
    f"{TRANSFORMS}.Cast$Key",
    f"{TRANSFORMS}.TimestampConverter$Value",
    f"{TRANSFORMS}.predicates.HasHeaderKey",
)
"""Plugins whose keys are recorded; to the cases, the others have none."""


def main(url: str) -> None:
    """Record the plugins, their keys, and the answers to all cases."""
    plugins = {
        "installed": _ask("GET", f"{url}/connector-plugins?connectorsOnly=false"),
        "keys": {
            name: [
                abridged.without_documentation(key)
                for key in _ask("GET", f"{url}/connector-plugins/{quote(name)}/config")
            ]
            for name in DESCRIBED
        },
    }
    _write("plugins.json", plugins)
    answers = {name: abridged.plain(_validate(url, name)) for name in CASES}
    good = answers.pop("good")
    special = {name: abridged.abridged(answer, good) for name, answer in answers.items()}
    _write("validation.json", {"good": good, "cases": special})


def _validate(url: str, case: str) -> Any:
    path = "connector-plugins/FileStreamSource/config/validate"
    return _ask("PUT", f"{url}/{path}", json.dumps(config_of(CASES[case])).encode())


def _ask(method: str, url: str, body: bytes | None = None) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers, method=method)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        return json.load(answer)


def _write(name: str, document: Any) -> None:
    """One line per member of the first two levels, so that changes can be read."""
    lines = []
    for key, member in document.items():
        pairs = member.items() if isinstance(member, dict) else None
        if pairs is None:
            lines.append(f"{json.dumps(key)}: {json.dumps(member)}")
            continue
        inner = ",\n".join(f"  {json.dumps(each)}: {json.dumps(value)}" for each, value in pairs)
        lines.append(f"{json.dumps(key)}: {{\n{inner}\n}}")
    (HERE / name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
