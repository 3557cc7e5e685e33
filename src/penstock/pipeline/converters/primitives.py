"""Converters for one primitive type each: the big-endian bytes that Kafka's own serializers write.

Java's number converters convert keys, values and headers, ignore the schema, and check only the class of the
value. A number without a schema may be of any class here, so each takes what it has the bytes for.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, ClassVar

from penstock.api.columns import Table
from penstock.api.converter import SchemaAndValue
from penstock.api.errors import DataError, SerializationError
from penstock.api.record import Header
from penstock.api.schema import (
    OPTIONAL_BOOLEAN,
    OPTIONAL_BYTES,
    OPTIONAL_FLOAT32,
    OPTIONAL_FLOAT64,
    OPTIONAL_INT16,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    Schema,
    SchemaType,
)
from penstock.pipeline.converters.base import AnyConverter
from penstock.values.class_names import class_name
from penstock.values.repeated import only_nulls

_PACKAGE = "org.apache.kafka.connect.converters."
_AS_IT_IS = frozenset((bytes, type(None)))


class ByteArrayConverter(AnyConverter):
    """Bytes as they are."""

    java_name = _PACKAGE + "ByteArrayConverter"

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not SchemaType.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is None or type(value) is bytes:
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise DataError(f"ByteArrayConverter is not compatible with objects of type class {class_name(schema, value)}")

    def from_connect_batch(
        self, topics: list[str], headers: list[tuple[Header, ...]], schemas: list[Schema | None], values: list[Any]
    ) -> list[bytes | None]:
        same = bool(values) and schemas.count(schemas[0]) == len(schemas)
        if (
            same
            and (schemas[0] is None or schemas[0].type is SchemaType.BYTES)
            and _AS_IT_IS.issuperset(map(type, values))
        ):
            return list(values)
        return super().from_connect_batch(topics, headers, schemas, values)

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        return OPTIONAL_BYTES, data

    def to_connect_batch(
        self, topics: list[str], headers: list[Sequence[tuple[str, bytes | None]]], data: list[bytes | None]
    ) -> tuple[list[Schema | None], list[Any]]:
        return [OPTIONAL_BYTES] * len(data), list(data)


class NumberConverter(AnyConverter):
    """Base of the converters of numbers."""

    schema: ClassVar[Schema]
    type_name: ClassVar[str]
    deserializer: ClassVar[str]
    form: ClassVar[struct.Struct]
    whole: ClassVar[bool] = True

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if type(value) is (int if self.whole else float) and (schema is None or schema.type is self.schema.type):
            try:
                return self.form.pack(value)
            except (struct.error, OverflowError):
                if schema is not None:
                    problem = f"Failed to serialize to {self.type_name}: {value} is out of its range"
                    raise DataError(problem) from None
        raise DataError(f"Failed to serialize to {self.type_name} (was class {class_name(schema, value)}): ")

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        if data is None:
            return self.schema, None
        if len(data) != self.form.size:
            cause = SerializationError(f"Size of data received by {self.deserializer} is not {self.form.size}")
            raise DataError(f"Failed to deserialize {self.type_name}: ") from cause
        return self.schema, self.form.unpack(data)[0]

    def to_connect_batch(
        self, topics: list[str], headers: list[Sequence[tuple[str, bytes | None]]], data: list[bytes | None]
    ) -> tuple[list[Schema | None], list[Any] | Table]:
        items: list[Any] = data
        if type(self).to_connect is NumberConverter.to_connect:
            if only_nulls(data):
                return [self.schema] * len(data), items
            if None not in data and set(map(len, items)) == {self.form.size}:
                numbers = struct.unpack(f">{len(data)}{self.form.format[-1]}", b"".join(items))
                return [self.schema] * len(data), list(numbers)
        return super().to_connect_batch(topics, headers, data)


class DoubleConverter(NumberConverter):
    """Floating-point numbers of eight bytes."""

    java_name = _PACKAGE + "DoubleConverter"
    schema, type_name, deserializer = OPTIONAL_FLOAT64, "double", "Deserializer"
    form, whole = struct.Struct(">d"), False

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        """Serialize a float. As in Java there is one NaN, whatever its bits were."""
        return super().from_connect(topic, headers, schema, math.nan if value != value else value)


class FloatConverter(NumberConverter):
    """Floating-point numbers of four bytes."""

    java_name = _PACKAGE + "FloatConverter"
    schema, type_name, deserializer = OPTIONAL_FLOAT32, "float", "Deserializer"
    form, whole = struct.Struct(">f"), False


class IntegerConverter(NumberConverter):
    """Integers of four bytes."""

    java_name = _PACKAGE + "IntegerConverter"
    schema, type_name, deserializer = OPTIONAL_INT32, "integer", "IntegerDeserializer"
    form = struct.Struct(">i")


class LongConverter(NumberConverter):
    """Integers of eight bytes."""

    java_name = _PACKAGE + "LongConverter"
    schema, type_name, deserializer = OPTIONAL_INT64, "long", "LongDeserializer"
    form = struct.Struct(">q")


class ShortConverter(NumberConverter):
    """Integers of two bytes."""

    java_name = _PACKAGE + "ShortConverter"
    schema, type_name, deserializer = OPTIONAL_INT16, "short", "ShortDeserializer"
    form = struct.Struct(">h")


class BooleanConverter(AnyConverter):
    """Booleans of one byte, 0 or 1."""

    java_name = _PACKAGE + "BooleanConverter"

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not SchemaType.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is None:
            return None
        if type(value) is not bool:
            raise DataError(
                f"BooleanConverter is not compatible with objects of type class {class_name(schema, value)}"
            )
        return b"\x01" if value else b"\x00"

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        if data is None:
            return OPTIONAL_BOOLEAN, None
        if len(data) != 1:
            problem = "Size of data received by BooleanDeserializer is not 1"
        elif data[0] > 1:
            problem = f"Unexpected byte received by BooleanDeserializer: {data[0] - (data[0] & 128) * 2}"
        else:
            return OPTIONAL_BOOLEAN, data[0] == 1
        raise DataError("Failed to deserialize boolean: ") from SerializationError(problem)
