"""Whatever the values: objects that Kubernetes accepts, fit each other, and are locked down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import client_env, helm
from tests.harness.helm import Manifest, Rendered
from tests.helm.value_sets import MONITORED, VALUE_SETS, chart

KUBERNETES = ("1.29", "1.37")
"""The oldest that Chart.yaml admits, and the newest whose schemas we have."""

HERE = Path(__file__).parent

each_set = pytest.mark.parametrize("name", VALUE_SETS)


@pytest.fixture(scope="module")
def rendered() -> dict[str, Rendered]:
    return {name: chart.render(values) for name, values in VALUE_SETS.items()}


def pods(objects: Rendered) -> Iterator[tuple[str, Manifest]]:
    """Every pod template, and the pod that executors are made from."""
    for each in objects.objects:
        if "template" in each.get("spec", {}):
            yield f"{each['kind']}/{each['metadata']['name']}", each["spec"]["template"]
    for executor in executor_pods(objects):
        yield "executor", executor


def executor_pods(objects: Rendered) -> Iterator[Manifest]:
    for each in objects.of("ConfigMap"):
        if "executor.yaml" in each["data"]:
            pod = yaml.safe_load(each["data"]["executor.yaml"])
            yield {**pod, "metadata": {"name": "executor", **pod["metadata"]}}


def matches(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_accepts_every_object(rendered: dict[str, Rendered], version: str) -> None:
    distinct = {
        json.dumps(each): each
        for objects in rendered.values()
        for each in [*objects.objects, *executor_pods(objects)]
        if each not in of_the_operator(objects)
    }
    assert len(distinct) > 30
    found = [
        problem
        for each in distinct.values()
        for problem in helm.problems_for_kubernetes(each, version)
    ]
    assert found == []


def of_the_operator(objects: Rendered) -> list[Manifest]:
    return [
        each for each in objects.objects if each["apiVersion"].startswith("monitoring.coreos.com/")
    ]


def test_the_prometheus_operator_accepts_its_objects(
    rendered: dict[str, Rendered], tmp_path: Path
) -> None:
    ours = [each for objects in rendered.values() for each in of_the_operator(objects)]
    monitor = rendered["monitored"].one("ServiceMonitor")
    wrong = {**monitor, "spec": {**monitor["spec"], "endpoint": [1]}}
    (tmp_path / "objects.json").write_text(json.dumps([*ours, wrong]))

    env = client_env.client_env(HERE / "requirements.txt")
    answer = env.run("python", str(HERE / "operator_models.py"), str(tmp_path / "objects.json"))

    assert answer.exit_code == 0, answer.stderr
    assert answer.json == ["ServiceMonitor: no such field: .spec.endpoint[0]"]
    assert len(ours) >= 2


def test_a_field_that_kubernetes_does_not_know_is_found(rendered: dict[str, Rendered]) -> None:
    stateful = rendered["defaults"].one("StatefulSet")
    wrong = {**stateful, "spec": {**stateful["spec"], "replica": 1}}
    assert "replica" in helm.problems_for_kubernetes(wrong, "1.37")[0]


@each_set
def test_helm_finds_nothing_to_complain_of(name: str) -> None:
    assert chart.lint(VALUE_SETS[name]) == []


@each_set
def test_pods_are_as_locked_down_as_the_restricted_profile_asks(
    rendered: dict[str, Rendered], name: str
) -> None:
    for where, pod in pods(rendered[name]):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, where
        assert spec["securityContext"]["runAsUser"] > 0, where
        assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault", where
        assert spec["enableServiceLinks"] is False, where
        own = [each for each in spec["containers"] if each["name"] not in ("beside",)]
        for container in own:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False, where
            assert security["capabilities"] == {"drop": ["ALL"]}, where
            assert security.get("readOnlyRootFilesystem") is (where != "executor" or None), where


@each_set
def test_only_a_driver_has_a_token_of_the_api_server(
    rendered: dict[str, Rendered], name: str
) -> None:
    with_token = [
        where for where, pod in pods(rendered[name]) if pod["spec"]["automountServiceAccountToken"]
    ]
    on_kubernetes = name == "spark on Kubernetes"
    assert with_token == (["StatefulSet/c-connectd"] if on_kubernetes else [])
    assert len(rendered[name].of("Role")) == int(on_kubernetes)


@each_set
def test_mounts_have_volumes_and_volumes_are_ours_or_named(
    rendered: dict[str, Rendered], name: str
) -> None:
    made = {each["metadata"]["name"] for each in rendered[name].of("ConfigMap")}
    for where, pod in pods(rendered[name]):
        volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", [])}
        mounts = [m for c in pod["spec"]["containers"] for m in c.get("volumeMounts", [])]
        assert {mount["name"] for mount in mounts} == set(volumes), where
        paths = [mount["mountPath"] for mount in mounts]
        assert len(set(paths)) == len(paths), where
        nested = [a for a in paths for b in paths if a != b and a.startswith(f"{b}/")]
        assert nested == [], f"{where}: a mount inside of a read-only one cannot be made"
        maps = {v["configMap"]["name"] for v in volumes.values() if "configMap" in v}
        assert maps - made <= {"authorities"}, where


@each_set
def test_selectors_find_the_pods_that_they_mean(rendered: dict[str, Rendered], name: str) -> None:
    objects = rendered[name]
    stateful = objects.one("StatefulSet")
    worker = stateful["spec"]["template"]["metadata"]["labels"]
    others = [
        pod["metadata"]["labels"] for where, pod in pods(objects) if "StatefulSet" not in where
    ]
    selectors = [
        stateful["spec"]["selector"]["matchLabels"],
        *(each["spec"]["selector"] for each in objects.of("Service")),
        *(each["spec"]["selector"]["matchLabels"] for each in objects.of("PodDisruptionBudget")),
        *(each["spec"]["podSelector"]["matchLabels"] for each in objects.of("NetworkPolicy")),
    ]
    assert all(matches(selector, worker) for selector in selectors)
    assert not any(matches(selector, labels) for selector in selectors for labels in others)
    for monitor in objects.of("ServiceMonitor"):
        wanted = monitor["spec"]["selector"]["matchLabels"]
        found = [s for s in objects.of("Service") if matches(wanted, s["metadata"]["labels"])]
        assert len(found) == 1
        ports = {port["name"] for port in found[0]["spec"]["ports"]}
        assert {each["port"] for each in monitor["spec"]["endpoints"]} <= ports


@each_set
def test_names_are_unique_and_everything_is_labelled(
    rendered: dict[str, Rendered], name: str
) -> None:
    objects = rendered[name].objects
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(set(names)) == len(names)
    assert all(len(n) <= 63 for _, n in names)
    for each in objects:
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "c"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"


def test_names_fit_where_the_release_has_a_long_one() -> None:
    objects = chart.render(VALUE_SETS["spark on Kubernetes"], release="r" * 53).objects
    assert [n for n in (each["metadata"]["name"] for each in objects) if len(n) > 63] == []
    assert {each["metadata"]["name"][0] for each in objects} == {"r"}


@pytest.mark.parametrize("file", ["alerts.yaml", "dashboard.json"])
def test_alerts_and_dashboard_are_taken_as_they_are_if_they_are_there(file: str) -> None:
    objects = chart.render({"metrics": MONITORED})
    path = chart.path / "files" / file
    kind, name = {
        "alerts.yaml": ("PrometheusRule", "c-connectd"),
        "dashboard.json": ("ConfigMap", "c-connectd-dashboard"),
    }[file]
    found = [o for o in objects.of(kind) if o["metadata"]["name"] == name]
    assert len(found) == int(path.exists())
    for each in found:
        assert _content(each) == _parsed(path.read_text(encoding="utf-8"))


def _content(each: Manifest) -> Any:
    data = each.get("data", {}).get("connectd.json")
    return each["spec"] if data is None else _parsed(data)


def _parsed(text: str) -> Any:
    return yaml.safe_load(text)
