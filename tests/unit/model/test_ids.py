"""Names and positions order as what they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.model.ids import ConnectorTaskId, SequenceNumber

numbers = st.integers(min_value=0, max_value=10**40)


@given(numbers, numbers)
def test_sequence_numbers_order_as_integers_of_any_length(one: int, other: int) -> None:
    left, right = SequenceNumber(str(one)), SequenceNumber(str(other))
    assert (left < right) == (one < other)
    assert (left <= right) == (one <= other)
    assert (left == right) == (one == other)


def test_leading_zeros_make_no_difference_but_the_text_stays() -> None:
    padded, plain = SequenceNumber("000123"), SequenceNumber("123")
    assert padded == plain
    assert hash(padded) == hash(plain)
    assert str(padded) == "000123"


@pytest.mark.parametrize("text", ["", "12a", "-1", " 1", "1.0", "٣"])
def test_a_sequence_number_is_decimal_digits(text: str) -> None:
    with pytest.raises(ValueError, match="expected decimal digits"):
        SequenceNumber(text)


def test_a_sequence_number_equals_no_text() -> None:
    assert SequenceNumber("1") != "1"


def test_tasks_print_as_kafka_connect_does_and_order_by_number() -> None:
    assert str(ConnectorTaskId("orders-2", 10)) == "orders-2-10"
    tasks = [ConnectorTaskId("b", 0), ConnectorTaskId("a", 10), ConnectorTaskId("a", 2)]
    assert sorted(tasks) == [
        ConnectorTaskId("a", 2),
        ConnectorTaskId("a", 10),
        ConnectorTaskId("b", 0),
    ]
