"""From Protobuf's messages to Connect's schemas. Java: ``ProtobufData.toConnectSchema``."""

from __future__ import annotations

from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import (
    DATE,
    DATE_NAME,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    RecursiveSchema,
    Schema,
    SchemaType,
    decimal,
)
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.mapping.schemas import PartCount, SchemaParts
from penstock.pipeline.converters.registry.mapping.type_table import PROTOBUF, logical_names, marked, read_as
from penstock.pipeline.converters.registry.protobuf.files import field_proto
from penstock.pipeline.converters.registry.protobuf.options import (
    DECIMAL_TYPE,
    ENTRY,
    GENERALIZED_UNION,
    TAG,
    TYPE,
    UNION,
    WRAPPER,
    WRAPPER_TYPES,
    ProtobufOptions,
    map_name,
)

_SCALARS = {f"TYPE_{name.upper()}": kind for name, kind in read_as(PROTOBUF).items()}
_SCHEMAS = {DATE_NAME: DATE, TIME_NAME: TIME, TIMESTAMP_NAME: TIMESTAMP}
_LOGICAL = {name: _SCHEMAS[logical] for logical, name in logical_names(PROTOBUF).items() if logical in _SCHEMAS}
_SMALL = marked(PROTOBUF, "int32")


class MessageSchemas:
    """Makes the Connect schema of one message and of those in it."""

    def __init__(self, options: ProtobufOptions) -> None:
        self.options = options
        self._descriptor = load("google.protobuf.descriptor_pb2", "protobuf")
        self._meta = load("confluent_kafka.schema_registry.confluent.meta_pb2", "protobuf")
        self._count = PartCount()
        self._open: dict[str, list[RecursiveSchema]] = {}

    def top(self, message: Any, version: int | None) -> Schema:
        """Raises DataError."""
        if self.options.wrapper_for_raw_primitives and message.full_name in WRAPPER_TYPES:
            return Schema(WRAPPER_TYPES[message.full_name], version=version)
        parts = self._message(message)
        parts.version = version
        return self._closed(message, parts.build())

    def _message(self, message: Any) -> SchemaParts:
        self._open[message.full_name] = []
        options = self.options
        parts = SchemaParts(
            SchemaType.STRUCT, name=message.full_name if options.enhanced_protobuf_schema_support else message.name
        )
        for oneof in real_oneofs(message):
            if options.flatten_unions:
                parts.fields += [(field.name, self._field(field, True)) for field in oneof.fields]
            else:
                parts.fields.append((union_name(oneof, options), self._union(oneof)))
        parts.fields += [(field.name, self._field(field, False)) for field in plain_fields(message)]
        return parts

    def _closed(self, message: Any, schema: Schema) -> Schema:
        for pending in self._open.pop(message.full_name):
            pending.close(schema)
        return schema

    def _union(self, oneof: Any) -> Schema:
        parts = SchemaParts(SchemaType.STRUCT, optional=True)
        if self.options.generalized_sum_type_support:
            parts.name = parts.parameters[GENERALIZED_UNION] = oneof.name
        else:
            name = oneof.full_name if self.options.enhanced_protobuf_schema_support else oneof.name
            parts.name = f"{UNION}.{name}"
        parts.fields = [(field.name, self._field(field, True)) for field in oneof.fields]
        return parts.build()

    def _field(self, field: Any, member: bool) -> Schema:
        options = self.options
        self._count.add()
        proto = field_proto(field)
        params = dict(proto.options.Extensions[self._meta.field_meta].params)
        kind = self._descriptor.FieldDescriptorProto.Type.Name(field.type)
        tag = {TAG: str(field.number)}
        if kind == "TYPE_MESSAGE" and field.message_type.full_name in self._open:
            pending = RecursiveSchema(True)
            self._open[field.message_type.full_name].append(pending)
            if is_repeated(field):
                return Schema(SchemaType.ARRAY, True, parameters=tag, value_schema=pending)
            return pending.with_(parameters=tag)
        parts = self._parts(field, kind, params)
        if is_repeated(field) and parts.type is not SchemaType.MAP:
            parts.optional = True
            parts = SchemaParts(SchemaType.ARRAY, optional=True, value_schema=self._built(field, parts))
        wrapped = kind == "TYPE_MESSAGE" and field.message_type.full_name in WRAPPER_TYPES
        if member:
            parts.optional = True
            if options.wrapper_for_nullables and wrapped:
                parts.parameters[WRAPPER] = "true"
        elif options.optional_for_nullables:
            parts.optional = parts.optional or has_optional_keyword(field, proto)
        elif not options.wrapper_for_nullables:
            parts.optional = True
        parts.parameters.update(tag)
        return self._built(field, parts)

    def _built(self, field: Any, parts: SchemaParts) -> Schema:
        schema = parts.build()
        if parts.type is SchemaType.STRUCT and field.message_type.full_name in self._open:
            return self._closed(field.message_type, schema)
        return schema

    def _parts(self, field: Any, kind: str, params: dict[str, str]) -> SchemaParts:
        if kind == "TYPE_ENUM":
            return self._enum(field.enum_type)
        if kind == "TYPE_MESSAGE":
            return self._of_message(field, params)
        if kind not in _SCALARS:
            raise DataError(f"Unknown Connect schema type: {kind.removeprefix('TYPE_')}")
        parts = SchemaParts(_SCALARS[kind])
        if parts.type is SchemaType.INT32 and params.get("connect.type") in _SMALL:
            return SchemaParts(_SMALL[params["connect.type"]])
        plain = "TYPE_INT32" if parts.type is SchemaType.INT32 else "TYPE_INT64"
        if parts.type in (SchemaType.INT32, SchemaType.INT64) and kind != plain:
            parts.parameters[TYPE] = kind.removeprefix("TYPE_").lower()
        return parts

    def _enum(self, enum: Any) -> SchemaParts:
        options = self.options
        parts = SchemaParts(SchemaType.INT32 if options.int_for_enums else SchemaType.STRING, optional=True)
        parts.name = enum.full_name if options.enhanced_protobuf_schema_support else enum.name
        parts.parameters[options.enum_parameter] = enum.name
        for value in enum.values:
            parts.parameters[f"{options.enum_parameter}.{value.name}"] = str(value.number)
        return parts

    def _of_message(self, field: Any, params: dict[str, str]) -> SchemaParts:
        name = field.message_type.full_name
        if name == DECIMAL_TYPE:
            parts = SchemaParts.like(decimal(_integer(params.get("scale"), 0)))
            if (precision := _integer(params.get("precision"), -1)) >= 0:
                parts.parameters["connect.decimal.precision"] = str(precision)
        elif name in _LOGICAL:
            parts = SchemaParts.like(_LOGICAL[name])
        elif self.options.wrapper_for_nullables and name in WRAPPER_TYPES:
            parts = SchemaParts(WRAPPER_TYPES[name])
        elif is_map(field):
            parts = self._map(field.message_type)
        else:
            parts = self._message(field.message_type)
        parts.optional = True
        return parts

    def _map(self, entry: Any) -> SchemaParts:
        name = map_name(entry.name)
        if self.options.enhanced_protobuf_schema_support:
            name = f"{entry.full_name.rpartition('.')[0]}.{name}"
        key, value = entry.fields
        return SchemaParts(
            SchemaType.MAP, name=name, key_schema=self._field(key, False), value_schema=self._field(value, False)
        )


