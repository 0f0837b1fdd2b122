"""Writes what the chart has that follows from something else: ``python -m tests.helm.generate``.

``values.schema.json``: the shape of values.yaml, and the worker's keys as ``connectd.configdef``
declares them. ``README.md``: the values with the comments above them. ``files/secret-names.txt``:
the keys whose values the chart refuses to put into a ConfigMap.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from connectd.app import bundled
from connectd.cli import reference
from connectd.configdef import json_schema
from connectd.configdef.definition import ConfigDef
from connectd.configdef.worker_keys import WORKER_DEF
from tests.helm import chart_values
from tests.helm.chart_values import Value

CHART: Final = Path(__file__).parents[2] / "helm" / "connectd"

_CLIENT_PREFIXES: Final = (
    "producer.", "consumer.", "admin.", "producer.override.", "consumer.override.",
    "admin.override.", "listeners.https.", "admin.listeners.https.",
)  # fmt: skip
_CONVERTER_PREFIXES: Final = ("key.converter.", "value.converter.")

_SCALAR: Final = {"type": ["string", "number", "boolean"]}
_NAMES: Final = {
    "type": "array",
    "items": {
        "type": "string",
        "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "maxLength": 253,
    },
    "uniqueItems": True,
}
_OWN_CONNECTOR: Final = "connectd.DynamoDBSource"


def _values_of(definition: ConfigDef) -> dict[str, Any]:
    """What values of its keys may look like; what they mean stands in config/REFERENCE.md."""
    return {
        name: {
            word: meaning
            for word, meaning in json_schema.value_schema(key).items()
            if word not in ("description", "default")
        }
        for key in definition
        for name in (key.name, *key.aliases)
    }


_DECLARED: Final = dict(bundled.documented_plugins())
_OBJECTS: Final = {"type": "array", "items": {"type": "object"}}
_CONNECTOR: Final = {
    "type": "object",
    "properties": {
        "config": {
            "type": "object",
            "properties": {
                **_values_of(_DECLARED["Source connectors"]),
                "connector.class": {"type": "string"},
            },
            "required": ["connector.class"],
            "additionalProperties": _SCALAR,
            "if": {"properties": {"connector.class": {"const": _OWN_CONNECTOR}}},
            "then": {"properties": _values_of(_DECLARED[_OWN_CONNECTOR])},
        },
        "initialState": {"enum": ["RUNNING", "PAUSED", "STOPPED"]},
    },
    "required": ["config"],
    "additionalProperties": False,
}

_NATURAL: Final = {"type": "integer", "minimum": 0}
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds", "periodSeconds", "timeoutSeconds", "successThreshold",
    "failureThreshold", "terminationGracePeriodSeconds",
)  # fmt: skip
_URL_PATH: Final = {"type": "string", "pattern": "^/"}
_SCALING: Final = {
    "type": "object",
    "properties": {
        "stabilizationWindowSeconds": {"type": "integer", "minimum": 0, "maximum": 3600},
        "selectPolicy": {"enum": ["Max", "Min", "Disabled"]},
        "tolerance": {"type": ["number", "string"]},
        "policies": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "type": {"enum": ["Pods", "Percent"]},
                    "value": {"type": "integer", "minimum": 1},
                    "periodSeconds": {"type": "integer", "minimum": 1, "maximum": 1800},
                },
                "required": ["type", "value", "periodSeconds"],
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
_MORE_PRECISELY: Final[Mapping[str, Mapping[str, Any]]] = {
    # What the default of a value does not tell.
    "replicaCount": {"type": "integer", "minimum": 0},
    "image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "image.digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
    "imagePullSecrets": _NAMES,
    "secrets": _NAMES,
    "rest.port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "rest.scheme": {"enum": ["http", "https"]},
    "service.nodePort": {"type": ["integer", "null"], "minimum": 1, "maximum": 65535},
    "service.type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    "connectors.items": {"type": "object", "additionalProperties": _CONNECTOR},
    "connectors.unlisted": {"enum": ["keep", "delete"]},
    "connectors.deadlineSeconds": {"type": "integer", "minimum": 1, "maximum": 86400},
    "terminationGracePeriodSeconds": {"type": ["integer", "null"], "minimum": 1},
    "podDisruptionBudget.maxUnavailable": {"type": ["integer", "string"]},
    "autoscaling.minReplicas": {"type": "integer", "minimum": 1},
    "autoscaling.maxReplicas": {"type": "integer", "minimum": 1},
    "autoscaling.behavior": {
        "type": "object",
        "properties": dict.fromkeys(("scaleDown", "scaleUp"), _SCALING),
        "additionalProperties": False,
    },
    "spark.conf": {"type": "object", "additionalProperties": _SCALAR},
    "spark.kubernetes.executors": {"type": "integer", "minimum": 1},
    "spark.kubernetes.executorCores": {"type": "integer", "minimum": 1},
    "spark.kubernetes.driverPort": {"type": "integer", "minimum": 1024, "maximum": 65000},
    **dict.fromkeys(
        (
            "networkPolicy.clients", "networkPolicy.egress", "tolerations",
            "topologySpreadConstraints", "extraEnv", "extraEnvFrom", "extraVolumes",
            "extraVolumeMounts", "initContainers", "sidecars",
        ),
        _OBJECTS,
    ),
    **{
        f"{name}Probe": {
            "type": "object",
            "required": ["path"],
            "properties": {"path": _URL_PATH, **dict.fromkeys(_PROBE_NUMBERS, _NATURAL)},
            "additionalProperties": False,
        }
        for name in ("startup", "liveness", "readiness")
    },
}  # fmt: skip

_INTRODUCTION: Final = """\
# The chart of connectd

