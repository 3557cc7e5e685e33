"""``io.confluent.connect.json.JsonSchemaConverter``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import DataError, SerializationError
from penstock.api.schema import Schema
from penstock.api.validators import CaseInsensitiveValidString
from penstock.java.jackson.reading import dumps, loads, parse
from penstock.pipeline.converters.coercion import define_coercion, is_java
from penstock.pipeline.converters.registry.access.client import SchemaText
from penstock.pipeline.converters.registry.converter import RegistryConverter
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.format import FormatReader, FormatWriter, RegisteredSchema, WriterSchema
from penstock.pipeline.converters.registry.json_schema.compatibility import conflicts
from penstock.pipeline.converters.registry.json_schema.documents import Documents, Load
from penstock.pipeline.converters.registry.json_schema.options import JsonSchemaOptions
from penstock.pipeline.converters.registry.json_schema.payloads import PayloadWriter, payload_reader
from penstock.pipeline.converters.registry.json_schema.reader import ValueReader
from penstock.pipeline.converters.registry.json_schema.to_connect import to_connect
from penstock.pipeline.converters.registry.json_schema.to_json_schema import to_json_schema
from penstock.pipeline.converters.registry.json_schema.writer import ValueWriter
from penstock.pipeline.converters.registry.settings import define_flag, refuse, registry_settings
from penstock.pipeline.converters.scalar_nodes import InexactError

_NO_CLASSES = "Java's classes are not made into JSON here; leave this setting out"
_REFUSED: tuple[tuple[str, ConfigType, Any], ...] = (
    ("json.validate.before.domain.rules", ConfigType.BOOLEAN, False),
    ("json.write.dates.iso8601", ConfigType.BOOLEAN, False),
    ("json.schema.spec.version", ConfigType.STRING, "draft_7"),
    ("json.schema.scan.packages", ConfigType.LIST, []),
    ("json.default.property.inclusion", ConfigType.STRING, None),
    ("json.key.type", ConfigType.STRING, "java.lang.Object"),
    ("json.value.type", ConfigType.STRING, "java.lang.Object"),
    ("type.property", ConfigType.STRING, "javaType"),
    ("json.type.allowed.packages", ConfigType.STRING, "*"),
    ("json.envelope.detection", ConfigType.BOOLEAN, True),
    ("json.oneof.for.nullables", ConfigType.BOOLEAN, True),
    ("json.fail.unknown.properties", ConfigType.BOOLEAN, True),
)


class JsonSchemaConverter(RegistryConverter):
    """JSON, with schemas in a schema registry."""

    java_name = "io.confluent.connect.json.JsonSchemaConverter"
    format, schema_type, extra = "JSON Schema", "JSON", "json-schema"

    @classmethod
    def config_def(cls) -> ConfigDef:
        config = define_coercion(registry_settings())
        define_flag(config, "object.additional.properties", True, "Whether objects may have other properties.")
        define_flag(
            config, "use.optional.for.nonrequired", False, "Whether properties that are not required are optional."
        )
        define_flag(config, "flatten.singleton.unions", True, "Whether a combination of one schema is that schema.")
        config.define(
            "decimal.format",
            ConfigType.STRING,
            "BASE64",
            CaseInsensitiveValidString("BASE64", "NUMERIC"),
            Importance.LOW,
            "Whether decimals are written as base 64 or as numbers.",
        )
        define_flag(config, "json.fail.invalid.schema", False, "Whether payloads are checked against their schema.")
        define_flag(config, "json.indent.output", False, "Whether JSON is written with line breaks and indentation.")
        for name in ("ignore.modern.dialects", "preserve.additional.properties"):
            refuse(config, name, ConfigType.BOOLEAN, False, "This is not possible here; leave this setting out")
        for name, type, default in _REFUSED:
            refuse(config, name, type, default, _NO_CLASSES)
        return config

    def set_up(self, settings: dict[str, Any]) -> None:
        self.options = JsonSchemaOptions.of(settings)
        self._values = ValueWriter(self.options, self.cache_size)
        self._read = ValueReader(self.cache_size, java=is_java(settings))
        self._validates: bool = settings["json.fail.invalid.schema"]
        if self._validates:
            load("jsonschema_rs", self.extra)

    def target(self, schema: Schema | None) -> RegisteredSchema:
        if schema is None:
            raise DataError("Data without a schema can't be written as JSON Schema")
        node = to_json_schema(schema, self.options)
        return RegisteredSchema(SchemaText("JSON", dumps(node).decode()), _name(node), node)

    def parsed_target(self, text: SchemaText, schema: Schema | None) -> RegisteredSchema:
        node = self._documents(f"Error parsing {text.text}", text).root().node
        return RegisteredSchema(text, _name(node), node)

    def writer(self, schema: Schema | None, target: RegisteredSchema) -> FormatWriter:
        check = self._validator(f"Error validating {target.text.text}", target.text) if self._validates else None
        return PayloadWriter(schema, self._values, check, self.settings["json.indent.output"])

    def is_tombstone(self, schema: Schema | None) -> bool:
        """Only without a schema, or where the schema has neither null nor a default to write."""
        return schema is None or not (schema.optional or self._values.writes_default(schema))

    def conflicts(self, reader: RegisteredSchema, writer: RegisteredSchema) -> list[str]:
        return conflicts(reader.parsed, writer.parsed)

    def reader(self, source: WriterSchema) -> FormatReader:
        what, text = source.what, source.text
        documents = self._documents(what, text)
        version = source.version(_name(documents.root().node))
        if source.latest is not None:
            text, version = source.latest(_name(documents.root().node))
            documents = self._documents(what, text)
        try:
            schema = to_connect(documents, self.options, version)
        except InexactError:  # of a default, which may be any number
            schema = to_connect(self._documents(what, text, parse), self.options, version)
        check = self._validator(what, text) if self._validates else None
        return payload_reader(schema, self._read, check)

    def _documents(self, what: str, text: SchemaText, load: Load = loads) -> Documents:
        return Documents(text.text, self.texts(what, text), load)

    def _validator(self, what: str, text: SchemaText) -> Callable[[Any], None]:
        """A function that raises SerializationError for JSON that does not fit the schema."""
        library = load("jsonschema_rs", self.extra)
        inner = {name: orjson.loads(other) for name, other in self.texts(what, text).items()}

        def retrieve(uri: str) -> Any:
            for name, node in inner.items():
                if uri == name or uri.endswith("/" + name) or uri == f"json-schema:///{name}":
                    return node
            raise ValueError(f"{uri} is none of the references of the schema")

        validator = library.validator_for(orjson.loads(text.text), retriever=retrieve)

        def check(node: Any) -> None:
            try:
                validator.validate(node)
            except library.ValidationError as error:
                raise SerializationError(f"Validation error in JSON: {error.message}") from error

        return check


def _name(node: dict[str, Any]) -> str | None:
    """The name that subjects are named by. Java: ``JsonSchema.name``."""
    title = node.get("title")
    return title if isinstance(title, str) else None
