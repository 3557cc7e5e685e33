"""The order and the text of Connect's values, as Java's classes have them."""

from __future__ import annotations

import datetime as dt
import re

from penstock.api.schema import BYTES, FLOAT32, INT32, STRING, TIMESTAMP, SchemaType, array, map_of, struct
from penstock.pipeline.values.hash_map import hash_map
from penstock.pipeline.values.printing import to_string, to_strings


def test_columns_print_as_single_values_do():
    row = struct(("a", INT32), ("b", FLOAT32.with_(optional=True)))
    nested = map_of(STRING, array(row))
    schemas = [row, nested, None, STRING, BYTES, TIMESTAMP]
    values = [
        {"b": 0.1, "a": 1},
        {"k": [{"a": 2}, {"a": 3, "b": 1e10}]},
        None,
        "x",
        b"abc",
        dt.datetime(2024, 2, 29, tzinfo=dt.UTC),
    ]
    shown = to_strings(schemas, values)
    assert shown == list(map(to_string, schemas, values))
    assert shown[:4] == ["Struct{a=1,b=0.1}", "{k=[Struct{a=2}, Struct{a=3,b=1.0E10}]}", "null", "x"]
    assert re.fullmatch(r"\[B@[0-9a-f]+", shown[4])
    assert shown[5] == "Thu Feb 29 00:00:00 UTC 2024"


def test_the_order_of_hash_maps():
    assert list(hash_map(dict.fromkeys(["b", "zeile", "a"]))) == ["zeile", "a", "b"]
    assert list(hash_map({-5: 1, 1: 2, 17: 3}, key_type=SchemaType.INT32)) == [1, 17, -5]
    assert list(hash_map({True: 1, False: 0}, key_type=SchemaType.BOOLEAN)) == [False, True]
