"""``EnvVarConfigProvider``: no path, the keys are the worker's environment variables.

Without ``allowlist.pattern`` everybody who may create a connector can see every variable, those
with the worker's own credentials too.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import ClassVar, Final

from connectd.errors import ConfigError, TransformError
from connectd.model import java_regex
from connectd.plugins.spi import ProvidedValues

PARAMETER: Final = "allowlist.pattern"


class EnvVarConfigProvider:
    """Values out of the environment, as it was when the worker started (``spi.ConfigProvider``)."""

    class_name: ClassVar = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = dict(variables)

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> EnvVarConfigProvider:
        """``allowlist.pattern``: a regular expression that a whole name must match; not set: all.

        Raises:
            ConfigError: it is not a regular expression of Java, or one that takes too long.
        """
        text = params.get(PARAMETER, ".*")
        try:
            pattern = java_regex.compiled(text)
        except java_regex.InvalidPatternError as error:
            raise ConfigError(
                f"{PARAMETER} is {text!r}, which is no regular expression: {error}"
            ) from error
        try:
            names = [name for name in os.environ if java_regex.fullmatch(pattern, name)]
        except TransformError as error:
            raise ConfigError(f"{PARAMETER} is {text!r}: {error}") from error
        return cls({name: os.environ[name] for name in names})

    def get(self, path: str, keys: Collection[str]) -> ProvidedValues:
        """The variables of that name.

        Raises:
            ConfigError: there is a path; in Kafka's words.
        """
        if path:
            raise ConfigError(
                f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'"
            )
        return ProvidedValues({key: self._variables[key] for key in keys if key in self._variables})
