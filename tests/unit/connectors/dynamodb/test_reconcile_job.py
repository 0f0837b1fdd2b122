"""What goes to Spark for a comparison, and what comes back."""

from __future__ import annotations

import pytest

from connectd.connectors.dynamodb.reconcile_job import FirstLook, ReconcileJob
from connectd.connectors.dynamodb.reconciling import Compared, Counts
from connectd.connectors.dynamodb.second_look import Candidate
from connectd.errors import ConfigError


def test_a_job_is_read_as_it_was_written_and_prints_no_password() -> None:
    job = ReconcileJob({"sasl.password": "very-secret"}, {"t": {0: 5, 11: 2**40}}, 7)
    assert ReconcileJob.from_json(job.to_json()) == job
    assert "very-secret" not in repr(job)


def test_a_result_is_read_as_it_was_written() -> None:
    differences = (
        Candidate(b"\xff", "t", b"\0key", b"{}", b"1", b"2", 0, 5, 1000),
        Candidate(b"\0", "t", None, None, None, b"2", 1, 2**40, 1000),
        Candidate(b"", "t", b"", b"{}", b"1", None, None, None, None),
    )
    result = FirstLook(Counts(items=2, stale=1, extra=1), Compared.JSON, differences)
    assert FirstLook.from_json(result.to_json()) == result


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"ends":1,"consumer":{}}', b'{"counts":1}'])
def test_what_is_neither_is_refused(text: bytes) -> None:
    with pytest.raises(ConfigError, match="reading a reconcile job"):
        ReconcileJob.from_json(text)
    with pytest.raises(ConfigError, match="reading the result"):
        FirstLook.from_json(text)


def test_counts_are_added_and_taken_away() -> None:
    total, here = Counts(items=10, equal=7, missing=3), Counts(items=3, missing=3)
    assert here.plus(total.minus(here)) == total
