"""values.yaml with the comments above its keys, which are its documentation.

A map is a group of values where its keys have comments of their own, one value where they have
none. A comment belongs to the key right below it; the first block of the file to the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Value:
    """One key: dotted path, comment and default; ``children`` where it is a group."""

    path: str
    text: str
    default: object
    children: list[Value] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The last word of the path."""
        return self.path.rpartition(".")[2]


def read(path: Path) -> list[Value]:
    """The values of a file, in its order."""
    text = path.read_text(encoding="utf-8")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise TypeError(f"{path} is not a map of values")
    return _values(root, "", text.splitlines(), yaml.safe_load(text))


def leaves(values: list[Value]) -> list[Value]:
    """All values that are no groups, in order."""
    return [leaf for value in values for leaf in (leaves(value.children) or [value])]


def _values(
    node: yaml.MappingNode, prefix: str, lines: list[str], defaults: dict[str, object]
) -> list[Value]:
    found = []
    for key, value in node.value:
        path = f"{prefix}{key.value}"
        default = defaults[key.value]
        children: list[Value] = []
        if isinstance(value, yaml.MappingNode) and isinstance(default, dict):
            children = _values(value, f"{path}.", lines, default)
        if children and value.start_mark.line == key.start_mark.line:
            children = []  # written on one line, below the one comment
        is_group = any(child.text or child.children for child in children)
        text = _comment_above(lines, key.start_mark.line)
        found.append(Value(path, text, default, children if is_group else []))
    return found


def _comment_above(lines: list[str], line: int) -> str:
    words: list[str] = []
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        words.insert(0, lines[line].strip().removeprefix("#").strip())
    return " ".join(words)
