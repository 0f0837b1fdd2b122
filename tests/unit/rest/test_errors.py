"""Every branch of the exception tree has its HTTP status."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from connectd import errors
from connectd.observe import redaction
from connectd.rest.errors import RestError, answer_to
from connectd.runtime.requests import RequestFailedError, RequestTimeoutError

REQUEST = Request({"type": "http", "method": "GET", "path": "/connectors", "headers": []})


def _all_errors(kind: type[Exception]) -> list[type[Exception]]:
    below = [each for child in kind.__subclasses__() for each in _all_errors(child)]
    return [kind, *below]


@pytest.mark.parametrize(
    "kind", [k for k in _all_errors(errors.ConnectdError) if k.__module__ == "connectd.errors"]
)
def test_what_we_raise_keeps_its_text(kind: type[Exception]) -> None:
    answer = answer_to(REQUEST, kind("what was found"))
    expected: dict[type[Exception], int] = {
        errors.ConfigError: 400,
        errors.NotFoundError: 404,
        errors.ConflictError: 409,
    }
    assert answer.status_code == expected.get(kind, 500)
    body = f'{{"error_code":{answer.status_code},"message":"what was found"}}'
    assert bytes(answer.body) == body.encode()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RequestFailedError("x"), 500),
        (RequestTimeoutError("x"), 500),
        (RestError(413, "x"), 413),  # type: ignore[arg-type]
    ],
)
def test_failures_of_requests_have_theirs(error: Exception, status: int) -> None:
    assert answer_to(REQUEST, error).status_code == status


@pytest.mark.parametrize(
    "error", [ValueError("secret"), errors.InvariantError("secret"), KeyError("secret")]
)
def test_what_nobody_meant_to_raise_keeps_its_text_to_itself(error: Exception) -> None:
    answer = answer_to(REQUEST, error)
    assert answer.status_code == 500
    assert b"secret" not in bytes(answer.body)
    assert type(error).__name__.encode() in bytes(answer.body)


def test_a_failure_that_repeats_a_secret_is_told_without_it() -> None:
    redaction.register_secret("PLANTsk7x")
    try:
        answer = answer_to(REQUEST, RequestFailedError("AWS: credential PLANTsk7x is denied"))
    finally:
        redaction.forget_secrets()
    assert b"credential [hidden] is denied" in bytes(answer.body)
