"""Defaults of Connect's schemas as Avro's JSON. Java: ``AvroData.defaultValueFromConnect``."""

from __future__ import annotations

from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.java.numbers import float_text
from penstock.pipeline.converters.registry.avro.options import AvroOptions, is_union
from penstock.pipeline.converters.registry.names import scrubbed
from penstock.pipeline.values.logical import bytes_of, days_since, millis_of_day, millis_since


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
