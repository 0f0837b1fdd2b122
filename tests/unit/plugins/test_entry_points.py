"""Plugins of other packages: what is found, what is refused, and that nothing breaks the start."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, PathDistribution
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from connectd.config_providers import declared
from connectd.configdef.catalogue import PluginKind
from connectd.errors import ConfigError
from connectd.plugins import entry_points
from connectd.plugins.registry import PluginDesc, PluginRegistry
from tests.unit.plugins.probes import JSON_CONVERTER, ProbeConverter, registry

MODULE = """
from connectd.plugins.authoring import ConfigDef, ConvertError

class Upper:
    def __init__(self, settings):
        pass
    @classmethod
    def config_def(cls):
        return ConfigDef([])
    def apply(self, record):
        return record

class Text(Upper):
    def from_connect_data(self, topic, schema, value):
        return b""
    def from_connect_header(self, topic, name, schema, value):
        return b""

class WithoutKeys(Upper):
    @classmethod
    def config_def(cls):
        return {}

class Raises(Upper):
    @classmethod
    def config_def(cls):
        raise RuntimeError("two\\nlines")

class Async(Upper):
    async def apply(self, record):
        return record

class Generates(Upper):
    async def apply(self, record):
        yield record

class WithoutSettings(Upper):
    def __init__(self):
        pass

class Vault:
    @classmethod
    def from_params(cls, params):
        return cls()
    def get(self, path, keys):
        return None

def function(settings):
    return None
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of modules that can be imported, and are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "acme.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "leaves.py").write_text("raise SystemExit(7)", encoding="utf-8")
    unusual = "class Unusual(BaseException): pass\nraise Unusual('by design')"
    (tmp_path / "throws.py").write_text(unusual, encoding="utf-8")
    (tmp_path / "torn.py").write_text("def (", encoding="utf-8")
    (tmp_path / "needs.py").write_text("import nowhere_to_be_found", encoding="utf-8")
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def offered(home: Path, package: str, version: str, **groups: str) -> list[EntryPoint]:
    """The entry points of a package as an installer leaves it; each group has ``name = value``."""
    info = home / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {package}\nVersion: {version}\n", encoding="utf-8")
    text = "".join(f"[connectd.{group}]\n{entries}\n" for group, entries in groups.items())
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    return list(PathDistribution(info).entry_points)


def loaded(*offers: EntryPoint, into: PluginRegistry | None = None) -> PluginRegistry:
    """A registry after the packages were loaded."""
    found = registry() if into is None else into
    with capture_logs():
        entry_points.load(found, offers)
    return found


def test_a_name_with_dots_is_the_class_name_and_the_version_that_of_the_package(
    package: Path,
) -> None:
    found = loaded(*offered(package, "acme", "1.2", transforms="com.acme.Upper$Value = acme:Upper"))
    plugin = found.find(PluginKind.TRANSFORMATION, "com.acme.Upper$Value")
    assert (plugin.version, plugin.cls.__name__, found.unusable) == ("1.2", "Upper", [])
    assert {"class": plugin.class_name, "type": "transformation", "version": "1.2"} in (
        found.plugins(connectors_only=False)
    )


@pytest.mark.parametrize("name", ["shout", "Upper", "acme.Upper"])
def test_a_plain_word_is_a_short_name_of_the_python_class(package: Path, name: str) -> None:
    found = loaded(*offered(package, "acme", "1", transforms="shout = acme:Upper"))
    assert found.find(PluginKind.TRANSFORMATION, name).class_name == "acme.Upper"


def test_a_converter_with_a_method_for_headers_is_a_header_converter_too(package: Path) -> None:
    found = loaded(*offered(package, "acme", "1", converters="text = acme:Text"))
    assert found.find(PluginKind.CONVERTER, "text") != found.find(
        PluginKind.HEADER_CONVERTER, "text"
    )


def test_a_config_provider_can_be_declared_by_its_names(package: Path) -> None:
    found = loaded(*offered(package, "acme", "1", config_providers="vault = acme:Vault"))
    properties = {"config.providers": "v", "config.providers.v.class": "acme.Vault"}
    classes = {**declared.built_in_classes(), **found.provider_classes}
    assert list(declared.make_providers(properties, classes)) == ["v"]
    assert set(found.provider_classes) == {"acme.Vault", "vault"}


