"""The converters that Kafka ships and those of the Schema Registry, under the names that configurations of Java Connect
use.
"""

from __future__ import annotations

from penstock.pipeline.converters.json_converter import JsonConverter
from penstock.pipeline.converters.primitives import (
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from penstock.pipeline.converters.registry.avro.converter import AvroConverter
from penstock.pipeline.converters.registry.json_schema.converter import JsonSchemaConverter
from penstock.pipeline.converters.registry.protobuf.converter import ProtobufConverter
from penstock.pipeline.converters.simple_header import SimpleHeaderConverter
from penstock.pipeline.converters.strings import StringConverter

__all__ = [
    "AvroConverter",
    "BooleanConverter",
    "ByteArrayConverter",
    "DoubleConverter",
    "FloatConverter",
    "IntegerConverter",
    "JsonConverter",
    "JsonSchemaConverter",
    "LongConverter",
    "ProtobufConverter",
    "ShortConverter",
    "SimpleHeaderConverter",
    "StringConverter",
]
