"""Charts as Helm renders them, and objects as Kubernetes accepts them; neither is on this machine.

The engine is Helm's own SDK for Go (version 4), which the package helm-python-sdk has as a library:
no program to build or to fetch. The schemas of Kubernetes come with the package
kubernetes-validate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import yaml

Manifest = dict[str, Any]

RELEASE = "c"
NAMESPACE = "streams"


class RenderError(Exception):
    """Helm refused the values, or a template did; with its words."""


@dataclass(frozen=True)
class Rendered:
    """The objects of one release."""

    objects: list[Manifest]
    notes: str

    def of(self, kind: str) -> list[Manifest]:
        """All objects of a kind."""
        return [each for each in self.objects if each["kind"] == kind]

    def one(self, kind: str, name: str | None = None) -> Manifest:
        """The one object of a kind, and of a name if there are several."""
        found = [each for each in self.of(kind) if name in (None, each["metadata"]["name"])]
        if len(found) != 1:
            names = [f"{each['kind']}/{each['metadata']['name']}" for each in self.objects]
            raise LookupError(f"{kind}/{name or '*'}: expected one, found {len(found)} of {names}")
        return found[0]


class HelmChart:
    """A chart in a directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def render(
        self,
        values: Mapping[str, Any] | None = None,
        *,
        release: str = RELEASE,
        namespace: str = NAMESPACE,
    ) -> Rendered:
        """What ``helm template`` would print, values checked against the schema first.

        Raises:
            RenderError: the schema, a template or a check of the chart refuses the values.
        """
        given = dict(values or {})
        try:
            with helm_python.Chart.load(self.path) as chart:
                chart.validate_schema(given)
                texts = chart.render(given, name=release, namespace=namespace)
        except helm_python.HelmError as error:
            raise RenderError(str(error)) from error
        notes = next(text for name, text in texts.items() if name.endswith("/NOTES.txt"))
        objects = [
            document
            for name, text in sorted(texts.items())
            if name.endswith(".yaml")
            for document in yaml.load_all(text, Loader=_StrictLoader)
            if document is not None
        ]
        return Rendered(objects, notes)

    def lint(self, values: Mapping[str, Any] | None = None) -> list[str]:
        """What ``helm lint --strict`` complains of."""
        report = helm_python.lint(self.path, dict(values or {}), strict=True, namespace=NAMESPACE)
        found = [each["error"] for each in report["messages"] if each["severity"] > 1]
        return [*report["errors"], *found]


class _StrictLoader(yaml.CSafeLoader):
    """Refuses a key that comes twice, as the API server does."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise RenderError(f"keys that come twice: {twice}, {node.start_mark}")
        return super().construct_mapping(node, deep)


def problems_for_kubernetes(manifest: Manifest, version: str) -> list[str]:
    """What the API server of that version would find wrong, unknown fields included."""
    where = f"{manifest['kind']}/{manifest['metadata']['name']}"
    try:
        kubernetes_validate.validate(manifest, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        path = ".".join(map(str, error.path))
        return [f"{where} in Kubernetes {version}: {path}: {error.message}"]
    return []
