"""The chart under test, and sets of values that people install it with."""

from __future__ import annotations

from typing import Any, Final

from tests.harness.helm import HelmChart
from tests.helm.generate import CHART

chart: Final = HelmChart(CHART)

CONNECTORS: Final[dict[str, Any]] = {
    "items": {
        "orders": {
            "initialState": "PAUSED",
            "config": {
                "connector.class": "connectd.DynamoDBSource",
                "tasks.max": 4,
                "init.sync.skip": False,
                "aws.secret.key": "${directory:/etc/connectd/secrets/aws:key}",
            },
        },
        "Größe/1": {"config": {"connector.class": "connectd.DynamoDBSource"}},
    }
}

MONITORED: Final[dict[str, Any]] = {
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
    "dashboard": {"enabled": True},
}

VALUE_SETS: Final[dict[str, dict[str, Any]]] = {
    "defaults": {},
    "connectors and secrets": {"connectors": CONNECTORS, "secrets": ["aws", "my.kafka"]},
    "https with logins": {
        "rest": {"scheme": "https", "port": 8443},
        "secrets": ["rest"],
        "worker": {
            "config": {
                "listeners.https.ssl.keystore.type": "PEM",
                "listeners.https.ssl.keystore.location": "/etc/connectd/secrets/rest/tls.pem",
                "connectd.rest.basic.auth.credentials.file": "/etc/connectd/secrets/rest/users",
            }
        },
        "connectors": {**CONNECTORS, "loginSecret": "login", "caSecret": "authority"},
        "metrics": {
            "serviceMonitor": {
                "enabled": True,
                "basicAuth": {
                    "username": {"name": "login", "key": "username"},
                    "password": {"name": "login", "key": "password"},
                },
                "tlsConfig": {"ca": {"secret": {"name": "authority", "key": "ca.crt"}}},
            }
        },
    },
    "monitored": {"metrics": MONITORED},
    "spark in the worker's pod": {"spark": {"enabled": True, "conf": {"spark.ui.enabled": False}}},
    "spark on Kubernetes": {
        "spark": {
            "enabled": True,
            "kubernetes": {
                "enabled": True,
                "executors": 8,
                "executorServiceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:x"}},
                "executorPodSpec": {"nodeSelector": {"pool": "scans"}},
            },
        },
        "networkPolicy": {"enabled": True},
        "imagePullSecrets": ["registry"],
    },
    "closed network": {
        "networkPolicy": {
            "enabled": True,
            "clients": [{"namespaceSelector": {"matchLabels": {"team": "data"}}}],
            "egress": [{"ports": [{"port": 9092}, {"port": 443}]}],
        }
    },
    "everything that people add": {
        "image": {"digest": f"sha256:{'a' * 64}"},
        "imagePullSecrets": ["registry"],
        "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}},
        "service": {"type": "LoadBalancer", "annotations": {"a": "b"}},
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "data"},
        "commonLabels": {"cost-centre": "7"},
        "priorityClassName": "high",
        "nodeSelector": {"arch": "amd64"},
        "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "Exists"}]}]}}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
            "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"a": "b"}}}],
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "3"]}}},
        "extraEnv": [{"name": "CONNECT_GROUP_ID", "value": "other"}],
        "extraEnvFrom": [{"secretRef": {"name": "variables"}}],
        "extraVolumes": [{"name": "trust", "configMap": {"name": "authorities"}}],
        "extraVolumeMounts": [{"name": "trust", "mountPath": "/trust"}],
        "initContainers": [{"name": "first", "image": "busybox:1.37", "command": ["true"]}],
        "sidecars": [{"name": "beside", "image": "busybox:1.37", "command": ["sleep", "1d"]}],
        "terminationGracePeriodSeconds": 120,
        "connectors": CONNECTORS,
        "fullnameOverride": "tables",
    },
}  # fmt: skip
