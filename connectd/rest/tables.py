"""Progress of tables, for people and the demo: connectd's own endpoint, beside Kafka's API."""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest.forwarding import Forwarder
from connectd.rest.resource import connector_of, resource
from connectd.runtime.herder import Herder


def routes(herder: Herder) -> list[Route]:
    """``/connectd/connectors/C/tables``: rows of the connector and of its tasks, wherever they run.

    Where those of a worker are missing, ``unanswered`` names it and says why.
    """

    async def get_tables(request: Request) -> Response:
        connector = connector_of(request)
        rows = list(await herder.tables(connector))
        forward: Forwarder = request.app.state.forward
        unanswered = []
        elsewhere = herder.roles.urls_elsewhere(herder.views.workers_of(connector))
        for part in await forward.parts(request, elsewhere):
            if part.content is None:
                unanswered.append({"url": part.url, "reason": part.why})
            else:
                rows += part.content.get("tables", [])
        # Not by the encoder of the other answers: with 1,000 tables it takes as long as all else.
        body = orjson.dumps({"tables": rows, **({"unanswered": unanswered} if unanswered else {})})
        return Response(body, media_type="application/json")

    return [resource("/connectd/connectors/{name}/tables", {"GET": get_tables})]
