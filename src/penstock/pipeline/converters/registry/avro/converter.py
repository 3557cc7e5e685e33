"""``io.confluent.connect.avro.AvroConverter``."""

from __future__ import annotations

from typing import Any

from penstock.api.config import ConfigDef, ConfigType
from penstock.api.schema import Schema
from penstock.pipeline.converters.coercion import define_coercion, is_java
from penstock.pipeline.converters.registry.access.client import SchemaText
from penstock.pipeline.converters.registry.avro.options import AvroOptions
from penstock.pipeline.converters.registry.avro.reader import reader
from penstock.pipeline.converters.registry.avro.schema.compatibility import conflicts
from penstock.pipeline.converters.registry.avro.schema.model import AvroType, parts
from penstock.pipeline.converters.registry.avro.schema.text import parse, show
from penstock.pipeline.converters.registry.avro.to_avro import ANYTHING_TYPE, to_avro
from penstock.pipeline.converters.registry.avro.to_connect import ToConnect
from penstock.pipeline.converters.registry.avro.writer import AvroWriter
from penstock.pipeline.converters.registry.converter import RegistryConverter
from penstock.pipeline.converters.registry.format import FormatReader, FormatWriter, RegisteredSchema, WriterSchema
from penstock.pipeline.converters.registry.settings import define_flag, refuse, registry_settings

_NO_CLASSES = "Java's classes for Avro are not used here; leave this setting out"


class AvroConverter(RegistryConverter):
    """Avro, with schemas in a schema registry."""

    java_name = "io.confluent.connect.avro.AvroConverter"
    format, schema_type, extra = "Avro", "AVRO", "avro"
    libraries = ("fastavro",)

    @classmethod
    def config_def(cls) -> ConfigDef:
        config = define_coercion(registry_settings())
        define_flag(config, "connect.meta.data", True, "Whether Avro schemas say what they are in Connect.")
        define_flag(
            config, "enhanced.avro.schema.support", False, "Whether enums stay enums, and unions use full names."
        )
        define_flag(config, "scrub.invalid.names", False, "Whether characters that Avro does not allow are replaced.")
        define_flag(config, "discard.type.doc.default", False, "Whether only docs and defaults of fields are kept.")
        define_flag(config, "allow.optional.map.keys", False, "Whether maps with optional texts as keys are Avro maps.")
        define_flag(config, "flatten.singleton.unions", True, "Whether a union of one type is that type.")
        for name in ("avro.reflection.allow.null", "avro.use.logical.type.converters", "specific.avro.reader"):
            refuse(config, name, ConfigType.BOOLEAN, False, _NO_CLASSES)
        for name in ("specific.avro.key.type", "specific.avro.value.type"):
            refuse(config, name, ConfigType.STRING, None, _NO_CLASSES)
        define_flag(config, "avro.remove.java.properties", False, "Whether `avro.java.string` is not registered.")
        define_flag(config, "avro.fail.on.trailing.data", False, "Whether bytes after a value are an error.")
        return config

    def set_up(self, settings: dict[str, Any]) -> None:
        self.check_libraries()
        self.options = AvroOptions.of(settings)
        self._to_connect = ToConnect(self.options)

    def target(self, schema: Schema | None) -> RegisteredSchema:
        avro = to_avro(schema, self.options)
        if self.settings["avro.remove.java.properties"]:
            for part in parts(avro):
                part.props.pop("avro.java.string", None)
        return _target(avro, None)

    def parsed_target(self, text: SchemaText, schema: Schema | None) -> RegisteredSchema:
        return _target(self._parse(f"Error parsing {text.text}", text), text)

    def writer(self, schema: Schema | None, target: RegisteredSchema) -> FormatWriter:
        return AvroWriter(schema, target.parsed, self.options)

    def conflicts(self, reader: RegisteredSchema, writer: RegisteredSchema) -> list[str]:
        return conflicts(reader.parsed, writer.parsed)

    def reader(self, source: WriterSchema) -> FormatReader:
        avro, read_as = self._parse(source.what, source.text), None
        version = source.version(_name(avro))
        if source.latest is not None:
            text, _ = source.latest(_name(avro))
            read_as = None if text == source.text else self._parse(source.what, text)
        shown = read_as or avro
        # As in Java, the version is still the writer's.
        schema = None if show(shown) == _ANYTHING else self._to_connect.schema(shown, version)
        return reader(avro, schema, self.settings["avro.fail.on.trailing.data"], read_as, is_java(self.settings))

    def _parse(self, what: str, text: SchemaText) -> AvroType:
        known: dict[str, AvroType] = {}
        for inner in self.texts(what, text).values():
            parse(inner, known)
        return parse(text.text, known)


_ANYTHING = show(ANYTHING_TYPE)


def _target(avro: AvroType, text: SchemaText | None) -> RegisteredSchema:
    return RegisteredSchema(text or SchemaText("AVRO", show(avro)), _name(avro), avro)


def _name(avro: AvroType) -> str | None:
    """The name that subjects are named by. Java: ``AvroSchema.name``."""
    return avro.full_name if avro.kind == "record" else None