Generated from `values.yaml` by `python -m tests.helm.generate`; do not edit. How to install, change
and remove it: [docs/kubernetes.md](../../docs/kubernetes.md).

```
helm install connectd helm/connectd --values my-values.yaml
```

| Value | Default | Meaning |
|---|---|---|
"""


def texts() -> dict[str, str]:
    """What the files are to say, by name in the chart."""
    values = chart_values.read(CHART / "values.yaml")
    plugins = [keys for _, keys in bundled.documented_plugins()]
    names = {
        *json_schema.secret_names([WORKER_DEF], _CLIENT_PREFIXES),
        *json_schema.secret_names(plugins, _CONVERTER_PREFIXES),
    }
    return {
        "values.schema.json": json.dumps(_schema(values), indent=2, ensure_ascii=False) + "\n",
        "README.md": _INTRODUCTION + "".join(map(_row, chart_values.leaves(values))),
        "files/secret-names.txt": "\n".join(sorted(names)) + "\n",
    }


def _schema(values: list[Value]) -> dict[str, Any]:
    schema = {"$schema": json_schema.DIALECT, "title": "Values of connectd", **_object(values)}
    schema["properties"]["global"] = {"type": "object"}  # Helm's own, where this is a subchart
    return schema


def _object(values: list[Value]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {value.name: _value_schema(value) for value in values},
        "additionalProperties": False,
    }


def _value_schema(value: Value) -> dict[str, Any]:
    described = {"description": value.text} if value.text else {}
    if value.children:
        return {**described, **_object(value.children)}
    if value.path == "worker.config":
        schema = reference.worker_schema()
        del schema["$schema"]
        return {**schema, "description": f"{value.text} {schema['description']}"}
    return {**described, **(_MORE_PRECISELY.get(value.path) or _by_default(value.default))}


def _by_default(default: object) -> dict[str, Any]:
    kinds = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
    return {"type": kinds[type(default)]}


def _row(value: Value) -> str:
    default = json.dumps(value.default, ensure_ascii=False)
    return f"| `{value.path}` | `{_cell(default)}` | {_cell(value.text).replace('<', '&lt;')} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Write the files."""
    for name, text in texts().items():
        path = CHART / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
