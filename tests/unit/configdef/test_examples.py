"""The files under ``config/`` are right: they are parsed and checked against the definitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from connectd.configdef import connector_validation, properties
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.worker import Mode, WorkerConfig
from connectd.connectors.dynamodb import config as dynamodb
from connectd.converters.json_converter import JsonConverter
from connectd.kafka import clientconf
from connectd.plugins import layering
from connectd.plugins.registry import PluginDesc, PluginRegistry

CONFIG = Path(__file__).resolve().parents[3] / "config"
WORKER_FILES = [CONFIG / "worker.properties"]
STANDALONE_FILE = CONFIG / "standalone.properties"
CONNECTOR_FILES = sorted(CONFIG.glob("*.json"))


def registry() -> PluginRegistry:
    made = PluginRegistry()
    made.register(PluginDesc(JsonConverter.class_name, PluginKind.CONVERTER, "0.1", JsonConverter))
    return made


def uncommented(text: str) -> str:
    """The file with its examples switched on: lines that begin with # and no blank."""
    return "\n".join(
        line[1:] if line.startswith("#") and not line.startswith("# ") else line
        for line in text.splitlines()
    )


def test_there_are_examples() -> None:
    assert sorted(CONFIG.glob("*.properties")) == [STANDALONE_FILE, *WORKER_FILES]
    assert [path.name for path in CONNECTOR_FILES] == ["dynamodb-source.json"]


@pytest.mark.parametrize("path", WORKER_FILES, ids=lambda path: path.name)
def test_a_worker_file_starts_a_worker_without_warnings(path: Path) -> None:
    config = WorkerConfig.from_properties(properties.load(path))
    assert config.warnings() == []
    for part in ("key", "value"):
        converter = layering.make_converter(
            "key" if part == "key" else "value", registry(), config, {}
        )
        assert converter.spec.setting("schemas.enable", "true") == "false"


def test_the_file_of_a_standalone_worker_starts_one_without_warnings() -> None:
    config = WorkerConfig.from_properties(properties.load(STANDALONE_FILE), mode=Mode.STANDALONE)
    assert config.warnings() == []


@pytest.mark.parametrize("path", WORKER_FILES, ids=lambda path: path.name)
def test_what_is_commented_out_in_a_worker_file_is_right_too(path: Path, tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_text("-----BEGIN CERTIFICATE-----\n", encoding="utf-8")
    text = uncommented(path.read_text(encoding="utf-8"))
    text = text.replace("=/etc/connectd/ca.pem", f"={authority}")
    config = WorkerConfig.from_properties(properties.parse_text(text))
    assert config.warnings() == []
    assert config.rest.advertised.host == "worker-1.example.com"
    settings = layering.client_settings("producer", config, {})
    conf = clientconf.producer_conf(settings, client_id="test")
    assert conf["sasl.username"] == "connect"
    own = clientconf.admin_conf(clientconf.select(config.client_config()), client_id="test")
    assert own["ssl.ca.location"] == str(authority)


@pytest.mark.parametrize("path", CONNECTOR_FILES, ids=lambda path: path.name)
def test_a_connector_file_is_valid_without_warnings(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    config = {"name": document["name"], **document["config"]}
    worker = WorkerConfig.from_properties(properties.load(CONFIG / "worker.properties"))
    checked = connector_validation.config_infos(
        config,
        connector_def=dynamodb.CONFIG_DEF,
        catalogue=registry(),
        worker=worker,
        messages=dynamodb.problems(config),
    )
    errors = [each["value"]["errors"] for each in checked.infos["configs"]]
    assert [texts for texts in errors if texts] == []
    assert checked.warnings == ()
    settings = layering.client_settings("producer", worker, config)
    assert clientconf.producer_conf(settings, client_id="t")["compression.type"] == "zstd"
