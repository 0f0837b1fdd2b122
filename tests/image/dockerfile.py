"""The Dockerfile as a list of instructions, and .dockerignore as a question to ask.

Just as much of both languages as ours use: an instruction that this does not know is an error.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from tests.image.locks import ROOT

KNOWN = {
    "ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "LABEL", "EXPOSE", "HEALTHCHECK", "USER",
    "ENTRYPOINT", "CMD",
}  # fmt: skip


@dataclass(frozen=True)
class Instruction:
    """One instruction; ``text`` is all behind its word, lines joined."""

    word: str
    text: str

    @property
    def words(self) -> list[str]:
        """The text as a shell splits it."""
        return shlex.split(self.text)

    @property
    def command(self) -> list[str]:
        """The words of a command in the form that no shell reads."""
        found = json.loads(self.text[self.text.index("[") :])
        return [str(word) for word in found]

    @property
    def copied(self) -> tuple[str | None, list[str], str]:
        """Of COPY: the stage it comes from if any, sources, destination."""
        words = self.words
        stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else None
        return stage, words[:-1], words[-1]

    @property
    def pairs(self) -> dict[str, str]:
        """Of ENV and LABEL: names and values."""
        return dict(word.split("=", 1) for word in self.words)


@dataclass
class Stage:
    """What follows one FROM."""

    name: str
    base: str
    instructions: list[Instruction] = field(default_factory=list)


@dataclass(frozen=True)
class Dockerfile:
    """Stages by name, in order; ``arguments`` are those before the first FROM."""

    stages: Mapping[str, Stage]
    arguments: Mapping[str, str]

    def image_of(self, base: str) -> str:
        """The name of a base image, arguments filled in."""
        return re.sub(r"\$\{(\w+)\}", lambda match: self.arguments[match[1]], base)

    def line_of(self, name: str) -> list[Stage]:
        """The stages that a target stands on, the oldest first."""
        stage = self.stages[name]
        return [*(self.line_of(stage.base) if stage.base in self.stages else []), stage]

    def instructions(self, target: str) -> list[Instruction]:
        """What makes the target, from its base image on."""
        return [each for stage in self.line_of(target) for each in stage.instructions]

    def last(self, target: str, word: str) -> Instruction:
        """The instruction that counts, where the last one does."""
        return [each for each in self.instructions(target) if each.word == word][-1]


def read(path: Path = ROOT / "Dockerfile") -> Dockerfile:
    """The Dockerfile."""
    stages: dict[str, Stage] = {}
    arguments: dict[str, str] = {}
    current: Stage | None = None
    for instruction in _instructions(path.read_text(encoding="utf-8")):
        if instruction.word == "FROM":
            base, _, name = instruction.words
            current = stages[name] = Stage(name, base)
        elif current is None:
            arguments.update(instruction.pairs)
        else:
            current.instructions.append(instruction)
    return Dockerfile(stages, arguments)


def _instructions(text: str) -> Iterator[Instruction]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for joined in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, _, rest = joined.strip().partition(" ")
        if word not in KNOWN:
            raise ValueError(f"Dockerfile has {word}, which these tests do not know")
        yield Instruction(word, rest.strip())


def is_sent(path: str, ignore_file: Path = ROOT / ".dockerignore") -> bool:
    """Whether a path of the repository is part of the build's context; the last pattern counts."""
    sent = True
    for line in ignore_file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!")
            if _matches(path, pattern):
                sent = line.startswith("!")
    return sent


def _matches(path: str, pattern: str) -> bool:
    parts = path.split("/")
    if pattern.startswith("**/"):
        return any(fnmatch(part, pattern[3:]) for part in parts)
    depth = pattern.count("/") + 1
    return len(parts) >= depth and fnmatch("/".join(parts[:depth]), pattern)
