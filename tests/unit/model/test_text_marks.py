"""Bytes with marks are cut where texts go, and filled with others."""

from __future__ import annotations

import io

import pytest
from fastavro import schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from connectd.model import java_json, text_marks
from connectd.model.schema import STRING, Field, Schema, SchemaType, Struct
from connectd.model.text_marks import MARKS, Pattern, TextForm
from tests.kit import items

_ONE, _TWO = MARKS[:2]


def _written(form: TextForm, *texts: str) -> bytes:
    """Some texts as a format has them, with something between them."""
    match form:
        case TextForm.JSON:
            return java_json.dumps({"a": 1, "texts": list(texts), "b": None})
        case TextForm.COUNTED:
            written = io.BytesIO()
            schemaless_writer(written, {"type": "array", "items": "string"}, texts)
            return written.getvalue()
        case TextForm.BARE:
            return f"Texts{{{','.join(texts)}}}".encode()


@pytest.mark.parametrize("form", TextForm, ids=lambda form: form.name)
@given(st.lists(items.texts | st.text("é", min_size=30, max_size=5_000), min_size=2, max_size=2))
@items.examples
def test_filled_bytes_are_those_that_the_format_writes(form: TextForm, texts: list[str]) -> None:
    pattern = text_marks.cut(_written(form, _ONE, _TWO, _ONE), form)
    assert pattern is not None
    assert pattern.marks == (0, 1, 0)
    fill = pattern.fill([text_marks.text_encoder(form)] * 2)
    assert fill(texts) == _written(form, *texts, texts[0])


@pytest.mark.parametrize("form", TextForm, ids=lambda form: form.name)
def test_a_text_in_utf8_is_the_same_text(form: TextForm) -> None:
    for text in ("", "a", "é😀" * 50, '{"a":"\\u001F"}', "x" * 20_000):
        assert text_marks.utf8_encoder(form)(text.encode()) == text_marks.text_encoder(form)(text)


def test_bytes_without_marks_stay_as_they_are() -> None:
    assert text_marks.cut(b"", TextForm.JSON) == Pattern((b"",), ())
    pattern = text_marks.cut(b'{"a":1}', TextForm.JSON)
    assert pattern is not None
    assert pattern.fill([])(["text"]) == b'{"a":1}'


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (f'"before {_ONE}"', TextForm.JSON),
        (f'"{_ONE} behind"', TextForm.JSON),
        (f'"{_ONE}{_TWO}"', TextForm.JSON),
        (f'"{{\\"inner\\":\\"{_ONE}\\"}}"', TextForm.JSON),
        (_ONE, TextForm.JSON),
        (f"\x02{_ONE}", TextForm.COUNTED),
    ],
)
def test_a_mark_that_does_not_stand_alone_is_not_cut_out(data: str, form: TextForm) -> None:
    assert text_marks.cut(data.encode(), form) is None


def test_a_mark_is_not_to_be_looked_into() -> None:
    for text in ("", "a" * len(_ONE), f"{_ONE} "):
        assert text_marks.read(text) == text
    with pytest.raises(text_marks.MarkedTextError):
        text_marks.read(f"{_TWO}")


def test_marks_are_found_at_any_depth() -> None:
    schema = Schema(SchemaType.STRUCT, fields=(Field("a", STRING), Field("b", STRING)))
    for value in (
        _ONE,
        f"({_ONE})",
        [1, [_TWO]],
        {"a": _ONE},
        {_ONE: 1},
        Struct(schema, ("", _ONE)),
    ):
        assert text_marks.are_in(value)
    for other in (None, 1, b"", "text" * 40, ["a"], {"a": "b"}, Struct(schema, ("a", "b"))):
        assert not text_marks.are_in(other)


def test_half_a_character_has_no_form() -> None:
    for form in TextForm:
        with pytest.raises((TypeError, ValueError)):
            text_marks.text_encoder(form)("\ud83d")
