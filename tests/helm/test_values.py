"""One row for each value of the chart: what it is set to, and what becomes of it where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from connectd.app import end_watch
from connectd.config_providers import declared
from connectd.configdef import properties
from connectd.configdef.worker import WorkerConfig, environment_properties
from connectd.configdef.worker_keys import WORKER_DEF
from tests.harness.helm import HelmChart, Rendered
from tests.helm import chart_values
from tests.helm.value_sets import VALUE_SETS, chart
from tests.image.locks import ROOT

POD = "StatefulSet spec template spec"
WORKER = f"{POD} containers 0"
JOB = "Job spec template spec"
SPARK = {"enabled": True, "kubernetes": {"enabled": True}}
ITEMS = {"orders": {"config": {"connector.class": "x"}}}
A_LIST = [{"name": "a", "b": "c"}]

ROWS: list[tuple[str, Any, str, Any]] = [
    # value, set to, where (kind and path; ~ the name of an object), what stands there
    ("nameOverride", "tables", "StatefulSet metadata name", "c-tables"),
    ("fullnameOverride", "tables", "StatefulSet metadata name", "tables"),
    ("replicaCount", 0, "StatefulSet spec replicas", 0),
    ("image.repository", "r.example/x", f"{WORKER} image", "r.example/x:0.1.0"),
    ("image.tag", "9", f"{WORKER} image", "connectd:9"),
    ("image.digest", f"sha256:{'0' * 64}", f"{WORKER} image", f"connectd@sha256:{'0' * 64}"),
    ("image.pullPolicy", "Always", f"{WORKER} imagePullPolicy", "Always"),
    ("imagePullSecrets", ["r"], f"{POD} imagePullSecrets", [{"name": "r"}]),
    ("secrets", ["aws"], f"{POD} volumes 2 secret secretName", "aws"),
    ("secrets", ["aws"], f"{WORKER} volumeMounts 2 mountPath", "/etc/connectd/secrets/aws"),
    ("rest.port", 80, "Service~c-connectd spec ports 0 port", 80),
    ("rest.port", 80, f"{WORKER} ports 0 containerPort", 80),
    ("rest.scheme", "https", f"{WORKER} livenessProbe httpGet scheme", "HTTPS"),
    ("service.type", "NodePort", "Service~c-connectd spec type", "NodePort"),
    ("service.nodePort", 30083, "Service~c-connectd spec ports 0 nodePort", 30083),
    ("service.annotations", {"a": "b"}, "Service~c-connectd metadata annotations", {"a": "b"}),
    ("connectors.items", ITEMS, f"{JOB} containers 0 args 1", "apply"),
    ("connectors.unlisted", "delete", f"{JOB} containers 0 args 6", "--delete-unlisted"),
    ("connectors.deadlineSeconds", 60, f"{JOB} containers 0 args 5", "60"),
    ("connectors.deadlineSeconds", 60, "Job spec activeDeadlineSeconds", 660),
    ("connectors.loginSecret", "l", f"{JOB} containers 0 env 1 valueFrom secretKeyRef",
        {"name": "l", "key": "username"}),
    ("connectors.caSecret", "l", f"{JOB} volumes 2 secret secretName", "l"),
    ("connectors.annotations", {"a": "b"}, "Job metadata annotations a", "b"),
    ("connectors.resources", {"limits": {"memory": "1Gi"}}, f"{JOB} containers 0 resources limits",
        {"memory": "1Gi"}),
    ("serviceAccount.create", False, f"{POD} serviceAccountName", "default"),
    ("serviceAccount.name", "role", "ServiceAccount metadata name", "role"),
    ("serviceAccount.name", "role", f"{POD} serviceAccountName", "role"),
    ("serviceAccount.annotations", {"eks.amazonaws.com/role-arn": "arn"},
        "ServiceAccount metadata annotations", {"eks.amazonaws.com/role-arn": "arn"}),
    ("resources", {"limits": {"memory": "9Gi"}}, f"{WORKER} resources limits", {"memory": "9Gi"}),
    ("terminationGracePeriodSeconds", 99, f"{POD} terminationGracePeriodSeconds", 99),
    ("startupProbe", {"path": "/s"}, f"{WORKER} startupProbe httpGet path", "/s"),
    ("livenessProbe", {"timeoutSeconds": 7}, f"{WORKER} livenessProbe timeoutSeconds", 7),
    ("readinessProbe", {"path": "/r"}, f"{WORKER} readinessProbe httpGet path", "/r"),
    ("podDisruptionBudget.maxUnavailable", 2, "PodDisruptionBudget spec maxUnavailable", 2),
    ("podDisruptionBudget.enabled", False, "PodDisruptionBudget", None),
    ("autoscaling.enabled", False, "HorizontalPodAutoscaler", None),
    ("metrics.serviceMonitor.enabled", True, "ServiceMonitor spec endpoints 0 path", "/metrics"),
    ("metrics.serviceMonitor.labels", {"a": "b"}, "ServiceMonitor metadata labels a", "b"),
    ("metrics.serviceMonitor.interval", "5s", "ServiceMonitor spec endpoints 0 interval", "5s"),
    ("metrics.serviceMonitor.scrapeTimeout", "4s",
        "ServiceMonitor spec endpoints 0 scrapeTimeout", "4s"),
    ("metrics.serviceMonitor.basicAuth", {"a": {}}, "ServiceMonitor spec endpoints 0 basicAuth",
        {"a": {}}),
    ("metrics.serviceMonitor.tlsConfig", {"a": {}}, "ServiceMonitor spec endpoints 0 tlsConfig",
        {"a": {}}),
    ("networkPolicy.enabled", True, "NetworkPolicy spec ingress 0 from", [{"podSelector": {}}]),
    ("networkPolicy.clients", [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
        "NetworkPolicy spec ingress 0 from 0 ipBlock cidr", "10.0.0.0/8"),
    ("networkPolicy.egress", [{"ports": [{"port": 9092}]}], "NetworkPolicy spec policyTypes",
        ["Ingress", "Egress"]),
    ("spark.enabled", True, f"{WORKER} image", "connectd:0.1.0-spark"),
    ("spark.enabled", True, f"{WORKER} resources limits", {"memory": "4Gi"}),
    ("spark.resources", {"limits": {"memory": "8Gi"}}, f"{WORKER} resources limits",
        {"memory": "8Gi"}),
    ("spark.kubernetes.enabled", True, "Role rules 0 resources",
        ["pods", "services", "configmaps", "persistentvolumeclaims"]),
    ("spark.kubernetes.enabled", True, f"{WORKER} env 3 name",
        "CONNECT_SPARK_CONF_SPARK_KUBERNETES_DRIVER_POD_NAME"),
    ("spark.kubernetes.executorServiceAccount.create", False,
        "ServiceAccount~c-connectd-executor", None),
    ("spark.kubernetes.executorServiceAccount.name", "scans", "ServiceAccount~scans metadata name",
        "scans"),
    ("spark.kubernetes.executorServiceAccount.annotations", {"a": "b"},
        "ServiceAccount~c-connectd-executor metadata annotations a", "b"),
    ("tmpSizeLimit", "5Gi", f"{POD} volumes 0 emptyDir sizeLimit", "5Gi"),
    ("podSecurityContext", {"fsGroup": 7}, f"{POD} securityContext fsGroup", 7),
    ("securityContext", {"privileged": False}, f"{WORKER} securityContext privileged", False),
    ("commonLabels", {"a": "b"}, "StatefulSet metadata labels a", "b"),
    ("commonLabels", {"a": "b"}, "StatefulSet spec template metadata labels a", "b"),
    ("podAnnotations", {"a": "b"}, "StatefulSet spec template metadata annotations a", "b"),
    ("podLabels", {"a": "b"}, "StatefulSet spec template metadata labels a", "b"),
    ("priorityClassName", "high", f"{POD} priorityClassName", "high"),
    ("nodeSelector", {"a": "b"}, f"{POD} nodeSelector", {"a": "b"}),
    ("tolerations", A_LIST, f"{POD} tolerations", A_LIST),
    ("affinity", {"a": {}}, f"{POD} affinity", {"a": {}}),
    ("topologySpreadConstraints", A_LIST, f"{POD} topologySpreadConstraints", A_LIST),
    ("lifecycle", {"postStart": {}}, f"{WORKER} lifecycle", {"postStart": {}}),
    ("extraEnv", A_LIST, f"{WORKER} env 3", A_LIST[0]),
    ("extraEnvFrom", A_LIST, f"{WORKER} envFrom", A_LIST),
    ("extraVolumes", A_LIST, f"{POD} volumes 2", A_LIST[0]),
    ("extraVolumeMounts", A_LIST, f"{WORKER} volumeMounts 2", A_LIST[0]),
    ("initContainers", A_LIST, f"{POD} initContainers", A_LIST),
    ("sidecars", A_LIST, f"{POD} containers 1", A_LIST[0]),
]  # fmt: skip

IN_THE_WORKERS_FILE: list[tuple[str, Any, str, str]] = [
    ("rest.port", 80, "listeners", "http://:80"),
    ("rest.scheme", "https", "listeners", "https://:8083"),
    ("worker.config", {"offset.flush.interval.ms": 10_000_000}, "offset.flush.interval.ms",
        "10000000"),
    ("worker.config", {"topic.creation.enable": False}, "topic.creation.enable", "false"),
    ("worker.config", {"k": " C:\\a=b:c#\n\t'\"ü "}, "k", " C:\\a=b:c#\n\t'\"ü "),
    ("worker.config", {"spaced key:=": "v"}, "spaced key:=", "v"),
    ("secrets", ["a"], "config.providers", "file,directory"),
    ("secrets", ["a"], "config.providers.file.param.allowed.paths", "/etc/connectd/secrets"),
    ("spark.conf", {"spark.a": 1.5}, "spark.conf.spark.a", "1.5"),
    ("spark.kubernetes.executors", 9, "spark.conf.spark.executor.instances", "9"),
    ("spark.kubernetes.executorCores", 9, "spark.conf.spark.executor.cores", "9"),
    ("spark.kubernetes.executorMemory", "9g", "spark.conf.spark.executor.memory", "9g"),
    ("spark.kubernetes.executorMemoryOverhead", "9g", "spark.conf.spark.executor.memoryOverhead",
        "9g"),
    ("spark.kubernetes.driverPort", 8000, "spark.conf.spark.driver.blockManager.port", "8001"),
    ("spark.kubernetes.enabled", True, "spark.conf.spark.driver.host",
        "c-connectd-workers.streams.svc"),
    ("spark.kubernetes.enabled", True, "spark.conf.spark.kubernetes.container.image",
        "connectd:0.1.0-spark"),
]  # fmt: skip

SEEN_BELOW = {
    "autoscaling.minReplicas", "autoscaling.maxReplicas",
    "autoscaling.targetCPUUtilizationPercentage", "autoscaling.behavior",
    "metrics.prometheusRule.enabled", "metrics.prometheusRule.labels",
    "metrics.dashboard.enabled", "metrics.dashboard.labels",
    "spark.kubernetes.executorPodSpec",
}  # fmt: skip
"""Values that need more than a row."""


def values_with(path: str, value: object) -> dict[str, Any]:
    """The value at its path, and what has to be on for it to show."""
    values: dict[str, Any] = {}
    if path.startswith("connectors."):
        values["connectors"] = {"items": ITEMS}
    if path.startswith("metrics.serviceMonitor."):
        values["metrics"] = {"serviceMonitor": {"enabled": True}}
    if path.startswith("networkPolicy."):
        values["networkPolicy"] = {"enabled": True}
    if path == "service.nodePort":
        values["service"] = {"type": "NodePort"}
    if (path, value) == ("rest.scheme", "https"):
        key = "listeners.https.ssl.keystore.location"
        values["worker"] = {"config": {key: "/x.pem"}}
    if path.startswith("spark."):
        values["spark"] = {"enabled": True, "kubernetes": {"enabled": ".kubernetes." in path}}
    *groups, name = path.split(".")
    at = values
    for group in groups:
        at = at.setdefault(group, {})
    at[name] = value
    return values


def look(objects: Rendered, where: str) -> object:
    """What stands at a path; None where there is no such object."""
    kind, *steps = where.split()
    kind, _, name = kind.partition("~")
    found: Any = [o for o in objects.of(kind) if name in ("", o["metadata"]["name"])]
    if not found:
        return None
    value = found[0]
    for step in steps:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def worker_file(objects: Rendered) -> dict[str, str]:
    text = objects.one("ConfigMap", "c-connectd")["data"]["worker.properties"]
    return properties.parse_text(text, source="worker.properties")


@pytest.mark.parametrize(("path", "value", "where", "expected"), ROWS)
def test_a_value_arrives(path: str, value: object, where: str, expected: object) -> None:
    assert look(chart.render(values_with(path, value)), where) == expected


@pytest.mark.parametrize(("path", "value", "key", "expected"), IN_THE_WORKERS_FILE)
def test_a_value_arrives_in_the_workers_file(
    path: str, value: object, key: str, expected: str
) -> None:
    assert worker_file(chart.render(values_with(path, value)))[key] == expected


def test_every_value_is_in_one_of_the_tables() -> None:
    declared_values = {
        leaf.path for leaf in chart_values.leaves(chart_values.read(chart.path / "values.yaml"))
    }
    tested = {row[0] for row in (*ROWS, *IN_THE_WORKERS_FILE)} | SEEN_BELOW
    assert tested == declared_values


@pytest.mark.parametrize("name", VALUE_SETS)
def test_a_worker_accepts_the_file(name: str) -> None:
    values = {**VALUE_SETS[name], "fullnameOverride": ""}
    file = worker_file(chart.render(values))

    config = WorkerConfig.from_properties(file)

    assert config.warnings() == []
    assert config.rest.listeners[0].port in (8083, 8443)


def test_releases_of_one_namespace_share_neither_group_nor_topics() -> None:
    names = ["group.id", *(f"{each}.storage.topic" for each in ("config", "offset", "status"))]
    files = []
    for release in ("orders", "connectd"):
        objects = chart.render(release=release)
        text = objects.one("ConfigMap")["data"]["worker.properties"]
        file = properties.parse_text(text, source="worker.properties")
        files.append([file[name] for name in names])
    assert files == [
        ["orders-connectd", "orders-connectd-configs", "orders-connectd-offsets",
            "orders-connectd-status"],
        ["connectd", "connectd-configs", "connectd-offsets", "connectd-status"],
    ]  # fmt: skip


def test_group_and_topics_are_those_of_the_values_where_they_name_them() -> None:
    own = {"group.id": "connectd", "offset.storage.topic": "connect-offsets"}
    file = worker_file(chart.render({"worker": {"config": own}}))
    assert own.items() <= file.items()
    assert file["status.storage.topic"] == "c-connectd-status"


def test_the_workers_file_is_where_the_image_has_it_and_runbooks_look() -> None:
    objects = chart.render(VALUE_SETS["spark on Kubernetes"])
    worker = look(objects, WORKER)
    assert isinstance(worker, dict)
    place = worker["args"][1]
    runbooks = (ROOT / "docs" / "runbooks" / "README.md").read_text(encoding="utf-8")
    assert f"WORKER={place} " in runbooks
    assert f" {place}\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    files = {each["mountPath"]: each.get("subPath") for each in worker["volumeMounts"]}
    template = worker_file(objects)["spark.conf.spark.kubernetes.executor.podTemplateFile"]
    assert (files[place], files[template]) == ("worker.properties", "executor.yaml")
    assert set(files.values()) - {None} <= set(objects.one("ConfigMap", "c-connectd")["data"])


def test_secrets_whose_names_differ_in_a_dot_are_volumes_of_their_own() -> None:
    objects = chart.render({"secrets": ["a.b", "a-b"]})
    volumes = look(objects, f"{POD} volumes")
    mounts = look(objects, f"{WORKER} volumeMounts")
    assert isinstance(volumes, list)
    assert isinstance(mounts, list)
    secrets = {each["name"]: each["secret"]["secretName"] for each in volumes if "secret" in each}
    places = {each["mountPath"]: secrets.get(each["name"]) for each in mounts}
    assert sorted(secrets.values()) == ["a-b", "a.b"]
    assert places["/etc/connectd/secrets/a.b"] == "a.b"
    assert places["/etc/connectd/secrets/a-b"] == "a-b"


def test_providers_that_the_chart_declares_are_those_that_we_have(tmp_path: Path) -> None:
    file = worker_file(chart.render({"secrets": ["a"]}))
    here = {key: text.replace("/etc/connectd/secrets", str(tmp_path)) for key, text in file.items()}
    assert sorted(declared.make_providers(here)) == ["directory", "file"]


def test_own_providers_and_public_paths_are_left_alone() -> None:
    own = {
        "config.providers": "env",
        "connectd.rest.basic.auth.credentials.file": "/x",
        "connectd.rest.basic.auth.public.paths": "/",
    }
    file = worker_file(chart.render({"secrets": ["a"], "worker": {"config": own}}))
    assert own.items() <= file.items()


def test_probes_are_answered_where_the_rest_api_asks_for_a_login() -> None:
    login = {"connectd.rest.basic.auth.credentials.file": "/x"}
    objects = chart.render({"worker": {"config": login}})
    public = worker_file(objects)["connectd.rest.basic.auth.public.paths"].split(",")
    worker = look(objects, WORKER)
    assert isinstance(worker, dict)
    probes = [worker[f"{name}Probe"] for name in ("startup", "liveness", "readiness")]
    assert {probe["httpGet"]["path"] for probe in probes} <= set(public)
    assert "/health" in public, "the Job of the connectors waits for it"


class TestGracePeriod:
    """Kubernetes must not kill a worker that is still committing."""

    def grace_s(self, **config: object) -> int:
        found = look(
            chart.render({"worker": {"config": config}}), f"{POD} terminationGracePeriodSeconds"
        )
        assert isinstance(found, int)
        return found

    def test_it_is_longer_than_a_worker_takes_by_default(self) -> None:
        default_ms = WORKER_DEF.key("connectd.shutdown.grace.ms").default
        assert isinstance(default_ms, int)
        assert self.grace_s() > default_ms / 1000 + end_watch.LEFTOVERS_S

    def test_it_follows_the_workers_own(self) -> None:
        assert self.grace_s(**{"connectd.shutdown.grace.ms": 60_001}) == 71
        assert self.grace_s(**{"connectd.shutdown.grace.ms": "1000"}) == 11


def test_pods_start_anew_when_the_workers_file_changes() -> None:
    where = "StatefulSet spec template metadata annotations checksum/config"
    sums = {look(chart.render({"worker": {"config": {"group.id": name}}}), where) for name in "aab"}
    assert len(sums) == 2
    assert look(chart.render({"podLabels": {"a": "b"}}), where) == look(chart.render(), where)


def test_workers_are_found_under_the_names_of_their_pods() -> None:
    worker = look(chart.render(), WORKER)
    assert isinstance(worker, dict)
    env = {each["name"]: each.get("value") for each in worker["env"]}
    assert env["CONNECT_REST_ADVERTISED_HOST_NAME"] == "$(POD_NAME).c-connectd-workers.streams.svc"


def test_workers_are_found_under_another_name_where_the_values_have_one() -> None:
    objects = chart.render({"worker": {"config": {"rest.advertised.host.name": "connect.example"}}})
    worker = look(objects, WORKER)
    assert isinstance(worker, dict)
    assert worker_file(objects)["rest.advertised.host.name"] == "connect.example"
    assert "CONNECT_REST_ADVERTISED_HOST_NAME" not in {each["name"] for each in worker["env"]}


def test_no_variable_of_the_chart_hides_a_key_of_the_file() -> None:
    worker = look(chart.render(VALUE_SETS["spark on Kubernetes"]), WORKER)
    assert isinstance(worker, dict)
    set_by_variables = environment_properties({each["name"]: "" for each in worker["env"]})
    keys = {"rest.advertised.host.name", "spark.conf.spark.kubernetes.driver.pod.name"}
    assert set(set_by_variables) == keys


def test_executors_are_made_from_a_pod_that_the_values_add_to() -> None:
    more = {"enabled": True, "executorPodSpec": {"nodeSelector": {"pool": "scans"}}}
    objects = chart.render({"spark": {"enabled": True, "kubernetes": more}})
    pod = yaml.safe_load(objects.one("ConfigMap", "c-connectd")["data"]["executor.yaml"])
    assert pod["spec"]["nodeSelector"] == {"pool": "scans"}


def test_alerts_and_dashboard_are_installed_as_their_files_say(copied: HelmChart) -> None:
    groups = [{"name": "g", "rules": [{"alert": "A", "expr": "up == 0",
        "annotations": {"summary": "{{ $labels.instance }} is down"}}]}]  # fmt: skip
    (copied.path / "files" / "alerts.yaml").write_text(yaml.safe_dump({"groups": groups}))
    (copied.path / "files" / "dashboard.json").write_text('{"title": "{{ not a template }}"}')
    labels = {"enabled": True, "labels": {"a": "b"}}

    objects = copied.render({"metrics": {"prometheusRule": labels, "dashboard": labels}})

    rule = objects.one("PrometheusRule")
    dashboard = objects.one("ConfigMap", "c-connectd-dashboard")
    assert rule["spec"]["groups"] == groups
    assert dashboard["data"]["connectd.json"].strip() == '{"title": "{{ not a template }}"}'
    assert rule["metadata"]["labels"]["a"] == "b"
    assert {"a": "b", "grafana_dashboard": "1"}.items() <= dashboard["metadata"]["labels"].items()


def test_workers_of_a_release_are_as_many_as_wanted() -> None:
    scaled = chart.render({"replicaCount": 3})
    assert look(scaled, "StatefulSet spec replicas") == 3

    values = {"enabled": True, "minReplicas": 2, "targetCPUUtilizationPercentage": 60}
    objects = chart.render({"autoscaling": values})
    scaler = objects.one("HorizontalPodAutoscaler")["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 3)
    assert scaler["metrics"][0]["resource"]["target"]["averageUtilization"] == 60
    assert "replicas" not in objects.one("StatefulSet")["spec"]


def test_workers_are_taken_away_one_by_one_and_slower_than_their_tasks_come_back() -> None:
    scaler = chart.render({"autoscaling": {"enabled": True}}).one("HorizontalPodAutoscaler")
    down = scaler["spec"]["behavior"]["scaleDown"]
    (policy,) = down["policies"]
    delay_ms = WORKER_DEF.key("scheduled.rebalance.max.delay.ms").default
    assert (policy["type"], policy["value"]) == ("Pods", 1)
    assert (
        min(policy["periodSeconds"], down["stabilizationWindowSeconds"])
        >= 2 * int(str(delay_ms)) / 1000
    )

    wanted = {"scaleDown": {"selectPolicy": "Disabled", "policies": None}}
    values = {"enabled": True, "behavior": wanted}
    scaler = chart.render({"autoscaling": values}).one("HorizontalPodAutoscaler")
    assert scaler["spec"]["behavior"]["scaleDown"]["selectPolicy"] == "Disabled"


def test_the_driver_may_reach_its_executors_where_egress_is_limited() -> None:
    network = {"enabled": True, "egress": [{"ports": [{"port": 9092}]}]}
    rules = chart.render({"spark": SPARK, "networkPolicy": network}).one("NetworkPolicy")
    peers = [peer for rule in rules["spec"]["egress"] for peer in rule.get("to", [])]
    labels = [peer["podSelector"]["matchLabels"] for peer in peers]
    assert "executor" in {each["app.kubernetes.io/component"] for each in labels}


def test_notes_tell_of_releases_that_would_be_one_cluster() -> None:
    words = "would be the same cluster"
    assert words in chart.render().notes
    assert words not in chart.render({"worker": {"config": {"group.id": "own"}}}).notes
