"""What the Prometheus operator would find wrong with its objects, unknown fields included.

``operator_models.py objects.json`` prints it as a list. Run by the Python of an environment that
has the operator's models and nothing of ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from cloudcoil.models.prometheus_operator import v1
from pydantic import ValidationError


def problems(manifest: dict[str, object]) -> list[str]:
    """What is wrong with one object."""
    model = getattr(v1, str(manifest["kind"]))
    try:
        read = model.model_validate(manifest).model_dump(
            mode="json", by_alias=True, exclude_none=True
        )
    except ValidationError as error:
        return [f"{manifest['kind']}: {error}"]
    lost = sorted(set(_paths(manifest)) - set(_paths(read)))
    return [f"{manifest['kind']}: no such field: {path}" for path in lost]


def _paths(value: object, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _paths(member, f"{path}.{name}")
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _paths(member, f"{path}[{number}]")
    else:
        yield path


if __name__ == "__main__":
    found = [each for one in json.loads(Path(sys.argv[1]).read_text()) for each in problems(one)]
    print(json.dumps(found))
