"""Reading request bodies, as leniently as Kafka Connect does and no more (spec A.1.3).

Numbers and booleans are taken where strings are wanted, and keep their spelling: ``1.50`` becomes
``"1.50"``. What cannot be meant (broken JSON, an object as a config value, an unknown member) is
answered with 400 here, where Kafka's own 500 would make clients try again; this module is the one
place that decides it. A message names places and keys, never values: bodies carry secrets.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.requests import ClientDisconnect, Request

from connectd.configdef import values
from connectd.model.states import TargetState
from connectd.rest.errors import RestError
from connectd.runtime.changes import SubmittedConfig
from connectd.runtime.offsets import OffsetEntry

_BODY_BYTES_MAX = 8 * 1024 * 1024
"""A config record may not exceed the topic's limit, which is far below this."""

_READ_DEADLINE_S = 60.0

_INITIAL_STATES = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}


@dataclass(frozen=True)
class CreateRequest:
    """The body of ``POST /connectors``; the name is trimmed."""

    name: str
    config: SubmittedConfig
    target: TargetState | None


async def read_create_request(request: Request) -> CreateRequest:
    """The body of ``POST /connectors``.

    Raises:
        RestError: 400, it is not one.
    """
    body = _object(await _read_json(request, keeps_numbers=False), "the request body")
    _refuse_unknown(body, ("name", "config", "initial_state"))
    name = _text(body.get("name"), "name")
    if "config" not in body:
        raise _bad("The request body has no 'config', expected an object with the configuration")
    config = _config(body["config"], "config")
    return CreateRequest(values.trim(name or ""), config, _target(body.get("initial_state")))


async def read_config(request: Request) -> SubmittedConfig:
    """A flat config.

    Raises:
        RestError: 400, it is not one.
    """
    return _config(await _read_json(request, keeps_numbers=False), "the request body")


async def read_offsets(request: Request) -> list[OffsetEntry]:
    """The body of ``PATCH /connectors/C/offsets``; empty when it has none.

    Raises:
        RestError: 400, it is not one.
    """
    body = _object(await _read_json(request, keeps_numbers=True), "the request body")
    _refuse_unknown(body, ("offsets",))
    entries = body.get("offsets")
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise _bad("'offsets' is not an array of objects with 'partition' and 'offset'")
    result = []
    for entry in entries:
        members = _object(entry, "an element of 'offsets'")
        _refuse_unknown(members, ("partition", "offset"))
        result.append(OffsetEntry(members.get("partition"), members.get("offset")))
    return result


async def read_level(request: Request) -> str:
    """The level in the body of ``PUT /admin/loggers/L``; other members are ignored.

    Raises:
        RestError: 400, it names none.
    """
    body = _object(await _read_json(request, keeps_numbers=False), "the request body")
    level = _text(body.get("level"), "level")
    if level is None:
        raise _bad("Desired 'level' parameter was not specified in request.")
    if not level:
        raise _bad("Illegal null or empty Level name.")
    return level


def parse_task_configs(body: bytes) -> list[dict[str, str]]:
    """The body of ``POST /connectors/C/tasks``: flat configs, nulls left out.

    Raises:
        RestError: 400, it is not that.
    """
    content = _parse(body, keeps_numbers=False)
    if not isinstance(content, list):
        raise _bad(f"Expected the request body to be a JSON array, found {_kind(content)}")
    configs = [_config(each, "a task config") for each in content]
    return [{key: text for key, text in each.items() if text is not None} for each in configs]


async def _read_json(request: Request, *, keeps_numbers: bool) -> Any:
    body = await read_bytes(request)
    if body and "content-type" not in request.headers:
        status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        raise RestError(status, f"HTTP {status} {status.phrase}")
    return _parse(body, keeps_numbers=keeps_numbers)


async def read_bytes(request: Request) -> bytes:
    """The whole body as it was sent, however often it is asked for.

    Raises:
        RestError: 413, it is too large; 408, it did not arrive in time; 400, it never ended.
    """
    known = body_of(request)
    if known is not None:
        return known
    body = bytearray()
    try:
        async with asyncio.timeout(_READ_DEADLINE_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _BODY_BYTES_MAX:
                    raise RestError(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "HTTP 413 Request Entity Too Large"
                    )
    except TimeoutError:
        raise RestError(HTTPStatus.REQUEST_TIMEOUT, "HTTP 408 Request Timeout") from None
    except ClientDisconnect:
        raise _bad("The client went away before the end of the body") from None
    request.state.body = bytes(body)
    return bytes(body)


def body_of(request: Request) -> bytes | None:
    """The body that has been read by now; None: none was."""
    body: bytes | None = getattr(request.state, "body", None)
    return body


def _parse(body: bytes, *, keeps_numbers: bool) -> Any:
    if not body.strip():
        raise _bad("The request has no body, expected JSON")
    numbers: dict[str, Any] = {} if keeps_numbers else {"parse_int": str, "parse_float": str}
    try:
        text = body.decode("utf-8")
        content = json.loads(text, parse_constant=_refuse_constant, **numbers)
        # A lone surrogate passes as an escape, but is no text that could be stored.
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise _bad(f"Malformed JSON at {place}: {error.msg}") from None
    except UnicodeError:
        raise _bad("Malformed JSON: the body is not valid UTF-8") from None
    except RecursionError:
        raise _bad("Malformed JSON: nested too deeply") from None
    except ValueError:
        raise _bad("Malformed JSON: a number cannot be represented") from None
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _bad(message: str) -> RestError:
    return RestError(HTTPStatus.BAD_REQUEST, message)


def _object(content: Any, what: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise _bad(f"Expected {what} to be a JSON object, found {_kind(content)}")
    return content


def _kind(content: object) -> str:
    if content is None:
        return "null"
    names = {bool: "a boolean", list: "an array", dict: "an object", str: "a string or number"}
    return names.get(type(content), "a number")


def _refuse_unknown(body: Mapping[str, Any], known: Collection[str]) -> None:
    unknown = sorted(body.keys() - set(known))
    if unknown:
        names = ", ".join(f'"{name}"' for name in unknown)
        raise _bad(f"Unrecognized field {names}, expected only: {', '.join(known)}")


def _text(content: Any, what: str) -> str | None:
    if isinstance(content, bool):
        return "true" if content else "false"
    if content is None or isinstance(content, str):
        return content
    raise _bad(f"The value of '{what}' is {_kind(content)}, expected a string")


def _config(content: Any, what: str) -> SubmittedConfig:
    return {key: _text(value, key) for key, value in _object(content, what).items()}


def _target(content: Any) -> TargetState | None:
    text = _text(content, "initial_state")
    if text is None:
        return None
    state = _INITIAL_STATES.get(text.strip().upper())
    if state is None:
        raise _bad(f"The value of 'initial_state' must be one of {', '.join(_INITIAL_STATES)}")
    return state
