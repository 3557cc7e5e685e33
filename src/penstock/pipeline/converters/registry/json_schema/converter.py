"""``io.confluent.connect.json.JsonSchemaConverter``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import DataError, SerializationError
from penstock.api.schema import Schema
from penstock.api.validators import CaseInsensitiveValidString
from penstock.java.jackson.reading import dumps, escaped, loads, needs_escapes, parse
from penstock.pipeline.converters.json_writer import Write
from penstock.pipeline.converters.registry.client import SchemaText
from penstock.pipeline.converters.registry.converter import Read, RegistryConverter, Target, Writer
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.json_schema.compatibility import conflicts
from penstock.pipeline.converters.registry.json_schema.documents import Documents
from penstock.pipeline.converters.registry.json_schema.options import JsonSchemaOptions
from penstock.pipeline.converters.registry.json_schema.to_connect import to_connect
from penstock.pipeline.converters.registry.json_schema.to_json_schema import to_json_schema
from penstock.pipeline.converters.registry.json_schema.values import ValueReader, ValueWriter
from penstock.pipeline.converters.registry.settings import define_flag, refuse, registry_settings
from penstock.pipeline.converters.registry.wire import SchemaId
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
    java_name = "io.confluent.connect.json.JsonSchemaConverter"
    format, schema_type, extra = "JSON Schema", "JSON", "json-schema"

    @classmethod
    def config_def(cls) -> ConfigDef:
        config = registry_settings()
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
        self._read = ValueReader(self.cache_size)
        self._validates: bool = settings["json.fail.invalid.schema"]
        if self._validates:
            load("jsonschema_rs", self.extra)

    def target(self, schema: Schema | None) -> Target:
        if schema is None:
            raise DataError("Data without a schema can't be written as JSON Schema")
        node = to_json_schema(schema, self.options)
        return Target(SchemaText("JSON", dumps(node).decode()), _name(node), node)

    def parsed_target(self, text: SchemaText, schema: Schema | None) -> Target:
        node = self._documents(f"Error parsing {text.text}", text).root().node
        return Target(text, _name(node), node)

    def writer(self, schema: Schema | None, target: Target) -> Writer:
        check = self._validator(f"Error validating {target.text.text}", target.text) if self._validates else None
        return _JsonWriter(schema, self._values, check, self.settings["json.indent.output"])

    def conflicts(self, reader: Target, writer: Target) -> list[str]:
        return conflicts(reader.parsed, writer.parsed)

    def reader(
        self, what: str, text: SchemaText, id: SchemaId, version: Callable[[str | None], int | None]
    ) -> tuple[Schema | None, Read]:
        documents = self._documents(what, text)
        schema = to_connect(documents, self.options, version(_name(documents.root().node)))
        read_value = self._read.reader(schema)
        check = self._validator(what, text) if self._validates else None

        def read(data: bytes, start: int) -> Any:
            payload = data[start:]
            try:
                node = loads(payload)
                if check is not None:
                    check(node)
                return None if node is None else read_value(node)
            except InexactError:
                return read_value(parse(payload))

        return schema, read

    def _documents(self, what: str, text: SchemaText) -> Documents:
        return Documents(text.text, {name: inner.text for name, inner in self.resolved(what, text).items()})

    def _validator(self, what: str, text: SchemaText) -> Callable[[Any], None]:
        """A function that raises SerializationError for JSON that does not fit the schema."""
        library = load("jsonschema_rs", self.extra)
        inner = {name: orjson.loads(other.text) for name, other in self.resolved(what, text).items()}

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


class _JsonWriter:
    """Writes values of one schema; whole batches as the JSON converter does."""

    def __init__(
        self, schema: Schema | None, values: ValueWriter, check: Callable[[Any], None] | None, indent: bool
    ) -> None:
        self._schema, self._values, self._check = schema, values, check
        self._write: Write = values.writer(schema)
        self._options = orjson.OPT_INDENT_2 if indent else 0

    def one(self, head: bytes, value: Any) -> bytes:
        return self.all(head, [value])[0]

    def all(self, head: bytes, values: list[Any]) -> list[bytes]:
        nodes = values if self._values.ready(self._schema, values) else list(map(self._write, values))
        encode, join, options = orjson.dumps, b"".join, self._options
        try:
            payloads = [encode(node, None, options) for node in nodes]
        except TypeError:
            payloads = [dumps(node) for node in nodes]
        if self._check is not None:
            for payload in payloads:
                self._check(orjson.loads(payload))
        if needs_escapes(join(payloads)):
            payloads = [escaped(payload) for payload in payloads]
        return [head + payload for payload in payloads]


def _name(node: dict[str, Any]) -> str | None:
    """The name that subjects are named by. Java: ``JsonSchema.name``."""
    title = node.get("title")
    return title if isinstance(title, str) else None
