"""Every plugin that comes with connectd: a worker's registry, and what the reference documents.

Importing a plugin registers nothing by itself; a plugin of connectd exists for users when it stands
here, one of another package when that is installed (``plugins.entry_points``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import connectd
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.connector import SOURCE_DEF
from connectd.configdef.definition import ConfigDef
from connectd.connectors.dynamodb.connector import DynamoDbSourceConnector
from connectd.connectors.file.connector import FileStreamSourceConnector
from connectd.connectors.tools.mock import MockSourceConnector
from connectd.connectors.tools.schema_source import SchemaSourceConnector
from connectd.connectors.tools.verifiable_source import VerifiableSourceConnector
from connectd.converters import catalogue as converters
from connectd.converters.json_converter import JsonConverter
from connectd.converters.registry_catalogue import registry_converters
from connectd.converters.string_converter import StringConverter
from connectd.plugins import entry_points
from connectd.plugins.registry import PluginDesc, PluginRegistry
from connectd.plugins.spi import SourceConnector
from connectd.transforms import catalogue as transforms

_KAFKA_SOURCES: Final[Mapping[str, type[SourceConnector]]] = {
    "org.apache.kafka.connect.file.FileStreamSourceConnector": FileStreamSourceConnector,
    "org.apache.kafka.connect.tools.MockSourceConnector": MockSourceConnector,
    "org.apache.kafka.connect.tools.SchemaSourceConnector": SchemaSourceConnector,
    "org.apache.kafka.connect.tools.VerifiableSourceConnector": VerifiableSourceConnector,
}
"""Connectors that take the place of those that come with Kafka, under their names."""


def plugin_registry() -> PluginRegistry:
    """The plugins of a worker: every one that comes with connectd, then those of other packages."""
    registry = PluginRegistry()
    registry.register(
        PluginDesc(
            class_name="connectd.DynamoDBSource",
            aliases=("com.trustpilot.connector.dynamodb.DynamoDBSourceConnector",),
            kind=PluginKind.SOURCE,
            version=connectd.__version__,
            cls=DynamoDbSourceConnector,
        )
    )
    for name, connector in _KAFKA_SOURCES.items():
        registry.register(PluginDesc(name, PluginKind.SOURCE, connectd.__version__, connector))
    kinds: tuple[tuple[PluginKind, Mapping[str, type]], ...] = (
        (PluginKind.CONVERTER, converters.CONVERTERS),
        (PluginKind.CONVERTER, registry_converters()),
        (PluginKind.HEADER_CONVERTER, converters.HEADER_CONVERTERS),
        (PluginKind.TRANSFORMATION, transforms.TRANSFORMATIONS),
        (PluginKind.PREDICATE, transforms.PREDICATES),
    )
    for kind, classes in kinds:
        for name, cls in classes.items():
            registry.register(PluginDesc(name, kind, connectd.__version__, cls))
    entry_points.load(registry)
    return registry


def documented_plugins() -> list[tuple[str, ConfigDef]]:
    """Title and keys of everything that the reference documents beside the worker."""
    return [
        ("Source connectors", SOURCE_DEF),
        ("connectd.DynamoDBSource", DynamoDbSourceConnector.config_def()),
        *(
            (name, connector.config_def())
            for name, connector in _KAFKA_SOURCES.items()
            if connector.config_def().names()
        ),
        *(
            (name, converters.CONVERTERS[name].config_def())
            for name in (JsonConverter.class_name, StringConverter.class_name)
        ),
        *((name, converter.config_def()) for name, converter in registry_converters().items()),
        *(
            (name, cls.config_def())
            for name, cls in {**transforms.TRANSFORMATIONS, **transforms.PREDICATES}.items()
            if not name.endswith("$Key") and cls.config_def().names()
        ),
    ]
