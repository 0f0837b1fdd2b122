"""Reads the members of a JSON object strictly: each is there, is of its type, and is asked for.

Two processes talk in such objects (``scan_job``, ``scan_reports``), perhaps of different releases;
what does not fit is to be named, not guessed. Values are shown by their type only: they may be
passwords. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self

import orjson

from connectd.errors import ConfigError


class Members:
    """One object on its way to being read; ``what`` begins every message.

    Every method raises ``ConfigError`` for a member that is missing or of another type.
    """

    def __init__(self, what: str, members: Mapping[str, Any]) -> None:
        self.what = what
        self._left = dict(members)

    @classmethod
    def parse(cls, what: str, text: bytes) -> Self:
        """Of JSON text."""
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise ConfigError(f"{what}: found {len(text)} bytes, expected JSON ({error})") from None
        if not isinstance(found, dict):
            raise ConfigError(f"{what}: found a {type(found).__name__}, expected a JSON object")
        return cls(what, found)

    def within(self, name: str, value: Any) -> Members:
        """An object inside, which messages call by this name."""
        if not isinstance(value, dict):
            self._refuse(name, value, "a JSON object")
        return Members(f"{self.what}: {name}", value)

    def has(self, name: str) -> bool:
        """Whether there is such a member, and nobody has read it."""
        return name in self._left

    def text(self, name: str) -> str:
        """A text."""
        value = self._take(name)
        if not isinstance(value, str):
            self._refuse(name, value, "text")
        return value

    def optional_text(self, name: str) -> str | None:
        """A text or null."""
        return None if self._is_null(name) else self.text(name)

    def one_of(self, name: str, choices: Sequence[str]) -> str:
        """One of these texts."""
        value = self.text(name)
        if value not in choices:
            raise ConfigError(
                f"{self.what}: {name} is {value!r}, expected one of {', '.join(choices)}"
            )
        return value

    def boolean(self, name: str) -> bool:
        """True or false."""
        value = self._take(name)
        if not isinstance(value, bool):
            self._refuse(name, value, "true or false")
        return value

    def whole_number(self, name: str) -> int:
        """A whole number, not negative."""
        value = self._take(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self._refuse(name, value, "a whole number of 0 or more")
        return value

    def optional_whole_number(self, name: str) -> int | None:
        """A whole number, not negative, or null."""
        return None if self._is_null(name) else self.whole_number(name)

    def number(self, name: str) -> float:
        """A number, not negative."""
        value = self._take(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            self._refuse(name, value, "a number of 0 or more")
        return float(value)

    def optional_number(self, name: str) -> float | None:
        """A number, not negative, or null."""
        return None if self._is_null(name) else self.number(name)

    def array(self, name: str) -> list[Any]:
        """A list of anything."""
        value = self._take(name)
        if not isinstance(value, list):
            self._refuse(name, value, "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.array(name)
        if not all(isinstance(each, str) for each in value):
            self._refuse(name, value, "a list of texts")
        return tuple(value)

    def object(self, name: str) -> Members:
        """An object."""
        return self.within(name, self._take(name))

    def texts_by_name(self, name: str) -> dict[str, str]:
        """An object of texts."""
        value = self._take(name)
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
            self._refuse(name, value, "an object of texts")
        return value

    def take_all(self) -> dict[str, Any]:
        """Everything that is left, for somebody else to read."""
        left, self._left = self._left, {}
        return left

    def end(self) -> None:
        """Nothing more is wanted.

        Raises:
            ConfigError: something is left that nobody has asked for.
        """
        if self._left:
            names = ", ".join(sorted(self._left))
            raise ConfigError(
                f"{self.what}: found {names}, which nobody reads; do daemon and Spark run the same "
                "release?"
            )

    def _is_null(self, name: str) -> bool:
        if self._left.get(name, name) is not None:
            return False
        del self._left[name]
        return True

    def _take(self, name: str) -> Any:
        if name not in self._left:
            raise ConfigError(
                f"{self.what}: {name} is missing; do daemon and Spark run the same release?"
            )
        return self._left.pop(name)

    def _refuse(self, name: str, value: Any, expected: str) -> NoReturn:
        found = "null" if value is None else f"a {type(value).__name__}"
        raise ConfigError(f"{self.what}: {name} is {found}, expected {expected}")
