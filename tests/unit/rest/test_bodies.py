"""What clients send: read leniently, refused with places and keys but never with values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.requests import Request

from connectd.model.states import TargetState
from connectd.rest import bodies
from connectd.rest.errors import RestError
from connectd.runtime.offsets import OffsetEntry
from tests.kit.virtual import virtual

SECRET = "hunter2"


def _request(body: bytes, *, chunks: int = 1) -> Request:
    size = max(1, -(-len(body) // chunks))
    parts = [body[at : at + size] for at in range(0, len(body), size)] or [b""]

    async def receive() -> dict[str, Any]:
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "PUT", "path": "/", "headers": headers, "query_string": b""}
    return Request(scope, receive)


async def _refusal(body: bytes) -> str:
    with pytest.raises(RestError) as caught:
        await bodies.read_config(_request(body))
    assert caught.value.status == 400
    return str(caught.value)


@virtual
async def test_scalars_become_text_in_the_spelling_of_the_body() -> None:
    body = b'{"a":1,"b":1.50,"c":1e5,"d":true,"e":false,"f":null,"g":"x","h":123456789012345678901}'
    assert await bodies.read_config(_request(body, chunks=7)) == {
        "a": "1",
        "b": "1.50",
        "c": "1e5",
        "d": "true",
        "e": "false",
        "f": None,
        "g": "x",
        "h": "123456789012345678901",
    }


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "The request has no body, expected JSON"),
        (b"  \n", "The request has no body, expected JSON"),
        (b"null", "Expected the request body to be a JSON object, found null"),
        (b"[]", "Expected the request body to be a JSON object, found an array"),
        (b'"x"', "Expected the request body to be a JSON object, found a string or number"),
        (b"5", "Expected the request body to be a JSON object, found a string or number"),
        (b"true", "Expected the request body to be a JSON object, found a boolean"),
        (b'{"k":{"x":1}}', "The value of 'k' is an object, expected a string"),
        (b'{"k":[1]}', "The value of 'k' is an array, expected a string"),
        (b'{"k":NaN}', "Malformed JSON: a number cannot be represented"),
        (b'{"k":"\xff"}', "Malformed JSON: the body is not valid UTF-8"),
        (b'{"k":"\\ud800"}', "Malformed JSON: the body is not valid UTF-8"),
        (b"[" * 100_000, "Malformed JSON: nested too deeply"),
    ],
)
@virtual
async def test_what_cannot_be_meant_is_refused(body: bytes, text: str) -> None:
    assert await _refusal(body) == text


@virtual
async def test_broken_json_is_located_and_not_repeated() -> None:
    body = f'{{"name":"s",\n "password":"{SECRET}" oops}}'.encode()
    text = await _refusal(body)
    assert text.startswith("Malformed JSON at line 2 column ")
    assert SECRET not in text
    assert "oops" not in text


@pytest.mark.parametrize("value", [[SECRET], {"x": SECRET}])
@virtual
async def test_a_nested_secret_is_not_repeated(value: object) -> None:
    assert SECRET not in await _refusal(json.dumps({"password": value}).encode())


@virtual
async def test_a_body_has_a_limit() -> None:
    with pytest.raises(RestError) as caught:
        await bodies.read_config(_request(b" " * (8 * 1024 * 1024 + 1), chunks=10))
    assert caught.value.status == 413


@virtual
async def test_a_create_request_has_a_trimmed_name_a_config_and_perhaps_a_state() -> None:
    body = b'{"name":" x\\u0001 ","config":{"a":1},"initial_state":"Paused"}'
    request = await bodies.read_create_request(_request(body))
    assert request == bodies.CreateRequest("x", {"a": "1"}, TargetState.PAUSED)
    request = await bodies.read_create_request(_request(b'{"config":{},"initial_state":null}'))
    assert request == bodies.CreateRequest("", {}, None)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"name": "x"}, "The request body has no 'config'"),
        ({"name": "x", "config": None}, "Expected config to be a JSON object, found null"),
        ({"name": "x", "config": [1]}, "Expected config to be a JSON object, found an array"),
        ({"name": {}, "config": {}}, "The value of 'name' is an object, expected a string"),
        (
            {"config": {}, "initial_state": "FOO"},
            "The value of 'initial_state' must be one of RUNNING, PAUSED, STOPPED",
        ),
        (
            {"config": {}, "tasks": [], "b": 1},
            'Unrecognized field "b", "tasks", expected only: name, config, initial_state',
        ),
    ],
)
@virtual
async def test_other_create_requests_are_refused(body: object, text: str) -> None:
    with pytest.raises(RestError) as caught:
        await bodies.read_create_request(_request(json.dumps(body).encode()))
    assert caught.value.status == 400
    assert str(caught.value).startswith(text)


@virtual
async def test_numbers_in_offsets_stay_numbers() -> None:
    body = b'{"offsets":[{"partition":{"p":1},"offset":{"n":9007199254740993,"f":1.5,"b":true}}]}'
    assert await bodies.read_offsets(_request(body)) == [
        OffsetEntry({"p": 1}, {"n": 9007199254740993, "f": 1.5, "b": True})
    ]


@pytest.mark.parametrize(
    "body", [{"offsets": {}}, {"offsets": [1]}, {"offsets": [{"x": 1}]}, {"x": []}, []]
)
@virtual
async def test_other_offset_requests_are_refused(body: object) -> None:
    with pytest.raises(RestError) as caught:
        await bodies.read_offsets(_request(json.dumps(body).encode()))
    assert caught.value.status == 400
