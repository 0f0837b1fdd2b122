"""Any chain of transforms takes any record: it passes, is dropped, or is refused in words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.errors import RecordError
from connectd.model.record import SourceRecord
from connectd.model.schema import OPTIONAL_STRING, Schema, SchemaType, Struct
from connectd.plugins.chaining import Step, TransformChain
from connectd.transforms import catalogue
from tests.unit.transforms.given import made, schema, struct

_SETTINGS: dict[str, dict[str, str]] = {
    "Cast": {"spec": "a:string"},
    "DropHeaders": {"headers": "h"},
    "ExtractField": {"field": "a"},
    "Filter": {},
    "Flatten": {},
    "HeaderFrom": {"fields": "a", "headers": "h", "operation": "move"},
    "HoistField": {"field": "f"},
    "InsertField": {"topic__field": "topic", "timestamp__field": "at"},
    "InsertHeader": {"header": "h", "value__literal": "[1,2]"},
    "MaskField": {"fields": "a"},
    "RegexRouter": {"regex": "(.*)", "replacement": "$1-x"},
    "ReplaceField": {"renames": "a:b"},
    "SetSchemaMetadata": {"schema__name": "n"},
    "TimestampConverter": {"target__type": "unix", "field": "a", "format": "yyyy"},
    "TimestampRouter": {},
    "ValueToKey": {"fields": "a"},
}


def _names() -> list[str]:
    kafka = "org.apache.kafka.connect.transforms."
    return [name for name in catalogue.TRANSFORMATIONS if name.startswith(kafka)]


def _step(name: str) -> Step:
    short = name.rpartition(".")[2].partition("$")[0]
    return Step(name, made(catalogue.TRANSFORMATIONS[name], **_SETTINGS[short]))


_STEPS = [_step(name) for name in _names()]
_CHAINS = st.lists(st.sampled_from(_STEPS), max_size=6).map(
    lambda steps: TransformChain(tuple(steps))
)
_KEEP = [step for step in _STEPS if not step.alias.endswith(".Filter")]
_REC = schema(("a", OPTIONAL_STRING), optional=True)


def _outcome(chain: TransformChain, whole: SourceRecord) -> SourceRecord | str | None:
    """What is left of the record, or the words in which it is refused."""
    try:
        return chain.apply(whole)
    except RecordError as error:
        return str(error)


def _record(value_schema: Schema | None, value: object) -> SourceRecord:
    return SourceRecord("t", None, {"id": 1}, value_schema, value, timestamp_ms=5)


@given(chain=_CHAINS, with_schema=st.booleans())
def test_a_tombstone_passes_any_chain_or_is_refused_in_words(
    chain: TransformChain, with_schema: bool
) -> None:
    tombstone = _record(_REC if with_schema else None, None)
    assert "failed with" not in str(_outcome(chain, tombstone))
    assert tombstone == _record(_REC if with_schema else None, None)


_VALUES: list[tuple[Schema | None, Any]] = [
    (None, {"a": "2021"}),
    (None, {"a": None}),
    (None, {}),
    (None, 7),
    (_REC, struct(_REC, a="2021")),
    (_REC, struct(_REC)),
    (Schema(SchemaType.INT64), 7),
    (Schema(SchemaType.BYTES), b"x"),
]


@pytest.mark.parametrize(("value_schema", "value"), _VALUES)
@given(chain=_CHAINS)
def test_any_record_passes_any_chain_or_is_refused_in_words(
    value_schema: Schema | None, value: object, chain: TransformChain
) -> None:
    left = _outcome(chain, _record(value_schema, value))
    assert "failed with" not in str(left)
    if isinstance(left, SourceRecord) and isinstance(left.value, Struct):
        assert left.value.schema == left.value_schema


def test_transforms_that_move_nothing_leave_a_tombstone_a_tombstone() -> None:
    keeping = (
        "RegexRouter",
        "TimestampRouter",
        "DropHeaders",
        "InsertHeader",
        "ReplaceField$Value",
    )
    chain = TransformChain(tuple(step for step in _KEEP if step.alias.endswith(keeping)))
    left = chain.apply(_record(None, None))
    assert left is not None
    assert left.value is None
    assert left.topic.startswith("t-x")
