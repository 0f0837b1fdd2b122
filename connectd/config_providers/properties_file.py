"""``FileConfigProvider``: the path is a Java properties file, the keys are its properties."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Final

from connectd.config_providers.allowed_paths import AllowedPaths
from connectd.configdef import properties
from connectd.errors import ConfigError
from connectd.plugins.spi import ProvidedValues

_NOTHING: Final = ProvidedValues({})


class FileConfigProvider:
    """Values out of properties files (``spi.ConfigProvider``).

    Without a path, or with one that is not allowed, it knows nothing, so that the reference stays
    as it is (spec kafka-connect B.7). A file is read anew for every lookup.
    """

    class_name: ClassVar = "org.apache.kafka.common.config.provider.FileConfigProvider"

    def __init__(self, allowed: AllowedPaths) -> None:
        self._allowed = allowed

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> FileConfigProvider:
        """``allowed.paths``: comma-separated; not set: every file of the machine.

        Raises:
            ConfigError: a path is not absolute or does not exist.
        """
        return cls(AllowedPaths(params))

    def get(self, path: str, keys: Collection[str]) -> ProvidedValues:
        """The properties of that name.

        Raises:
            ConfigError: the file cannot be read, in Kafka's words, or is not a properties file.
        """
        allowed = self._allowed.resolve(path) if path else None
        if allowed is None:
            return _NOTHING
        try:
            pairs = properties.load(allowed)
        except ConfigError as error:
            if isinstance(error.__cause__, OSError):
                raise ConfigError(f"Could not read properties from file {path}") from error
            # The parser's text shows a bit of the line, which may be a bit of a secret.
            raise ConfigError(
                f"Could not read properties from file {path}: it is too large, or has a malformed "
                r"\uXXXX escape (a backslash of a value is written as two)"
            ) from None
        return ProvidedValues({key: pairs[key] for key in keys if key in pairs})
