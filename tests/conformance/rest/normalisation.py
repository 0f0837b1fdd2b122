"""Takes out of an answer what two correct workers may differ in, and nothing else.

Normalised are: the worker's address, the directory and the word of this run, versions, the commit
and the cluster id, times, group generations, documentation texts, the list of plugins in a message,
pages of HTML, and stack traces below their first line (class and message). Of the headers only
those that clients act on are kept. Lists without an order (connector names, active topics, offsets,
methods of ``Allow``) are sorted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.conformance.rest.exchange import Answer

HEADERS_THAT_MATTER: Final = re.compile(
    r"allow|cache-control|content-type|location|vary|www-authenticate"
    r"|access-control-.*|x-(?!connect-|request-).*"
)

_TEXT_BY_KEY: Final = {
    "version": "<version>",
    "commit": "<commit>",
    "kafka_cluster_id": "<cluster>",
    "documentation": "<documentation>",
}
_NUMBER_BY_KEY: Final = {
    "last_modified": "<ms>",
    "discoverTimestamp": "<ms>",
    "creation-timestamp": "<ms>",
    "generation": "<generation>",
}
_LISTS_WITHOUT_ORDER: Final = {"topics"}
_BY_PATTERN: Final = {
    re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"): "<instant>",
    re.compile(r"(?<=available connectors are: ).*", re.DOTALL): "<plugins>",
    re.compile(r"@[0-9a-f]{5,8}\b"): "@<hash>",
}


@dataclass(frozen=True)
class Normaliser:
    """Knows what stands for what in the answers of one worker."""

    placeholders: Mapping[str, str]
    """Text of this run to placeholder, for example ``127.0.0.1:8083`` to ``<worker>``."""

    def answer(self, answer: Answer, *, keep: str | None = None) -> dict[str, Any]:
        """Status, headers that matter and body; ``keep`` as in ``Step``."""
        body = answer.body if keep is None else _kept(answer.body, re.compile(keep))
        if isinstance(body, list) and all(isinstance(each, str) for each in body):
            body = sorted(body)
        if "allow" in answer.headers and isinstance(body, str):
            body = _sorted_words(body)
        if answer.headers.get("content-type", "").startswith("text/html"):
            body = "<html>"
        return {
            "status": answer.status,
            "headers": {
                name: self._header(name, value)
                for name, value in sorted(answer.headers.items())
                if HEADERS_THAT_MATTER.fullmatch(name)
            },
            "body": self.value(body),
        }

    def value(self, value: Any) -> Any:
        """A JSON value, normalised throughout."""
        match value:
            case dict():
                return {self.text(name): self._member(name, each) for name, each in value.items()}
            case list():
                return [self.value(each) for each in value]
            case str():
                return self.text(value)
            case _:
                return value

    def text(self, text: str) -> str:
        """One text; longer replacements go first, because one may contain another."""
        for found in sorted(self.placeholders, key=len, reverse=True):
            text = text.replace(found, self.placeholders[found])
        for pattern, replacement in _BY_PATTERN.items():
            text = pattern.sub(replacement, text)
        return text

    def _member(self, name: str, value: Any) -> Any:
        if isinstance(value, str) and value:
            if name in _TEXT_BY_KEY:
                return _TEXT_BY_KEY[name]
            if name == "trace":
                return self.text(value.splitlines()[0])
        if isinstance(value, int) and name in _NUMBER_BY_KEY:
            return _NUMBER_BY_KEY[name]
        if isinstance(value, list) and name in _LISTS_WITHOUT_ORDER:
            return sorted(self.value(value))
        if name == "offsets" and isinstance(value, list):
            return sorted(self.value(value), key=lambda entry: json.dumps(entry, sort_keys=True))
        return self.value(value)

    def _header(self, name: str, value: str) -> str:
        if name == "allow" or name.startswith("access-control-allow-"):
            return _sorted_words(value)
        return self.text(value)


def _sorted_words(text: str) -> str:
    return ", ".join(sorted(word.strip() for word in text.split(",")))


def _kept(body: Any, wanted: re.Pattern[str]) -> Any:
    if isinstance(body, dict):
        return {name: each for name, each in body.items() if wanted.fullmatch(name)}
    if isinstance(body, list):
        return [each for each in body if wanted.fullmatch(_name_of(each))]
    return body


def _name_of(entry: Any) -> str:
    if isinstance(entry, dict):
        return str(entry.get("class") or entry.get("name"))
    return str(entry)
