"""Defaults of Connect's schemas as Avro's JSON, and the reverse. Java: ``AvroData.defaultValueFromConnect``,
``defaultValueFromAvro``.
"""

from __future__ import annotations

from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.java.numbers import float32, float_text
from penstock.pipeline.converters.coercion import BITS
from penstock.pipeline.converters.registry.avro.options import AvroOptions, is_union
from penstock.pipeline.converters.registry.avro.schema.model import NULL_DEFAULT, AvroType
from penstock.pipeline.converters.registry.mapping.names import scrubbed
from penstock.pipeline.converters.registry.mapping.schemas import SchemaParts
from penstock.values.logical import (
    bytes_of,
    day_of,
    days_since,
    decimal_of,
    millis_of_day,
    millis_since,
    moment_of,
    time_of,
)


def from_logical(schema: Schema, value: Any) -> Any:
    """The number or the bytes that a logical value stands for; other values as they are."""
    match schema.name:
        case str() if schema.name == DECIMAL_NAME:
            return bytes_of(schema, value)
        case str() if schema.name == DATE_NAME:
            return days_since(value)
        case str() if schema.name == TIME_NAME:
            return millis_of_day(value)
        case str() if schema.name == TIMESTAMP_NAME:
            return millis_since(value)
    return value


def avro_default(schema: Schema, value: Any, options: AvroOptions) -> Any:
    """JSON for a default: bytes as the text whose characters they are. Raises DataError if it does not fit."""
    if value is None:
        return None
    try:
        return _default(schema, from_logical(schema, value), options)
    except (TypeError, AttributeError, ValueError) as error:
        raise DataError(f"Invalid type used for default value of {schema.type.name} field: {type(value)}") from error


def _default(schema: Schema, value: Any, options: AvroOptions) -> Any:
    match schema.type:
        case SchemaType.BYTES:
            return bytes(value).decode("latin-1")
        case SchemaType.FLOAT32:
            return value if value != value or abs(value) == float("inf") else float(float_text(value))
        case SchemaType.ARRAY:
            assert schema.value_schema is not None
            return [avro_default(schema.value_schema, item, options) for item in value]
        case SchemaType.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            if options.is_avro_map(schema):
                return {key: avro_default(schema.value_schema, item, options) for key, item in value.items()}
            return [
                [avro_default(schema.key_schema, key, options), avro_default(schema.value_schema, item, options)]
                for key, item in value.items()
            ]
        case SchemaType.STRUCT:
            shown = {}
            for field in schema.fields:
                item = value.get(field.name)
                shown[scrubbed(field.name, options.scrub_invalid_names)] = avro_default(
                    field.schema, field.schema.default if item is None else item, options
                )
                if is_union(schema):
                    return next(iter(shown.values()))
            return shown
    return value


def default_of_field(parts: SchemaParts, avro: AvroType, value: Any, options: AvroOptions) -> Any:
    """The value of a default that a field of an Avro record has. Raises DataError if it does not fit."""
    if value is NULL_DEFAULT:
        return None
    if parts.type is SchemaType.MAP and avro.kind == "array":
        if value:
            raise DataError("A map with other keys than texts has no default but the empty one")
        value = {}
    return _value(parts.build(), value, options)


def default_of_prop(parts: SchemaParts, avro: AvroType, value: Any, options: AvroOptions) -> Any:
    """The value of ``connect.default``, which has the form of a field's default. Raises DataError.

    What JSON has no number for is written as a text here as well, but Java asks such a text for its number, which is 0.
    """
    if avro.kind == "union":
        return None
    if parts.type is SchemaType.MAP and avro.kind == "array":
        raise DataError("A map with other keys than texts has no such default")
    if parts.type in (SchemaType.FLOAT32, SchemaType.FLOAT64) and isinstance(value, str):
        return 0.0
    return default_of_field(parts, avro, value, options)


def to_logical(schema: Schema, value: Any) -> Any:
    """The Python object for the number or the bytes of a logical type; others as they are."""
    try:
        match schema.name:
            case str() if schema.name == DECIMAL_NAME:
                return decimal_of(schema, value)
            case str() if schema.name == DATE_NAME:
                return day_of(value)
            case str() if schema.name == TIME_NAME:
                return time_of(value)
            case str() if schema.name == TIMESTAMP_NAME:
                return moment_of(value)
    except (ValueError, TypeError) as error:
        raise DataError(f"{value!r} is no {schema.name}") from error
    return value


def _value(schema: Schema, value: Any, options: AvroOptions) -> Any:
    if value is None or value is NULL_DEFAULT:
        if schema.optional:
            return None
        raise DataError("Found null value for non-optional schema")
    return to_logical(schema, _plain(schema, value, options))


def _plain(schema: Schema, value: Any, options: AvroOptions) -> Any:
    kind = schema.type
    if kind in BITS and type(value) is int:
        half = 1 << (BITS[kind] - 1)
        return (value + half) % (half << 1) - half
    if kind in (SchemaType.FLOAT32, SchemaType.FLOAT64) and type(value) in (int, float):
        return float32(float(value)) if kind is SchemaType.FLOAT32 else float(value)
    if kind is SchemaType.BOOLEAN and type(value) is bool:
        return value
    if kind is SchemaType.STRING and type(value) is str:
        return value
    if kind is SchemaType.BYTES and type(value) is str:
        return value.encode("latin-1", "replace")
    if kind is SchemaType.ARRAY and type(value) is list and schema.value_schema is not None:
        return [_value(schema.value_schema, item, options) for item in value]
    if kind is SchemaType.MAP and type(value) is dict and schema.value_schema is not None:
        return {key: _value(schema.value_schema, item, options) for key, item in value.items()}
    if kind is SchemaType.STRUCT and is_union(schema):
        return _member(schema, value, options)
    if kind is SchemaType.STRUCT and type(value) is dict:
        return {
            field.name: _of_field(field.schema, value, scrubbed(field.name, options.scrub_invalid_names), options)
            for field in schema.fields
        }
    raise DataError(f"Invalid type for {kind.name}: {value!r}")


def _of_field(schema: Schema, record: dict[str, Any], name: str, options: AvroOptions) -> Any:
    return _value(schema, record[name], options) if name in record else schema.default


def _member(schema: Schema, value: Any, options: AvroOptions) -> Any:
    """A default is of the first branch that it fits, as Avro has it."""
    for field in schema.fields:
        try:
            found = _value(field.schema, value, options)
        except DataError:
            continue
        return {other.name: found if other is field else None for other in schema.fields}
    raise DataError("Did not find matching union field for data")
