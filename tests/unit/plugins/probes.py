"""Plugins that do nothing, and a worker to hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connectd.configdef import validators
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.configdef.worker import WorkerConfig
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema
from connectd.plugins.registry import PluginDesc, PluginRegistry

JSON = "org.apache.kafka.connect.json.JsonConverter"
JAVA = "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector"


class ProbeSource:
    version = "1"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef(
            [
                ConfigKey("topic", ConfigType.STRING, "Topic.", Importance.HIGH),
                ConfigKey("tasks.max", ConfigType.INT, "Own tasks.", Importance.HIGH, 1),
                ConfigKey("aws.secret.key", ConfigType.PASSWORD, "Secret.", Importance.LOW, None),
            ]
        )

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        return {"topic": ["Not this topic."]} if config.get("topic") == "bad" else {}


class ProbeConverter:
    def __init__(self, spec: ConverterSpec) -> None:
        self.spec = spec

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef(
            [
                ConfigKey("schemas.enable", ConfigType.BOOLEAN, "S.", Importance.HIGH, True),
                ConfigKey(
                    "cache",
                    ConfigType.INT,
                    "C.",
                    Importance.LOW,
                    10,
                    validator=validators.at_least(1),
                ),
                ConfigKey("basic.password", ConfigType.PASSWORD, "P.", Importance.LOW, None),
                ConfigKey("converter.type", ConfigType.STRING, "T.", Importance.LOW, None),
            ]
        )

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        return None


DYNAMODB = PluginDesc(
    "connectd.DynamoDBSource",
    PluginKind.SOURCE,
    "0.1",
    ProbeSource,
    (JAVA, "DynamoDBSourceConnector", "DynamoDBSource"),
)
JSON_CONVERTER = PluginDesc(JSON, PluginKind.CONVERTER, "undefined", ProbeConverter)
JSON_HEADERS = PluginDesc(JSON, PluginKind.HEADER_CONVERTER, "4.1", ProbeConverter)


def registry() -> PluginRegistry:
    made = PluginRegistry()
    for plugin in (JSON_HEADERS, JSON_CONVERTER, DYNAMODB):
        made.register(plugin)
    return made


def worker(**changes: str) -> WorkerConfig:
    properties = {
        "group.id": "connect",
        "key.converter": JSON,
        "value.converter": JSON,
        "config.storage.topic": "connect-configs",
        "offset.storage.topic": "connect-offsets",
        "status.storage.topic": "connect-status",
    }
    properties |= {name.replace("_", "."): value for name, value in changes.items()}
    return WorkerConfig.from_properties(properties)
