"""Steps of a chain whose plugins do not play by the rules: which one it was, and what it did."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from connectd.configdef.catalogue import PluginKind
from connectd.configdef.definition import ConfigDef
from connectd.errors import ConfigError, FatalTaskError, TransformError
from connectd.model.record import SourceRecord
from connectd.plugins import chaining
from connectd.plugins.registry import PluginDesc, PluginRegistry
from connectd.transforms import catalogue

PACKAGE = "org.apache.kafka.connect.transforms."


def record(value: object) -> SourceRecord:
    return SourceRecord("t", None, None, None, value)


@pytest.fixture
def registry() -> PluginRegistry:
    found = PluginRegistry()
    for kind, classes in (
        (PluginKind.TRANSFORMATION, catalogue.TRANSFORMATIONS),
        (PluginKind.PREDICATE, catalogue.PREDICATES),
    ):
        for name, cls in classes.items():
            found.register(PluginDesc(name, kind, "1", cls))
    return found


class _Odd:
    """A transform, or a predicate, that gives what it was made with, or raises it."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def apply(self, given: SourceRecord) -> Any:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    test = apply

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef([])


class _Async(_Odd):
    async def apply(self, given: SourceRecord) -> Any:
        return given

    test = apply


@pytest.mark.parametrize(
    ("odd", "found"),
    [
        (_Odd("x"), "apply gave a str, expected a SourceRecord, or None"),
        (_Odd([record(1)]), "apply gave a list, expected a SourceRecord, or None"),
        (_Odd(SystemExit(3)), "SystemExit(3) in tests.unit.plugins.test_chaining._Odd.apply ("),
        (_Odd(asyncio.CancelledError()), "CancelledError() in tests.unit.plugins.test_chaining"),
        (
            _Async(None),
            "apply is async, expected a plain method that gives a SourceRecord, or None",
        ),
    ],
)
def test_a_transform_that_does_not_play_by_the_rules_ends_its_task_and_is_named(
    odd: _Odd, found: str
) -> None:
    step = chaining.Step("mask", odd, class_name="com.acme.Mask")
    with pytest.raises(FatalTaskError) as caught:
        step.apply(record(1))
    assert str(caught.value).startswith(f"transforms.mask (com.acme.Mask): {found}")


@pytest.mark.parametrize(
    ("odd", "found"),
    [
        (_Odd(0), "test gave an int, expected a bool"),
        (_Odd(None), "test gave None, expected a bool"),
        (_Odd("yes"), "test gave a str, expected a bool"),
        (_Odd(SystemExit(3)), "SystemExit(3) in tests.unit.plugins.test_chaining._Odd.apply ("),
        (_Async(None), "test is async, expected a plain method that gives a bool"),
    ],
)
@pytest.mark.parametrize("negate", [False, True])
def test_a_predicate_that_does_not_play_by_the_rules_ends_its_task_and_is_named(
    odd: _Odd, found: str, negate: bool
) -> None:
    step = chaining.Step("mask", _Odd(None), odd, negate, "com.acme.Mask", "big (com.acme.IsBig)")
    with pytest.raises(FatalTaskError) as caught:
        step.apply(record(1))
    assert str(caught.value).startswith(f"predicates.big (com.acme.IsBig): {found}")


def test_what_a_predicate_raises_is_not_put_down_to_its_transform() -> None:
    step = chaining.Step("mask", _Odd(None), _Odd(KeyError("a")), False, "Mask", "big (IsBig)")
    with pytest.raises(TransformError, match=re.escape("predicates.big (IsBig) failed with KeyEr")):
        step.apply(record(1))


def test_a_chain_names_predicates_and_transforms_by_alias_and_class(
    registry: PluginRegistry,
) -> None:
    config = {
        "transforms": "drop",
        "transforms.drop.type": f"{PACKAGE}Filter",
        "transforms.drop.predicate": "gone",
        "predicates": "gone",
        "predicates.gone.type": "RecordIsTombstone",
    }
    named = {
        (step.alias, step.class_name, step.predicate_name)
        for step in chaining.make_chain(registry, config).steps
        if step.predicate is not None
    }
    assert named == {("drop", f"{PACKAGE}Filter", f"gone ({PACKAGE}predicates.RecordIsTombstone)")}


def test_a_transform_that_cannot_be_made_is_named(registry: PluginRegistry) -> None:
    class Fails:
        @classmethod
        def config_def(cls) -> ConfigDef:
            return ConfigDef([])

    registry.register(PluginDesc("com.acme.Fails", PluginKind.TRANSFORMATION, "1", Fails))
    config = {"transforms": "x", "transforms.x.type": "com.acme.Fails"}
    with pytest.raises(ConfigError, match=re.escape("transforms.x (com.acme.Fails) failed with T")):
        chaining.make_chain(registry, config)
