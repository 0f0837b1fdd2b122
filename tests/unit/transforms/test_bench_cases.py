"""The benchmark measures every converter, transform and predicate that a worker has."""

from __future__ import annotations

from benchmarks import converter_cases
from connectd.configdef.catalogue import PluginKind
from connectd.plugins.registry import PluginRegistry


def test_each_plugin_is_measured_and_takes_the_record(registry: PluginRegistry) -> None:
    cases = list(converter_cases.cases(registry))
    for case in cases:
        case.run()
    measured = {case.name.partition(",")[0] for case in cases}
    for kind in (PluginKind.CONVERTER, PluginKind.TRANSFORMATION, PluginKind.PREDICATE):
        names = {name for name in registry.class_names(kind) if not name.endswith("$Key")}
        assert names - measured == set()
