"""Requests of other workers of the cluster (spec kafka-connect A.9); users get 400 or 403.

They carry a signature instead of a login, so no guard stands before those that do, nor where they
have to: ``is_internal``, ``is_signed``.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from connectd.rest import bodies
from connectd.rest.resource import Handler, connector_of, empty_response
from connectd.runtime.herder import Herder
from connectd.runtime.peers import ALGORITHM_HEADER, SIGNATURE_HEADER
from connectd.runtime.session_keys import Signature

_INTERNAL: Final = (
    ("POST", re.compile("/connectors/[^/]+/tasks")),
    ("PUT", re.compile("/connectors/[^/]+/fence")),
)


def post_tasks(herder: Herder) -> Handler:
    """``POST /connectors/C/tasks``: a task set that the connector's worker computed."""

    async def post(request: Request) -> Response:
        body = await bodies.read_bytes(request)
        await herder.internal.put_tasks(
            connector_of(request),
            bodies.parse_task_configs(body),
            signature=_signature(request),
            body=body,
        )
        return empty_response(HTTPStatus.NO_CONTENT)

    return post


def put_fence(herder: Herder) -> Handler:
    """``PUT /connectors/C/fence``: keep earlier generations of its tasks from writing."""

    async def put(request: Request) -> Response:
        body = await bodies.read_bytes(request)
        await herder.internal.fence(connector_of(request), signature=_signature(request), body=body)
        return empty_response(HTTPStatus.NO_CONTENT)

    return put


def is_internal(request: Request) -> bool:
    """Whether a request is one of these."""
    path = request.scope["path"]
    return any(
        request.method == method and pattern.fullmatch(path) for method, pattern in _INTERNAL
    )


def is_signed(request: Request) -> bool:
    """Whether there is a signature, which is checked then, whether it had to be there or not."""
    return _signature(request) is not None


def _signature(request: Request) -> Signature | None:
    algorithm = request.headers.get(ALGORITHM_HEADER)
    text = request.headers.get(SIGNATURE_HEADER)
    return None if algorithm is None or text is None else Signature(algorithm, text)