def real_oneofs(message: Any) -> list[Any]:
    """The oneofs that stand in the text, in their order: those of optional fields do not."""
    return [oneof for oneof in message.oneofs if not _is_synthetic(oneof)]


def plain_fields(message: Any) -> list[Any]:
    """The fields that are no members of a oneof, in their order."""
    return [f for f in message.fields if f.containing_oneof is None or _is_synthetic(f.containing_oneof)]


def union_name(oneof: Any, options: ProtobufOptions) -> str:
    """The field of the struct that holds what is in a oneof."""
    return f"{oneof.name}_{oneof.index}" if options.generate_index_for_unions else str(oneof.name)


def _is_synthetic(oneof: Any) -> bool:
    return len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}" and oneof.fields[0].has_presence


def has_optional_keyword(field: Any, proto: Any) -> bool:
    """Whether the text says ``optional``, with the meaning that the field may be missing."""
    if proto.proto3_optional:
        return True
    return bool(
        field.has_presence and proto.label == 1 and field.containing_oneof is None and field.message_type is None
    )


def is_repeated(field: Any) -> bool:
    """Whether the field is a list, or a map."""
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == 3 if repeated is None else repeated)


def is_map(field: Any) -> bool:
    """Whether the repeated messages of a field are the entries of a map."""
    entry = field.message_type
    if not is_repeated(field) or entry is None:
        return False
    names = [inner.name for inner in entry.fields]
    return entry.name.endswith(ENTRY) and names == ["key", "value"] and not any(map(is_repeated, entry.fields))


def _integer(text: str | None, default: int) -> int:
    try:
        return default if text is None else int(text)
    except ValueError:
        return default
