"""From Connect's schemas to Protobuf's. Java: ``ProtobufData.fromConnectSchema``."""

from __future__ import annotations

from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.mapping.names import split
from penstock.pipeline.converters.registry.mapping.type_table import PROTOBUF, written_as
from penstock.pipeline.converters.registry.protobuf.files import WRAPPERS
from penstock.pipeline.converters.registry.protobuf.options import (
    DATE_TYPE,
    DECIMAL_TYPE,
    DEFAULT_NAME,
    ENUM,
    GENERALIZED_ENUM,
    GENERALIZED_UNION,
    META,
    TAG,
    TIME_TYPE,
    TIMESTAMP_TYPE,
    TYPE,
    UNION,
    WRAPPER_TYPES,
    ProtobufOptions,
    entry_name,
    is_enum,
    is_union,
)

_LOGICAL = {
    DECIMAL_NAME: (DECIMAL_TYPE, "confluent/type/decimal.proto"),
    DATE_NAME: (DATE_TYPE, "google/type/date.proto"),
    TIME_NAME: (TIME_TYPE, "google/type/timeofday.proto"),
    TIMESTAMP_NAME: (TIMESTAMP_TYPE, "google/protobuf/timestamp.proto"),
}
_SCALARS = {kind: (name, name.capitalize()) for kind, name in written_as(PROTOBUF).items()}
"""The names of scalars, and those with which the names of wrappers begin."""
_UNSIGNED = {"uint32": "UInt32", "fixed32": "UInt32", "uint64": "UInt64", "fixed64": "UInt64"}


def wrapper_of(schema: Schema) -> str:
    """The message of wrappers.proto for a primitive at the top. Raises DataError for what is none."""
    if schema.type not in _SCALARS:
        raise DataError(f"Unsupported root schema of type {schema.type.name}")
    return f"google.protobuf.{_SCALARS[schema.type][1]}Value"


def to_protobuf(schema: Schema, options: ProtobufOptions) -> Any:
    """A ``FileDescriptorProto`` whose first message is this struct. Raises DataError."""
    if is_union(schema):
        raise DataError("Unsupported root schema: a union must be the field of a struct")
    return _Builder(options).file(schema)


