"""What schemathesis is told about the worker, so that its requests get past the front door.

Runs with the clients' Python. Generated names are, more often than not, replaced by names of things
that are there; generated configs become known configs with a few settings of generated text. What
could reach beyond the worker (files, hosts, commands) is never generated: settings that are varied
come from ``VARIED``. No reference to a config provider is generated that could fail: that is a
failure of the worker's surroundings, answered with 500 as by Kafka.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import schemathesis  # type: ignore[import-not-found]
from hypothesis import strategies as st

FACTS: dict[str, Any] = json.loads(Path(os.environ["CONNECTD_FUZZ_FACTS"]).read_text())

NAMES = {
    "/connectors": FACTS["connectors"],
    "/connectd/connectors": FACTS["connectors"],
    "/connector-plugins": FACTS["plugins"],
    "/admin/loggers": FACTS["loggers"],
}
VARIED = [
    "connector.plugin.version",
    "tasks.max",
    "tasks.max.enforce",
    "key.converter",
    "value.converter",
    "header.converter",
    "key.converter.schemas.enable",
    "transforms",
    "transforms.a.type",
    "transforms.a.field",
    "transforms.a.spec",
    "transforms.a.predicate",
    "transforms.a.negate",
    "predicates",
    "predicates.p.type",
    "predicates.p.pattern",
    "config.action.reload",
    "errors.retry.timeout",
    "errors.tolerance",
    "topic.creation.groups",
    "topic.creation.default.partitions",
    "exactly.once.support",
    "transaction.boundary",
    "transaction.boundary.interval.ms",
    "mock_mode",
    "${env:HOME}",
]
VALUES = [
    *("", " ", "a", "a,a", "p", "1", "-1", "99999999999999999999", "1.5", "NaN", "true", "maybe"),
    *("${", "${env:X}", "${nothing:a:b}", "[1,2)", "(", ".*", "\u0000", "名"),
    *FACTS["classes"],
]

_known = st.sampled_from(VALUES)
_value = _known | _known | st.text(max_size=20) | st.none() | st.integers() | st.booleans()
_settings = st.dictionaries(st.sampled_from(VARIED), _value, max_size=4)
_configs = st.sampled_from(FACTS["configs"])
_sources = st.sampled_from(FACTS["harmless_configs"])


@schemathesis.hook  # type: ignore[untyped-decorator]
def flatmap_path_parameters(context: Any, path_parameters: Any) -> Any:
    """Names of connectors, plugins and loggers that are there, for most requests."""
    known: list[str] = next(
        (names for start, names in NAMES.items() if context.operation.path.startswith(start)), []
    )
    generated = st.just(path_parameters)
    if not known or not isinstance(path_parameters, dict):
        return generated
    slot = "logger" if "logger" in path_parameters else "name"
    there = st.sampled_from(known).map(lambda name: {**path_parameters, slot: name})
    tasks = st.integers(min_value=0, max_value=2)
    if "task" in path_parameters:
        there = st.builds(lambda parameters, task: {**parameters, "task": task}, there, tasks)
    return there | there | generated


@schemathesis.hook  # type: ignore[untyped-decorator]
def flatmap_body(context: Any, body: Any) -> Any:
    """Configs that nearly work, and positions of connectors that are stopped."""
    label = context.operation.label
    generated = st.just(body)
    if label == "POST /connectors":
        config = st.builds(lambda known, more: {**known, **more}, _sources, _settings)
        names = st.sampled_from([*FACTS["connectors"], "", " ", "new", "a/b", "a b", "名前"])
        states = st.sampled_from(["RUNNING", "PAUSED", "STOPPED", "stopped", "NONE"])
        request = {"name": names, "config": config}
        return st.fixed_dictionaries(request, optional={"initial_state": states}) | generated
    if label == "PUT /connectors/{name}/config":
        return st.builds(lambda known, more: {**known, **more}, _sources, _settings) | generated
    if label == "PATCH /connectors/{name}/config":
        return _settings | generated
    if label.endswith("/config/validate"):
        return st.builds(lambda known, more: {**known, **more}, _configs, _settings) | generated
    if label == "PATCH /connectors/{name}/offsets":
        number = (
            st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=5)
            | st.none()
        )
        offset = st.dictionaries(st.sampled_from(["position", "id", "seqno", "x"]), number)
        entry = st.fixed_dictionaries(
            {"partition": st.sampled_from(FACTS["partitions"]), "offset": offset | st.none()}
        )
        return st.lists(entry, max_size=3).map(lambda each: {"offsets": each}) | generated
    return generated
