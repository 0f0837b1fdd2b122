"""Answers about plugins and configs equal those that a worker of Kafka 4.3 gave."""

from __future__ import annotations

import pytest

from connectd.plugins.directory import PluginDirectory
from tests.unit.plugins.kafka import abridged, stand_ins
from tests.unit.plugins.kafka.cases import CASES, config_of


@pytest.fixture
def directory() -> PluginDirectory:
    return stand_ins.directory()


def test_the_good_config_has_kafkas_answer(directory: PluginDirectory) -> None:
    answer = abridged.plain(directory.validate(config_of(CASES["good"])))
    assert answer == stand_ins.recorded("validation")["good"]


@pytest.mark.parametrize("case", [name for name in CASES if name != "good"])
def test_a_config_has_kafkas_answer(directory: PluginDirectory, case: str) -> None:
    answer = abridged.plain(directory.validate(config_of(CASES[case])))
    good = stand_ins.recorded("validation")["good"]
    assert abridged.abridged(answer, good) == stand_ins.recorded("validation")["cases"][case]


@pytest.mark.parametrize("plugin", stand_ins.recorded("plugins")["keys"])
def test_the_keys_of_a_plugin_are_kafkas(directory: PluginDirectory, plugin: str) -> None:
    keys = [abridged.without_documentation(key) for key in directory.config_keys(plugin)]
    assert keys == stand_ins.recorded("plugins")["keys"][plugin]


def test_plugins_are_listed_as_in_kafka(directory: PluginDirectory) -> None:
    installed = stand_ins.recorded("plugins")["installed"]
    assert directory.list_plugins(connectors_only=False) == installed
    connectors = [each for each in installed if each["type"] in ("sink", "source")]
    assert directory.list_plugins(connectors_only=True) == connectors
