"""``GET /metrics``: the worker's numbers in the text that Prometheus reads.

Behind the login like everything else, since it names connectors and tables; Prometheus can log in,
and ``connectd.rest.basic.auth.public.paths`` can open it. On listeners of /admin it is served too,
without a login, as all that is there.

There is one format, and it is given to everybody, as JMX exporters do: a scraper that would rather
have OpenMetrics reads it by its content type.
"""

from __future__ import annotations

from typing import Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.observe.metrics import CONTENT_TYPE, Exposition
from connectd.rest.resource import resource

PATH: Final = "/metrics"


class MetricsSource(Protocol):
    """Who gathers the numbers."""

    async def text(self) -> bytes:
        """All of them, as of about now."""
        ...


class NoMetrics:
    """Of an application without a worker around it."""

    async def text(self) -> bytes:
        """Nothing."""
        return await Exposition().render()


def routes(source: MetricsSource) -> list[Route]:
    """The one path."""

    async def get_metrics(request: Request) -> Response:
        return Response(await source.text(), headers={"Content-Type": CONTENT_TYPE})

    return [resource(PATH, {"GET": get_metrics}, media_type=None)]
