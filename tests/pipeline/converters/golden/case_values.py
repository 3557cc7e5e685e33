# ruff: noqa: E501  (tables of cases)
"""The schemas and values of which make_cases.py makes cases, in the notation of Oracle.java. Always the same ones: the
seed is fixed.
"""

from __future__ import annotations

import base64
import random
from typing import Any

RANDOM = random.Random(4)
DATA = "org.apache.kafka.connect.data."
JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
PRIMITIVES = "org.apache.kafka.connect.converters."
DAY = 86_400_000
TEXTS = [
    "", "a", "é", "日本", "😀", 'say "x"', "back\\slash", "tab\tnewline\nreturn\r", "\x00\x01\x1f\x7f", "\u2028", "/", "<b>&",
    "null", "true", "\b\f\x0b\x0e\x1a",
]  # fmt: skip
DOUBLES = [
    "0.0", "-0.0", "1.0", "0.1", "1.5", "100.0", "1.0E7", "9999999.0", "1.0E10", "1.0E-5", "0.001", "9.99E-4", "1.7976931348623157E308",
    "4.9E-324", "NaN", "Infinity", "-Infinity", "-2.5E-10", "123456.789", "1.23456789012E11", "3.3333333333333335", "1.0E16",
    "1.23456789012345677E18", "9.223372036854775807E18",
]  # fmt: skip
FLOATS = ["0.0", "1.0", "0.1", "1.5", "3.4028235E38", "1.4E-45", "1.0E10", "6.0E13", "1.6777216E7", "NaN", "Infinity", "0.001", "9.5E-4", "33.333332"]  # fmt: skip
DECIMALS = [
    "0.00",
    "12.34",
    "-12.34",
    "1.28",
    "-1.28",
    "2.56",
    "123456789012345678901234567890.12",
    "-0.01",
    "327.67",
    "-327.68",
]


def integers(bits: int) -> list[int]:
    half = 2 ** (bits - 1)
    return [0, 1, -1, 5, half - 1, -half]


def schema_and_values() -> list[tuple[dict[str, Any], list[Any]]]:
    """Schemas of every kind, and values of each in their notation."""
    encoded = [base64.b64encode(data).decode() for data in (b"", b"a", b"\x00\xff", bytes(range(256)))]
    flat: list[tuple[dict[str, Any], list[Any]]] = [
        ({"type": "int8"}, integers(8)),
        ({"type": "int16"}, integers(16)),
        ({"type": "int32"}, integers(32)),
        ({"type": "int64"}, integers(64)),
        ({"type": "float"}, FLOATS),
        ({"type": "double"}, DOUBLES),
        ({"type": "boolean"}, [True, False]),
        ({"type": "string"}, TEXTS),
        ({"type": "bytes"}, encoded),
        ({"type": "bytes", "name": DATA + "Decimal", "version": 1, "parameters": {"scale": "2"}}, DECIMALS),
        ({"type": "int32", "name": DATA + "Date", "version": 1}, [0, DAY, -DAY, 19782 * DAY, -200000 * DAY]),
        ({"type": "int32", "name": DATA + "Time", "version": 1}, [0, 1, 86399999, 3600000]),
        (
            {"type": "int64", "name": DATA + "Timestamp", "version": 1},
            [0, 1, -1, 1709212455000, 1709212455123, -13_000_000_000_000],
        ),
    ]
    nested: list[tuple[dict[str, Any], list[Any]]] = []
    for schema, values in flat:
        optional = {**schema, "optional": True}
        nested.append((optional, [None, values[-1]]))
        nested.append(({"type": "array", "items": optional}, [[], values, [None, *values[:2]]]))
        keyed = {"type": "map", "keys": {"type": "string"}, "values": optional}
        nested.append((keyed, [[], [["b", values[0]], ["a", values[-1]], ["zeile", None]]]))
        if schema["type"] not in ("bytes",) and "name" not in schema:
            nested.append(
                (
                    {"type": "map", "keys": schema, "values": {"type": "string"}},
                    [[[v, "x"] for v in values[:4] if v != "-0.0"]],
                )
            )
    fields = [{**s, "field": f"f{i}", "optional": i % 2 == 0} for i, (s, _) in enumerate(flat)]
    rows = [{f"f{i}": RANDOM.choice(values) for i, (_, values) in enumerate(flat)} for _ in range(15)]
    sparse = [
        {name: value for name, value in row.items() if int(name[1:]) % 2 or RANDOM.random() < 0.5} for row in rows
    ]
    nested.append(({"type": "struct", "fields": fields}, [*rows, *sparse]))
    outer = {
        "type": "struct", "name": "my.Outer", "version": 3, "doc": "Ein Außen", "parameters": {"p": "1", "a": "2"},
        "fields": [
            {"field": "in", **nested[-1][0], "optional": True},
            {"field": "list", "type": "array", "items": {"type": "array", "items": {"type": "int32"}}},
            {"field": "last", "type": "string", "default": "dflt", "doc": "d"},
        ],
    }  # fmt: skip
    nested.append((outer, [{"in": row, "list": [[1, 2], []], "last": "x"} for row in rows[:5]]))
    nested.append((outer, [{"list": [], "last": None}, {"list": [[]]}]))
    nested.append(({"type": "struct", "fields": []}, [{}]))
    defaults = [{"field": f"d{i}", **s, "default": d} for i, (s, d) in enumerate([
        ({"type": "int8"}, 5), ({"type": "double"}, 1.5), ({"type": "double"}, 10000000000), ({"type": "boolean"}, False),
        ({"type": "string", "optional": True}, "é"), ({"type": "bytes"}, "YQ=="), ({"type": "float"}, 0.1),
        ({"type": "int32", "name": DATA + "Date", "version": 1}, 5), ({"type": "array", "items": {"type": "int32"}}, [1]),
        ({"type": "bytes", "name": DATA + "Decimal", "version": 1, "parameters": {"scale": "2"}}, "BNI="),
    ])]  # fmt: skip
    nested.append(({"type": "struct", "fields": defaults}, [{}, {"d0": 1, "d3": True}]))
    return flat + nested


def tagged(depth: int = 0) -> Any:
    """Return a schemaless value in its notation."""
    choice = RANDOM.randrange(8 if depth < 3 else 6)
    match choice:
        case 0:
            return {"t": "int64", "v": RANDOM.choice([*integers(64), *integers(8)])}
        case 1:
            return {"t": "float64", "v": RANDOM.choice(DOUBLES)}
        case 2:
            return {"t": "boolean", "v": RANDOM.random() < 0.5}
        case 3:
            return None
        case 4 | 5:
            return {"t": "string", "v": RANDOM.choice(TEXTS)}
        case 6:
            return {"t": "array", "v": [tagged(depth + 1) for _ in range(RANDOM.randrange(4))]}
        case _:
            keys = RANDOM.sample(
                ["b", "a", "zeile", "x y", "é", "id", "name", "key", "AaAa", "BBBB"], RANDOM.randrange(5)
            )
            return {"t": "map", "v": [[{"t": "string", "v": key}, tagged(depth + 1)] for key in keys]}
