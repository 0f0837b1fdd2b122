"""``StringConverter``: the text of a value, in a given encoding (spec kafka-connect E.3).

Structs, maps and lists have the form of Java's ``toString``. What the encoding lacks is replaced as
in Java (``text_encoding``). Bytes are refused: Java's text for them is an address in memory.
"""

from __future__ import annotations

from typing import ClassVar, Final

from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width
from connectd.converters import text_encoding
from connectd.converters.declared import CONVERTER_TYPE, ForHeaders
from connectd.errors import ConfigError
from connectd.model import java_text
from connectd.model.record import ConverterSpec
from connectd.model.schema import OPTIONAL_STRING, Schema, SchemaAndValue
from connectd.model.text_marks import TextForm

_UTF_8: Final = "UTF-8"


class StringConverter(ForHeaders):
    """Writes and reads texts."""

    class_name: ClassVar[str] = "org.apache.kafka.connect.storage.StringConverter"

    def __init__(self, spec: ConverterSpec) -> None:
        """Look the encoding up.

        Raises:
            ConfigError: there is none of that name.
        """
        self.spec = spec
        name = spec.setting("converter.encoding", _UTF_8)
        try:
            self._encoding = text_encoding.of_name(name)
        except LookupError as error:
            raise ConfigError(
                f"converter.encoding is {name}, which is no text encoding; UTF-8 is one"
            ) from error

    @property
    def text_form(self) -> TextForm | None:
        """That of texts in UTF-8; other encodings are asked for each."""
        return TextForm.BARE if self._encoding.is_utf8 else None

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Kafka's keys."""
        return _CONFIG_DEF

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """See ``spi.Converter``."""
        if value is None:
            return None
        text = value if isinstance(value, str) else java_text.of(schema, value)
        return self._encoding.encode(text)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """See ``spi.Converter``. What is no text in the encoding becomes U+FFFD."""
        if data is None:
            return OPTIONAL_STRING, None
        return OPTIONAL_STRING, self._encoding.decode(data)


_CONFIG_DEF: Final = ConfigDef(
    [
        CONVERTER_TYPE,
        ConfigKey(
            "converter.encoding",
            ConfigType.STRING,
            "Encoding of the text.",
            Importance.HIGH,
            default=_UTF_8,
            width=Width.MEDIUM,
            display_name="Encoding",
        ),
    ]
)
