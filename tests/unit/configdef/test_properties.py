"""Java's .properties grammar, its corners included."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.configdef import properties
from connectd.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=b", {"a": "b"}),
        ("a : b", {"a": "b"}),
        ("a b c", {"a": "b c"}),
        ("a\t=\fb", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=b", {"": "b"}),
        ("a==b", {"a": "=b"}),
        ("a=b # no comment", {"a": "b # no comment"}),
        ("  # comment\n! comment\n\n   \n a=b", {"a": "b"}),
        ("# comment \\\na=b", {"a": "b"}),
        ("a=b \\\n   c\\\n\td", {"a": "b cd"}),
        ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\\\\\nc", {"a": "b\\c"}),
        ("a=b\\", {"a": "b"}),
        ("a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
        ("a=\\u00e9\\u0041", {"a": "éA"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a= b ", {"a": "b "}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\\\n#c", {"a": "b#c"}),
        ("url=http://h:1", {"url": "http://h:1"}),
        ("", {}),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, pairs: dict[str, str]) -> None:
    assert properties.parse_text(text) == pairs


@pytest.mark.parametrize("escape", ["\\u12", "\\u12g4", "\\u+123", "\\u"])
def test_a_malformed_escape_is_refused_with_its_line(escape: str) -> None:
    with pytest.raises(ConfigError, match=r"worker\.properties, line 4: malformed"):
        properties.parse_text(f"# c\na=b\\\n  c\nd={escape}", source="worker.properties")


def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ConfigError, match="line 1: half of a surrogate pair"):
        properties.parse_text("a=\\ud83d")


def test_the_line_of_a_continued_pair_is_its_first() -> None:
    with pytest.raises(ConfigError, match="line 2: malformed"):
        properties.parse_text("a=b\nc=\\\n\\\n\\ux")


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=12), max_size=6))
def test_what_is_written_reads_back(pairs: dict[str, str]) -> None:
    text = properties.dump(pairs)
    assert text.isascii()
    assert properties.parse_text(text) == pairs


def test_a_file_is_utf8_with_or_without_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "w.properties"
    path.write_bytes(b"\xef\xbb\xbfa=\xc3\xa9\n")
    assert properties.load(path) == {"a": "é"}


def test_a_file_that_is_not_utf8_is_latin1(tmp_path: Path) -> None:
    path = tmp_path / "w.properties"
    path.write_bytes(b"a=\xe9\n")
    assert properties.load(str(path)) == {"a": "é"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the file .*/nope: No such file"):
        properties.load(tmp_path / "nope")
    with pytest.raises(ConfigError, match="Is a directory"):
        properties.load(tmp_path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "w.properties"
    path.write_bytes(b"#" * (properties.FILE_BYTES_MAX + 1))
    with pytest.raises(ConfigError, match="not a config file"):
        properties.load(path)
