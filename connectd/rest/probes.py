"""Probes, for Kubernetes and load balancers: connectd's own, beside Kafka Connect's ``/health``.

*Live* means that the event loop turns: who gets an answer at all has the answer, and only a process
that is to be killed gives none. *Ready* means that requests may come here: internal topics are read
and the brokers answer. Neither says anything about connectors: one that has failed, or a table that
stands still, is told by metrics, and no reason to restart a worker. Both are answered without a
login, because a kubelet has none; they name no connector and no table.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest.resource import json_response, resource
from connectd.runtime.herder import Herder

LIVE: Final = "/connectd/health/live"
READY: Final = "/connectd/health/ready"

PATHS: Final = frozenset({LIVE, READY})
"""Answered to everybody."""


def routes(herder: Herder) -> list[Route]:
    """Both answer at once, whatever the herder does."""

    async def get_live(request: Request) -> Response:
        return json_response({"status": "live"})

    async def get_ready(request: Request) -> Response:
        readiness = herder.readiness()
        body = {
            "status": "ready" if readiness.is_ready else "not ready",
            "reasons": list(readiness.reasons),
            "tables_degraded": readiness.tables_degraded,
        }
        is_ready = readiness.is_ready
        status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
        return json_response(body, status=status)

    return [resource(LIVE, {"GET": get_live}), resource(READY, {"GET": get_ready})]
