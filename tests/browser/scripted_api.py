"""Answers that a test makes up, in place of the worker's: for what takes hours, or a disaster.

The page itself comes from the worker. What it asks the API is answered here, and counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Page, Route

from tests.browser.dashboard import Dashboard

WORKER_ID = "10.0.0.7:8083"

Row = dict[str, Any]


def table(name: str, state: str = "SYNC", **members: Any) -> Row:
    """A row as connector DynamoDBSource shows it; ``members`` replace some."""
    return {
        "table": name,
        "task": 0,
        "state": state,
        "reason": "",
        "topic": f"dynamodb-{name}",
        "items_scanned": 1200,
        "items_estimated": 1200,
        "records_sent": 1200,
        "lag_s": 0.2 if state == "SYNC" else None,
        "shards_open": 4 if state == "SYNC" else 0,
        "shards_waiting": 0,
        "gaps": 0,
        "last_read_age_s": 0.1 if state == "SYNC" else None,
        "scan": None,
        **members,
    }


def scanning(name: str, items: int, estimated: int, **scan: Any) -> Row:
    """A table in INIT_SYNC."""
    rates = {"engine": "worker", "segments": 4, "segments_finished": 1}
    return table(
        name,
        "INIT_SYNC",
        items_scanned=items,
        items_estimated=estimated,
        records_sent=items,
        scan={**rates, "items_per_s": None, "left_s": None, **scan},
    )


class ScriptedApi:
    """``connectors`` by name: their status; ``tables`` by name of the connector: their rows."""

    def __init__(self, page: Page) -> None:
        self.connectors: dict[str, Mapping[str, Any]] = {}
        self.tables: dict[str, Sequence[Row]] = {}
        self.asked: list[str] = []
        self.changes: list[str] = []
        self.change_status = 204
        self.is_away = False
        self.reasons_not_ready: list[str] = []
        self.unanswered: list[dict[str, str]] = []
        self._page = page

    def add(
        self,
        name: str,
        *rows: Row,
        state: str = "RUNNING",
        tasks: Sequence[str] = ("RUNNING",),
        trace: str = "",
        connector_trace: str = "",
    ) -> None:
        """A connector; every task that is FAILED has the trace."""
        self.connectors[name] = {
            "name": name,
            "connector": {
                "state": state,
                "worker_id": WORKER_ID,
                **({"trace": connector_trace} if connector_trace else {}),
            },
            "tasks": [
                {
                    "id": number,
                    "state": each,
                    "worker_id": WORKER_ID,
                    **({"trace": trace} if each == "FAILED" else {}),
                }
                for number, each in enumerate(tasks)
            ],
            "type": "source",
        }
        self.tables[name] = rows

    def open(self, dashboard: Dashboard) -> None:
        """Open the page on these answers."""
        self._page.route(lambda url: not urlsplit(url).path.startswith("/ui"), self._answer)
        dashboard.open()

    def _answer(self, route: Route) -> None:
        request = route.request
        path = urlsplit(request.url).path
        self.asked.append(path)
        if self.is_away:
            route.abort("connectionrefused")
        elif request.method != "GET":
            self.changes.append(f"{request.method} {request.url.split('/', 3)[3]}")
            error = {"error_code": self.change_status, "message": "a rebalance is under way"}
            is_refused = self.change_status >= 400
            _fulfill(route, error if is_refused else None, self.change_status)
        elif path == "/":
            _fulfill(route, {"version": "1.2.3", "commit": "c0ffee", "kafka_cluster_id": "k"})
        elif path == "/connectd/health/ready":
            reasons = self.reasons_not_ready
            told = {"status": "not ready" if reasons else "ready", "reasons": reasons}
            _fulfill(route, {**told, "tables_degraded": 0}, 503 if reasons else 200)
        elif path == "/connectors":
            _fulfill(route, {name: self._entry(name) for name in self.connectors})
        else:
            rows = self.tables[unquote(path.split("/")[3])]
            missing = {"unanswered": self.unanswered} if self.unanswered else {}
            _fulfill(route, {"tables": rows, **missing})

    def _entry(self, name: str) -> dict[str, Any]:
        config = {"connector.class": "connectd.DynamoDBSource"}
        info = {"name": name, "config": config, "tasks": [], "type": "source"}
        return {"status": self.connectors[name], "info": info}


def _fulfill(route: Route, content: object, status: int = 200) -> None:
    body = "" if content is None else json.dumps(content)
    route.fulfill(status=status, content_type="application/json", body=body)