class _Builder:
    def __init__(self, options: ProtobufOptions) -> None:
        self.options = options
        self.proto = load("google.protobuf.descriptor_pb2", "protobuf")
        self.types = self.proto.FieldDescriptorProto.Type
        self._unnamed = 0
        self._imports: list[str] = []
        self._around: list[tuple[Schema, str]] = []
        """The structs around the field that is being built, with the full names of their messages."""

    def file(self, schema: Schema) -> Any:
        name = self._name(schema.name)
        space, simple = split(name, self.options.scrub_invalid_names)
        file = self.proto.FileDescriptorProto(name="default.proto", syntax="proto3", package=space or "")
        file.message_type.append(self._message(simple, schema, f".{space}" if space else ""))
        file.dependency.extend(self._imports)
        return file

    def _name(self, name: str | None) -> str:
        if name:
            return name
        self._unnamed += 1
        return f"{DEFAULT_NAME}{self._unnamed}"

    def _unqualified(self, name: str | None) -> str:
        return self.options.scrub(self._name(name).rpartition(".")[2])

    def _message(self, name: str, schema: Schema, space: str) -> Any:
        message = self.proto.DescriptorProto(name=name)
        self._around.append((schema, f"{space}.{name}"))
        synthetic: list[Any] = []
        number = 0
        for field in schema.fields:
            tag = field.schema.parameters.get(TAG)
            if tag is None:
                number += 1
            made = self._field(message, field.schema, self.options.scrub(field.name), int(tag or number), False)
            if made is not None:
                if made.proto3_optional:
                    synthetic.append(made)
                message.field.append(made)
        self._around.pop()
        # The oneofs that stand for optional fields come after all others.
        names = {made.name for made in synthetic}
        for made in message.field:
            if made.name in names:
                made.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{made.name}")
        return message

    def _field(self, message: Any, schema: Schema, name: str, number: int, member: bool) -> Any | None:
        repeated = schema.type in (SchemaType.ARRAY, SchemaType.MAP)
        optional = self.options.optional_for_nullables and schema.optional and not repeated and not member
        if schema.type is SchemaType.ARRAY:
            if schema.value_schema is None or schema.value_schema.type is SchemaType.ARRAY:
                raise DataError("Array cannot be nested")
            schema = schema.value_schema
            if schema.type is SchemaType.MAP:
                raise DataError("An array of maps has no form in Protobuf")
        if is_union(schema):
            self._oneof(message, schema)
            return None
        field = self.proto.FieldDescriptorProto(name=name, number=number, label=3 if repeated else 1)
        if optional and schema.type is not SchemaType.STRUCT:
            field.proto3_optional = True
        self._set_type(message, field, schema, name, member)
        return field

    def _set_type(self, message: Any, field: Any, schema: Schema, name: str, member: bool) -> None:
        parameters: dict[str, str] = {}
        if schema.name in _LOGICAL:
            field.type_name, file = _LOGICAL[schema.name]
            self._import(file)
            field.type = self.types.Value("TYPE_MESSAGE")
            if schema.name == DECIMAL_NAME:
                given = schema.parameters
                pairs = (("precision", given.get("connect.decimal.precision")), ("scale", given.get("scale")))
                parameters = {key: value for key, value in pairs if value is not None}
        elif schema.type is SchemaType.STRUCT and (known := self._message_around(schema)) is not None:
            field.type, field.type_name = self.types.Value("TYPE_MESSAGE"), known
        elif schema.type is SchemaType.STRUCT:
            kind = self._unqualified(schema.name)
            kind = f"{kind}Message" if kind == name else kind
            if kind not in [nested.name for nested in message.nested_type]:
                message.nested_type.append(self._message(kind, schema, self._around[-1][1]))
            field.type, field.type_name = self.types.Value("TYPE_MESSAGE"), kind
        elif schema.type is SchemaType.MAP:
            kind = entry_name(self._unqualified(schema.name))
            message.nested_type.append(self._entry(kind, schema))
            field.type, field.type_name = self.types.Value("TYPE_MESSAGE"), kind
        elif is_enum(schema):
            kind = self._unqualified(schema.name or schema.parameters.get(self.options.enum_parameter))
            if kind not in [enum.name for enum in message.enum_type]:
                message.enum_type.append(self._enum(kind, schema))
            field.type, field.type_name = self.types.Value("TYPE_ENUM"), kind
        else:
            self._scalar(field, schema, member, parameters)
        if parameters:
            self._import(META)
            meta = load("confluent_kafka.schema_registry.confluent.meta_pb2", "protobuf")
            field.options.Extensions[meta.field_meta].params.update(parameters)

    def _message_around(self, schema: Schema) -> str | None:
        """Return the full name of a message that contains itself here."""
        return next((name for around, name in self._around if schema.same_parts(around)), None)

    def _scalar(self, field: Any, schema: Schema, member: bool, parameters: dict[str, str]) -> None:
        scalar, wrapper = _SCALARS[schema.type]
        if schema.type in (SchemaType.INT8, SchemaType.INT16):
            parameters["connect.type"] = schema.type.value
        elif schema.type in (SchemaType.INT32, SchemaType.INT64):
            scalar = schema.parameters.get(TYPE, scalar)
            wrapper = _UNSIGNED.get(scalar, wrapper)
        if self.options.wraps(schema, member):
            self._import(WRAPPERS)
            field.type, field.type_name = self.types.Value("TYPE_MESSAGE"), f"google.protobuf.{wrapper}Value"
            field.ClearField("proto3_optional")
        else:
            field.type = self.types.Value(f"TYPE_{scalar.upper()}")

    def _oneof(self, message: Any, schema: Schema) -> None:
        name = schema.parameters.get(GENERALIZED_UNION) or self._unqualified((schema.name or "")[len(UNION) + 1 :])
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=name)
        used = {field.number for field in message.field}
        for field in schema.fields:
            tag = int(field.schema.parameters.get(TAG) or max(used, default=0) + 1)
            used.add(tag)
            made = self._field(message, field.schema, self.options.scrub(field.name), tag, True)
            if made is None or made.label == 3:
                raise DataError(f"{field.name} can't be a member of a oneof")
            made.oneof_index = index
            message.field.append(made)

    def _entry(self, name: str, schema: Schema) -> Any:
        if schema.key_schema is None or schema.value_schema is None:
            raise DataError("A schema for the keys or values of a map is missing")
        entry = self.proto.DescriptorProto(name=name)
        self._around.append((schema, f"{self._around[-1][1]}.{name}"))
        for number, (part, inner) in enumerate((("key", schema.key_schema), ("value", schema.value_schema)), 1):
            made = self._field(entry, inner, part, number, False)
            if made is None:
                raise DataError("A map of unions has no form in Protobuf")
            made.ClearField("proto3_optional")
            entry.field.append(made)
        self._around.pop()
        return entry

    def _enum(self, name: str, schema: Schema) -> Any:
        enum = self.proto.EnumDescriptorProto(name=name)
        parameter = GENERALIZED_ENUM if self.options.generalized_sum_type_support else ENUM
        for key, number in schema.parameters.items():
            if key.startswith(f"{parameter}."):
                enum.value.add(name=key[len(parameter) + 1 :], number=int(number))
        return enum

    def _import(self, file: str) -> None:
        if file not in self._imports:
            self._imports.append(file)


assert set(WRAPPER_TYPES) >= {f"google.protobuf.{wrapper}Value" for _, wrapper in _SCALARS.values()}
