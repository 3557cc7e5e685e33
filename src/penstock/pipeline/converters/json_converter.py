"""JsonConverter: JSON in an envelope with its schema (``{"schema":...,"payload":...}``), or plain.

Bytes equal Java's. Whole batches are quick because a schema's JSON is made once, and because the head of an envelope,
once parsed, is recognised by its bytes: of the following records only the payloads are parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

import orjson

from penstock.api.columns import Table
from penstock.api.config import ConfigDef, ConfigType, Importance, Width
from penstock.api.converter import SchemaAndValue
from penstock.api.errors import DataError, SerializationError
from penstock.api.record import Header
from penstock.api.schema import Schema, path_to_itself
from penstock.api.validators import CaseInsensitiveValidString
from penstock.java.errors import JsonError
from penstock.java.jackson.node import Node
from penstock.java.jackson.reading import dumps, loads, parse
from penstock.java.jackson.scanner import too_deep
from penstock.pipeline.converters import json_columns
from penstock.pipeline.converters.base import AnyConverter, converter_settings
from penstock.pipeline.converters.coercion import define_coercion, is_java
from penstock.pipeline.converters.json_reader import JsonReader
from penstock.pipeline.converters.json_schema import read_schema, show_schema
from penstock.pipeline.converters.json_writer import JsonWriter
from penstock.pipeline.converters.misfit import misfit
from penstock.pipeline.converters.scalar_nodes import InexactError, Read
from penstock.values.repeated import only_nulls

_NO_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)
_UNREADABLE = "Converting byte[] to Kafka Connect data failed due to serialization error: "
_UNWRITABLE = "Converting Kafka Connect data to byte[] failed due to serialization error: "
_HEAD, _MIDDLE, _TAIL = b'{"schema":', b',"payload":', b"}"
_NO_PREFIX = b"\x00"
_last = itemgetter(-1)


class JsonConverter(AnyConverter):
    """JSON, in an envelope with its schema or plain."""

    java_name = "org.apache.kafka.connect.json.JsonConverter"
    takes_tables = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        def define(
            name: str, type: ConfigType, default: Any, importance: Importance, group: str, order: int, **more: Any
        ) -> None:
            settings.define(
                name,
                type,
                default,
                importance=importance,
                group=group,
                order_in_group=order,
                width=Width.MEDIUM,
                **more,
            )

        settings = converter_settings()
        high, low = Importance.HIGH, Importance.LOW
        define(
            "schemas.enable", ConfigType.BOOLEAN, True, high, "Schemas", 0,
            documentation="Include schemas within each of the serialized values and keys.",
            display_name="Enable Schemas",
        )  # fmt: skip
        define(
            "schemas.cache.size", ConfigType.INT, 1000, high, "Schemas", 1,
            documentation="The maximum number of schemas that can be cached in this converter instance.",
            display_name="Schema Cache Size",
        )  # fmt: skip
        define(
            "schema.content", ConfigType.STRING, None, high, "Schemas", 2,
            documentation="When set, this is used as the schema for all messages, and the schemas within each of the "
            "message will be ignored.Otherwise, the schema will be included in the content of each message. This "
            "configuration applies only 'schemas.enable' is true, and it exclusively affects the sink connector.",
            display_name="Schema Content",
        )  # fmt: skip
        define(
            "decimal.format", ConfigType.STRING, "BASE64", low, "Serialization", 0,
            validator=CaseInsensitiveValidString("BASE64", "NUMERIC"),
            documentation="Controls which format this converter will serialize decimals in. This value is case "
            "insensitive and can be either 'BASE64' (default) or 'NUMERIC'",
            display_name="Decimal Format",
        )  # fmt: skip
        define(
            "replace.null.with.default", ConfigType.BOOLEAN, True, low, "Serialization", 1,
            documentation="Whether to replace fields that have a default value and that are null to the default value. "
            "When set to true, the default value is used, otherwise null is used.",
            display_name="Replace null with default",
        )  # fmt: skip
        return define_coercion(settings)

    def set_up(self, settings: dict[str, Any]) -> None:
        self.schemas_enabled: bool = settings["schemas.enable"]
        self.cache_size: int = max(settings["schemas.cache.size"], 1)
        defaults: bool = settings["replace.null.with.default"]
        self._write = JsonWriter(settings["decimal.format"].upper() == "NUMERIC", defaults, self.cache_size)
        self._read = JsonReader(defaults, self.cache_size, is_java(settings))
        self._defaults = JsonReader(defaults, self.cache_size, java=True)
        self._heads: dict[Schema, bytes] = {}
        self._schemas: dict[bytes, Schema | None] = {}
        self._same: dict[Schema, Schema] = {}
        self._prefix = _NO_PREFIX
        self._schema_behind: Schema | None = None
        self._read_behind: Read = self._read.reader(None)
        self._known: dict[bytes, tuple[Schema | None, Read]] = {}
        """By the heads of envelopes that were parsed."""
        self.schema = self._content(settings["schema.content"])

    def _content(self, text: str | None) -> Schema | None:
        """The one schema of all records that is given by the configuration."""
        if not text or not text.strip():
            return None
        try:
            return self._schema(parse(text.encode()))
        except JsonError as error:
            raise DataError(
                "Failed to parse schema in converter config due to serialization error: "
            ) from SerializationError(str(error))

    # -- to JSON

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        if schema is None and value is None:
            return None
        try:
            payload = dumps(self._write.writer(schema)(value))
        except JsonError as error:
            raise DataError(_UNWRITABLE) from SerializationError(str(error))
        except DataError as error:
            raise error from misfit(self._write.writer, schema, value)
        return self._head(schema) + payload + _TAIL if self.schemas_enabled else payload

    def from_connect_batch(
        self,
        topics: list[str],
        headers: list[tuple[Header, ...]],
        schemas: list[Schema | None],
        values: list[Any] | Table,
    ) -> list[bytes | None]:
        if not values:
            return []
        schema = schemas[0]
        if schema is None and only_nulls(values) and only_nulls(schemas):
            return values  # type: ignore[return-value]
        nulls = schema is None and not isinstance(values, Table) and None in values
        if nulls or schemas.count(schema) < len(schemas):
            return [self.from_connect("", (), s, v) for s, v in zip(schemas, values, strict=True)]
        head, tail = (self._head(schema), _TAIL) if self.schemas_enabled else (b"", b"")
        try:
            if (found := json_columns.messages(self._write, schema, values, head, tail)) is None:
                found = json_columns.one_by_one(list(map(self._write.writer(schema), values)), head, tail)
        except (TypeError, DataError):
            return [self.from_connect("", (), schema, value) for value in values]
        return found  # type: ignore[return-value]

    def _head(self, schema: Schema | None) -> bytes:
        """The envelope up to the payload."""
        if schema is None:
            return b'{"schema":null,"payload":'
        head = self._heads.get(schema)
        if head is None:
            if len(self._heads) >= self.cache_size:
                self._heads.clear()
            if (place := path_to_itself(schema)) is not None:
                raise DataError(
                    f"The schema of the field {place} contains itself, which the envelope of JsonConverter cannot "
                    "express: set schemas.enable=false, or use a converter with a schema registry"
                )
            head = self._heads[schema] = _HEAD + dumps(show_schema(schema, self._write.show_value)) + _MIDDLE
        return head

    # -- from JSON

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        if data is None:
            return None, None
        try:
            return self._understand(loads, data)
        except InexactError:
            return self._understand(parse, data)
        except RecursionError:
            raise DataError(_UNREADABLE) from SerializationError(str(too_deep(data)))

    def to_connect_batch(
        self, topics: list[str], headers: list[Sequence[tuple[str, bytes | None]]], data: list[bytes | None]
    ) -> tuple[list[Schema | None], list[Any] | Table]:
        if not data:
            return [], []
        if only_nulls(data):
            return [None] * len(data), data
        payloads: Sequence[bytes | None] | None
        if not self.schemas_enabled or self.schema is not None:
            schema, payloads = self.schema if self.schemas_enabled else None, data
        else:
            schema, payloads = self._schema_behind, self._payloads(data)
        if payloads is not None:
            try:
                nodes: list[Node] = list(map(orjson.loads, payloads))  # type: ignore[arg-type]
                table = self._read.table(schema, nodes)
                return [schema] * len(data), table or list(map(self._read.reader(schema), nodes))
            except (TypeError, DataError, orjson.JSONDecodeError, InexactError, RecursionError):
                pass
        there: list[Any] = [item for item in data if item is not None]
        if len(there) == len(data):
            return self._one_by_one(there)
        pairs = zip(*self.to_connect_batch(topics[: len(there)], headers[: len(there)], there), strict=True)
        found: list[SchemaAndValue] = [(None, None) if item is None else next(pairs) for item in data]
        return [schema for schema, _ in found], [value for _, value in found]

    def _payloads(self, data: list[bytes | None]) -> list[bytes] | None:
        """The payloads if all envelopes begin as the one that was parsed last; None otherwise."""
        items: list[Any] = data
        if self._prefix == _NO_PREFIX:
            return None
        try:
            if all(map(bytes.startswith, items, repeat(self._prefix))) and set(map(_last, items)) == {_TAIL[0]}:
                return list(map(itemgetter(slice(len(self._prefix), -1)), items))
        except TypeError:  # of None
            pass
        return None

    def _one_by_one(self, data: list[bytes]) -> tuple[list[Schema | None], list[Any]]:
        schemas: list[Schema | None] = []
        values: list[Any] = []
        for item in data:
            if self._is_known(item) and item.endswith(_TAIL):
                try:
                    value = self._read_behind(orjson.loads(item[len(self._prefix) : -1]))
                except (orjson.JSONDecodeError, InexactError, RecursionError):
                    schema, value = self.to_connect("", (), item)
                else:
                    schema = self._schema_behind
            else:
                schema, value = self.to_connect("", (), item)
                self._remember(item, schema)
            schemas.append(schema)
            values.append(value)
        return schemas, values

    def _is_known(self, item: bytes) -> bool:
        """Whether an envelope begins as one that was parsed, which is the last one then."""
        if self._prefix != _NO_PREFIX and item.startswith(self._prefix):
            return True
        head = item[: item.find(_MIDDLE) + len(_MIDDLE)]
        if (known := self._known.get(head)) is None:
            return False
        self._prefix, (self._schema_behind, self._read_behind) = head, known
        return True

    def _understand(self, load: Any, data: bytes) -> SchemaAndValue:
        try:
            node = load(data)
        except JsonError as error:
            raise DataError(_UNREADABLE) from SerializationError(str(error))
        if not self.schemas_enabled:
            return None, self._read.reader(None)(node)
        if self.schema is not None:
            return self.schema, self._read.reader(self.schema)(node)
        if type(node) is not dict or len(node) != 2 or "schema" not in node or "payload" not in node:
            raise DataError(_NO_ENVELOPE)
        schema = self._schema(node["schema"])
        return schema, self._read.reader(schema)(node["payload"])

    def _schema(self, node: Node) -> Schema | None:
        """The schema that JSON describes; equal ones are one object."""
        if node is None or type(node) is not dict:
            return read_schema(node if node is None else {}, self._defaults.read_value)
        try:
            text = orjson.dumps(node)
        except TypeError:
            return read_schema(node, self._defaults.read_value)
        found = self._schemas.get(text)
        if found is None:
            if len(self._schemas) >= self.cache_size:
                self._schemas.clear()
                self._same.clear()
            found = read_schema(node, self._defaults.read_value)
            assert found is not None
            found = self._schemas[text] = self._same.setdefault(found, found)
        return found

    def _remember(self, data: bytes, schema: Schema | None) -> None:
        """Remember the head of an envelope that was parsed, if it is spelled as Java spells it."""
        if not self.schemas_enabled or self.schema is not None or not data.startswith(_HEAD):
            return
        end = data.find(_MIDDLE)
        while end >= 0:
            try:
                orjson.loads(data[len(_HEAD) : end])
                orjson.loads(data[end + len(_MIDDLE) : -1])
            except orjson.JSONDecodeError:
                end = data.find(_MIDDLE, end + 1)
            else:
                self._prefix = data[: end + len(_MIDDLE)]
                self._schema_behind = schema
                self._read_behind = self._read.reader(schema)
                if len(self._known) >= self.cache_size:
                    self._known.clear()
                self._known[self._prefix] = schema, self._read_behind
                return
