"""The Grafana dashboard: legal, and about metrics that there are."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from connectd.observe import metrics_own
from tests.harness import promtool
from tests.monitoring.expressions import metrics_of

DASHBOARD = Path(__file__).parents[2] / "helm" / "connectd" / "files" / "dashboard.json"


def dashboard() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return document


def panels() -> Iterator[dict[str, Any]]:
    yield from (panel for panel in dashboard()["panels"] if panel["type"] != "row")


def queries() -> Iterator[str]:
    for panel in panels():
        yield from (target["expr"] for target in panel["targets"])


def test_every_metric_is_in_the_catalogue() -> None:
    known = set(metrics_own.all_names())
    for query in queries():
        named = metrics_of(query)
        assert named, query
        assert named <= known, query
    for variable in dashboard()["templating"]["list"]:
        assert metrics_of(json.dumps(variable)) <= known, variable["name"]


@pytest.mark.timeout(1500)
def test_every_query_is_legal(tmp_path: Path) -> None:
    """As recording rules, with values in the place of Grafana's variables."""
    rules = [
        {
            "record": f"panel:query:{number}",
            "expr": query.replace("$__rate_interval", "5m").replace("$", "x"),
        }
        for number, query in enumerate(queries())
    ]
    (tmp_path / "rules.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]})
    )
    answer = promtool.run("check", "rules", "rules.yaml", cwd=tmp_path)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert f"{len(rules)} rules found" in answer.stdout


def test_variables_of_queries_are_declared() -> None:
    declared = {variable["name"] for variable in dashboard()["templating"]["list"]}
    for query in queries():
        used = {word.split('"')[0] for word in query.split("$")[1:] if not word.startswith("__")}
        assert used <= declared, query


def test_a_connector_without_tasks_can_be_chosen() -> None:
    """While a table cannot be judged, or a connector is stopped, there is nothing else to see."""
    variables = {variable["name"]: variable for variable in dashboard()["templating"]["list"]}
    assert metrics_of(json.dumps(variables["connector"])) == {"kafka_connect_connector_status"}


def test_panels_do_not_lie_on_each_other() -> None:
    everything = dashboard()["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    for one, other in itertools.combinations((panel["gridPos"] for panel in everything), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below, (one, other)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in everything)


def test_every_panel_says_what_it_shows_and_uses_the_chosen_prometheus() -> None:
    for panel in panels():
        assert panel["description"].endswith("."), panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert all(each["datasource"] == panel["datasource"] for each in panel["targets"])
