"""Java's ``.properties`` files: comments, continued lines, escapes, three kinds of separators.

The grammar is that of ``java.util.Properties``; of a key that comes twice the last value holds.
Files are UTF-8; one that is not is read as ISO 8859-1, the encoding of the Java worker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from connectd.errors import ConfigError

FILE_BYTES_MAX: Final = 1_048_576  # a worker file has a few KB; more is another kind of file

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_BLANKS: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE_ESCAPE: Final = re.compile(r"[0-9a-fA-F]{4}")
_KEY: Final = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


def load(path: str | Path) -> dict[str, str]:
    """The pairs of a file, in its order.

    Raises:
        ConfigError: it cannot be read, is too large, or a line is malformed (with its number).
    """
    return parse_text(read_text(path), source=str(path))


def read_text(path: str | Path) -> str:
    """The text of a file, whatever it says.

    Raises:
        ConfigError: it cannot be read, or is too large.
    """
    try:
        with Path(path).open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"cannot read the file {path}: {reason}") from error
    if len(raw) > FILE_BYTES_MAX:
        raise ConfigError(f"{path} is larger than {FILE_BYTES_MAX} bytes: not a config file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("iso-8859-1")


def parse_text(text: str, *, source: str = "properties") -> dict[str, str]:
    """The pairs of a text; ``source`` names it in messages.

    Raises:
        ConfigError: a line is malformed (with its number).
    """
    pairs: dict[str, str] = {}
    for number, line in _logical_lines(text):
        where = f"{source}, line {number}"
        key_end = _key_end(line)
        separator = _SEPARATOR.match(line, key_end)
        value_start = separator.end() if separator else key_end
        pairs[_unescape(line[:key_end], where)] = _unescape(line[value_start:], where)
    return pairs


def dump(pairs: Mapping[str, str]) -> str:
    """Text that ``parse_text``, and Java, read back to the same pairs; ASCII only."""
    return "".join(
        f"{_escape(key, is_key=True)}={_escape(value)}\n" for key, value in pairs.items()
    )


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with content, continued ones joined, with the number of the first part."""
    joined: list[str] = []
    first_number = 0
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_BLANKS)
        if not joined:
            if not line or line[0] in "#!":
                continue
            first_number = number
        is_continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        joined.append(line[:-1] if is_continued else line)
        if not is_continued:
            yield first_number, "".join(joined)
            joined.clear()
    if joined:
        yield first_number, "".join(joined)


def _key_end(line: str) -> int:
    match = _KEY.match(line)
    return match.end() if match else 0


def _unescape(text: str, where: str) -> str:
    if "\\" not in text:
        return text
    parts: list[str] = []
    position = 0
    while (backslash := text.find("\\", position)) >= 0:
        parts.append(text[position:backslash])
        escaped = text[backslash + 1 : backslash + 2]
        position = backslash + 2
        if escaped == "u":
            digits = text[position : position + 4]
            if not _UNICODE_ESCAPE.fullmatch(digits):
                raise ConfigError(
                    f"{where}: malformed \\uXXXX escape: found '\\u{digits}', expected four "
                    "hexadecimal digits; write a backslash of a value as two"
                )
            parts.append(chr(int(digits, 16)))
            position += 4
        else:
            parts.append(_ESCAPES.get(escaped, escaped))
    parts.append(text[position:])
    return _join_surrogates("".join(parts), where)


def _join_surrogates(text: str, where: str) -> str:
    """Java writes a character beyond U+FFFF as two escapes."""
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise ConfigError(
            f"{where}: half of a surrogate pair; write both \\uXXXX escapes"
        ) from None


def _escape(text: str, *, is_key: bool = False) -> str:
    escaped = []
    for position, char in enumerate(text):
        if char in "\\#!=:" or (char == " " and (is_key or position == 0)):
            escaped.append(f"\\{char}")
        elif char in "\t\n\r\f":
            escaped.append({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}[char])
        elif " " <= char <= "~":
            escaped.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            escaped += [f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]
    return "".join(escaped)
