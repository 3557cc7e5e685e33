"""Base of this package's converters: each serves keys, values and headers, and knows which of these it was made for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock import KAFKA_VERSION
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.converter import Converter, HeaderConverter, SchemaAndValue
from penstock.api.record import Header
from penstock.api.schema import Schema
from penstock.api.validators import ValidString
from penstock.values.repeated import only_nulls


def converter_settings() -> ConfigDef:
    """The definition that all converters share."""
    return ConfigDef().define(
        "converter.type",
        ConfigType.STRING,
        validator=ValidString("key", "value", "header"),
        importance=Importance.LOW,
        documentation="How this converter will be used.",
    )


class AnyConverter(Converter, HeaderConverter):
    """A converter for keys, values and headers alike. Subclasses define ``set_up`` and the conversions of single
    values.
    """

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return converter_settings()

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        self.set_up(self.config_def().parse({**config, "converter.type": "key" if is_key else "value"}))

    def configure_header(self, config: Mapping[str, str]) -> None:
        self.set_up(self.config_def().parse({**config, "converter.type": "header"}))

    def set_up(self, settings: dict[str, Any]) -> None:
        """Called once by either ``configure``, with the typed value of every setting."""

    def from_connect_batch(
        self, topics: list[str], headers: list[tuple[Header, ...]], schemas: list[Schema | None], values: list[Any]
    ) -> list[bytes | None]:
        if only_nulls(values) and only_nulls(schemas):
            return values
        return super().from_connect_batch(topics, headers, schemas, values)

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect(topic, (), schema, value)

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect(topic, (), data)
