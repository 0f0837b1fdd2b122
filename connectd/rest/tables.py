"""Progress of tables, for people and the demo: connectd's own endpoint, beside Kafka's API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest.resource import connector_of, json_response, resource
from connectd.runtime.herder import Herder


def routes(herder: Herder) -> list[Route]:
    """``/connectd/connectors/C/tables``: rows of the connector and of every task served here."""

    async def get_tables(request: Request) -> Response:
        rows = await herder.tables(connector_of(request))
        return json_response({"tables": [dict(row) for row in rows]})

    return [resource("/connectd/connectors/{name}/tables", {"GET": get_tables})]