BROKEN = {
    "needs:X": "ModuleNotFoundError: No module named 'nowhere_to_be_found'",
    "torn:X": "SyntaxError: ",
    "leaves:X": "SystemExit: 7",
    "acme:Nobody": "AttributeError: ",
    "nowhere_at_all:X": "ModuleNotFoundError: ",
    "acme:Vault": "which lacks config_def, apply; docs/plugins.md shows one",
    "acme:function": "which lacks config_def, apply",
    "acme:WithoutKeys": "config_def gave a dict, expected a ConfigDef",
    "acme:Raises": "RuntimeError: two lines",
    "acme:Async": "apply is async, expected a plain method;",
    "acme:Generates": "apply is async, expected a plain method;",
    "acme:WithoutSettings": "__init__ does not take (self, settings): too many positional arg",
    "throws:X": "Unusual: by design;",
}


@pytest.mark.parametrize("value", BROKEN)
def test_a_broken_plugin_is_kept_with_its_reason_and_the_others_are_loaded(
    package: Path, value: str
) -> None:
    offers = offered(package, "acme", "1.2", transforms=f"a.Bad = {value}\nb.Good = acme:Upper")
    found = registry()
    with capture_logs() as lines:
        entry_points.load(found, offers)
    assert found.find(PluginKind.TRANSFORMATION, "b.Good").class_name == "b.Good"
    (unusable,) = found.unusable
    assert unusable.problem.startswith(f"a.Bad of acme 1.2 cannot be used ({value}, group ")
    assert BROKEN[value] in unusable.problem
    assert "\n" not in unusable.problem
    errors = [line for line in lines if line["log_level"] == "error"]
    assert [line["problem"] for line in errors] == [unusable.problem]


def test_who_needs_a_broken_plugin_is_told_why_it_is_not_there(package: Path) -> None:
    found = loaded(*offered(package, "acme", "1", transforms="a.Bad = needs:X"))
    with pytest.raises(ConfigError, match=r"a\.Bad of acme 1 cannot be used .*nowhere_to_be_found"):
        found.find(PluginKind.TRANSFORMATION, "a.Bad")
    match = found.match(PluginKind.TRANSFORMATION, "a.Bad")
    assert match is not None
    assert match.problem == found.unusable[0].problem
    with pytest.raises(ConfigError, match="Failed to find any class"):
        found.find(PluginKind.PREDICATE, "a.Bad")
    assert "a.Bad" not in found.class_names(PluginKind.TRANSFORMATION)


def test_a_name_of_connectd_itself_cannot_be_taken(package: Path) -> None:
    name = JSON_CONVERTER.class_name
    found = loaded(*offered(package, "acme", "1", converters=f"{name} = acme:Text"))
    assert found.find(PluginKind.CONVERTER, name) is JSON_CONVERTER
    assert "is already the name of" in found.unusable[0].problem


def test_among_packages_the_first_name_wins_whatever_the_order(package: Path) -> None:
    one = offered(package, "zebra", "1", transforms="x.Same = acme:Text")
    other = offered(package, "Ant", "2", transforms="x.Same = acme:Upper")
    for offers in ([*one, *other], [*other, *one]):
        found = loaded(*offers)
        assert found.find(PluginKind.TRANSFORMATION, "x.Same").version == "2"
        assert [each.package for each in found.unusable] == ["zebra 1"]


def test_two_providers_of_one_name_are_not_mixed_up(package: Path) -> None:
    one = offered(package, "ant", "1", config_providers="x.Same = acme:Vault")
    other = offered(package, "bee", "1", config_providers="x.Same = acme:Vault")
    found = loaded(*one, *other)
    assert list(found.provider_classes) == ["x.Same"]
    assert "x.Same is already the name of another provider" in found.unusable[0].problem


def test_other_groups_are_none_of_our_business(package: Path) -> None:
    offers = offered(package, "acme", "1", else_where="x = needs:X")
    assert loaded(*offers, into=PluginRegistry()).plugins(connectors_only=False) == []


def test_a_short_name_of_another_package_makes_it_ambiguous_as_in_java(package: Path) -> None:
    made = PluginRegistry()
    made.register(PluginDesc("b.TextConverter", PluginKind.CONVERTER, "1", ProbeConverter))
    loaded(*offered(package, "acme", "1", converters="a.TextConverter = acme:Text"), into=made)
    with pytest.raises(ConfigError, match="More than one plugin matches alias TextConverter"):
        made.find(PluginKind.CONVERTER, "TextConverter")


def test_a_signal_while_packages_are_loaded_is_heard(package: Path) -> None:
    (package / "interrupted.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    offers = offered(package, "acme", "1", transforms="a.B = interrupted:X")
    with pytest.raises(KeyboardInterrupt):
        entry_points.load(registry(), offers)
