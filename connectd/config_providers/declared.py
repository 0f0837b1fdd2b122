"""The providers that a worker's properties declare (spec kafka-connect B.7).

``config.providers`` lists names; each has ``config.providers.<name>.class`` and may have
``config.providers.<name>.param.*``. A class is named as in Java, in full or without its package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connectd.config_providers.directory import DirectoryConfigProvider
from connectd.config_providers.environment import EnvVarConfigProvider
from connectd.config_providers.properties_file import FileConfigProvider
from connectd.configdef.values import trim
from connectd.errors import ConfigError
from connectd.plugins.spi import ConfigProvider

LIST_KEY: Final = "config.providers"
PREFIX: Final = "config.providers."

BUILT_IN: Final = (FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider)

ProviderClasses = Mapping[str, type[ConfigProvider]]
"""Classes by each of the names that a worker's file may use."""


def built_in_classes() -> dict[str, type[ConfigProvider]]:
    """The providers that come with connectd, by Java class name with and without package."""
    classes: dict[str, type[ConfigProvider]] = {}
    for cls in BUILT_IN:
        classes[cls.class_name] = classes[cls.class_name.rpartition(".")[2]] = cls
    return classes


def make_providers(
    properties: Mapping[str, str], classes: ProviderClasses | None = None
) -> dict[str, ConfigProvider]:
    """The providers that ``properties`` declare, by name; ``classes`` are the built-in ones.

    Raises:
        ConfigError: a provider has no class, an unknown one, or does not take its parameters.
    """
    known = built_in_classes() if classes is None else classes
    names = [trim(name) for name in properties.get(LIST_KEY, "").split(",")]
    return {name: _make(name, properties, known) for name in dict.fromkeys(names) if name}


def _make(name: str, properties: Mapping[str, str], known: ProviderClasses) -> ConfigProvider:
    class_key, param_prefix = f"{PREFIX}{name}.class", f"{PREFIX}{name}.param."
    class_name = trim(properties.get(class_key, ""))
    if not class_name:
        raise ConfigError(
            f"{LIST_KEY} names the provider '{name}', but {class_key} is not set; set it to one of "
            f"{_choice(known)}, or take '{name}' out of {LIST_KEY}"
        )
    cls = known.get(class_name)
    if cls is None:
        raise ConfigError(
            f"config provider '{name}': {class_key} is {class_name}, which is not part of this "
            f"installation; set it to one of {_choice(known)}, or take '{name}' out of {LIST_KEY}"
        )
    params = {
        key.removeprefix(param_prefix): text
        for key, text in properties.items()
        if key.startswith(param_prefix)
    }
    try:
        return cls.from_params(params)
    except ConfigError as error:
        raise ConfigError(
            f"config provider '{name}' ({class_name}): {error}; correct {param_prefix}*"
        ) from error


def _choice(known: ProviderClasses) -> str:
    return ", ".join(sorted(name for name in known if "." in name))
