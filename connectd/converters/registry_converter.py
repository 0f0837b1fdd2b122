"""What converters with a schema registry have in common; each adds the form of its own format.

A subclass makes its form and its ``Targets``, and says how a value becomes the bytes that follow
the prefix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from connectd.converters.registry_settings import RegistrySettings
from connectd.converters.registry_targets import Targets
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import RegistryClient
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema

Target = TypeVar("Target")


class RegistryConverter(ABC, Generic[Target]):
    """The writing side; ``writing_failed`` begins what is said of a value that does not pass."""

    writing_failed: ClassVar[str]

    _targets: Targets[Target]

    def __init__(self, spec: ConverterSpec, client: RegistryClient | None = None) -> None:
        """Made for its settings; ``client`` takes the place of the one that they name.

        Raises:
            ConfigError: one of the settings cannot be used.
        """
        self.spec = spec
        self.settings = RegistrySettings.of(spec)
        self.registry = client or RegistryClient(self.settings.client)

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The bytes of a key or value; None for null, which is a tombstone.

        Raises:
            ConvertError: the value does not fit its schema, or the registry refuses the schema.
            RetriableError: the registry is away; the same call may succeed later.
            AccessDeniedError: the registry refuses the login.
        """
        if value is None and (schema is None or schema.optional):
            return None
        try:
            return self._written(self._targets.of(topic, schema), value)
        except ConvertError as error:
            raise ConvertError(f"{self.writing_failed} topic {topic}: {error}") from error

    @abstractmethod
    def _written(self, target: Target, value: object) -> bytes:
        """The prefix and what follows it."""
