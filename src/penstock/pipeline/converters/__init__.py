"""The converters that Kafka ships, under the names that configurations of Java Connect use."""

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
from penstock.pipeline.converters.simple_header import SimpleHeaderConverter
from penstock.pipeline.converters.strings import StringConverter

__all__ = [
    "BooleanConverter",
    "ByteArrayConverter",
    "DoubleConverter",
    "FloatConverter",
    "IntegerConverter",
    "JsonConverter",
    "LongConverter",
    "ShortConverter",
    "SimpleHeaderConverter",
    "StringConverter",
]
