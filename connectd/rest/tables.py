"""Progress of tables, for people and the demo: connectd's own endpoint, beside Kafka's API."""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest.resource import connector_of, resource
from connectd.runtime.herder import Herder


def routes(herder: Herder) -> list[Route]:
    """``/connectd/connectors/C/tables``: rows of the connector and of every task served here."""

    async def get_tables(request: Request) -> Response:
        rows = await herder.tables(connector_of(request))
        # Not by the encoder of the other answers: with 1,000 tables it takes as long as all else.
        body = orjson.dumps({"tables": rows})
        return Response(body, media_type="application/json")

    return [resource("/connectd/connectors/{name}/tables", {"GET": get_tables})]
