"""Java's ``org.apache.kafka.connect.data.Values``: what a text means, how values become texts, conversions between
types.
"""

from __future__ import annotations

from penstock.values.convert import (
    convert,
    infer_schema,
    parse_string,
    parse_whole_string,
    to_boolean,
    to_byte,
    to_date,
    to_decimal,
    to_double,
    to_float,
    to_integer,
    to_list,
    to_long,
    to_map,
    to_short,
    to_time,
    to_timestamp,
)
from penstock.values.text import to_text

__all__ = [
    "convert",
    "infer_schema",
    "parse_string",
    "parse_whole_string",
    "to_boolean",
    "to_byte",
    "to_date",
    "to_decimal",
    "to_double",
    "to_float",
    "to_integer",
    "to_list",
    "to_long",
    "to_map",
    "to_short",
    "to_text",
    "to_time",
    "to_timestamp",
]
