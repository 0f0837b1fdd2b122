"""A heading of the reference, and the keys declared under it."""

from __future__ import annotations

from connectd.configdef.definition import ConfigKey, ConfigType, Importance, Validator


class KeyGroup:
    """Declares keys under one heading, in the order in which they are written down."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.keys: list[ConfigKey] = []

    def key(
        self,
        name: str,
        value_type: ConfigType,
        default: object,
        importance: Importance,
        doc: str,
        validator: Validator | None = None,
    ) -> None:
        """Declare the next key."""
        self.keys.append(
            ConfigKey(
                name=name,
                type=value_type,
                doc=doc,
                importance=importance,
                default=default,
                group=self.title,
                order=len(self.keys) + 1,
                validator=validator,
            )
        )
