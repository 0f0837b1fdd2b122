"""Names of fields: plain ones (V1), and paths into structs and maps (V2, KIP-821).

In a path dots descend; a pair of backticks around a step lets its name contain dots. Where the name
itself has a backtick before a dot, a backslash before the backtick says that it is no end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connectd.errors import ConfigError

_BACKTICK: Final = "`"
_END: Final = "`."
_ESCAPED_END: Final = "\\`."


@dataclass(frozen=True)
class FieldPath:
    """The steps from the outermost struct or map to a field; at least one."""

    text: str
    steps: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, version: str) -> FieldPath:
        """A name (``V1``) or a path (``V2``, in any case).

        Raises:
            ConfigError: a backtick lacks its partner.
        """
        if version.upper() == "V1":
            return cls(text, (text,))
        steps = []
        rest, start = text, 0
        while True:
            step, length = _step(text, rest, start)
            steps.append(step)
            if length >= len(rest):
                return cls(text, tuple(steps))
            rest, start = rest[length + 1 :], start + length + 1


def _step(path: str, rest: str, start: int) -> tuple[str, int]:
    """The first step of ``rest``, and how many characters it takes up."""
    if not rest.startswith(_BACKTICK):
        length = rest.find(".")
        length = len(rest) if length < 0 else length
        return rest[:length], length
    end = rest.find(_BACKTICK, 1)
    while end >= 0:
        ends_step = end + 1 == len(rest) or rest[end + 1] == "."
        if ends_step and rest[end - 1] != "\\":
            return rest[1:end].replace(_ESCAPED_END, _END), end + 1
        end = rest.find(_BACKTICK, end + 1)
    raise ConfigError(
        f"Incomplete backtick pair in path: [{path}], consider adding a backslash before backtick "
        f"at position {start} to escape it"
    )
