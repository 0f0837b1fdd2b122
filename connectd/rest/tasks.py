"""The tasks of a connector (spec A.4)."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest import internal, schemas
from connectd.rest.resource import (
    connector_of,
    empty_response,
    json_response,
    resource,
    task_of,
)
from connectd.runtime.herder import Herder


def routes(herder: Herder) -> list[Route]:
    """Everything under ``/connectors/C/tasks``, and the fence around them."""

    async def get_tasks(request: Request) -> Response:
        tasks = await herder.views.tasks(connector_of(request))
        return json_response([schemas.task_info(task) for task in tasks])

    async def get_status(request: Request) -> Response:
        task = task_of(request)
        return json_response(schemas.task_state(task, await herder.views.task_status(task)))

    async def post_restart(request: Request) -> Response:
        await herder.restarts.restart_task(task_of(request))
        return empty_response(HTTPStatus.NO_CONTENT)

    return [
        resource(
            "/connectors/{name}/tasks",
            {"GET": get_tasks, "POST": internal.post_tasks(herder)},
            any_type=("POST",),
        ),
        resource(
            "/connectors/{name}/fence", {"PUT": internal.put_fence(herder)}, any_type=("PUT",)
        ),
        resource("/connectors/{name}/tasks/{task}/status", {"GET": get_status}),
        resource("/connectors/{name}/tasks/{task}/restart", {"POST": post_restart}),
    ]
