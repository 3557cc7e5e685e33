"""Prints the cases that AvroOracle.java answers, one JSON object a line; see README.md. Always the same ones: the seed
is fixed. The folder of Oracle.java's own cases has to be on PYTHONPATH, and fastavro.
"""

from __future__ import annotations

import base64
import io
import json
import random
from typing import Any

import fastavro
from case_values import DATA, schema_and_values, tagged

RANDOM = random.Random(17)
CONFIGS = ({}, {}, {}, {"connect.meta.data": "false"}, {"enhanced.avro.schema.support": "true"})
WORDS = ["a", "b", "id", "name", "Value", "key_1", "zeile", "AaAa", "BBBB", "_x"]
INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
UNION = "io.confluent.connect.avro.Union"
ENUM = "io.confluent.connect.avro.Enum"


def emit(op: str, **parts: Any) -> None:
    print(json.dumps({"op": op, **parts}))


# -- Connect's schemas and values, in the notation of Oracle.java


def connect_schema(depth: int) -> dict[str, Any]:
    kinds = [
        "int8",
        "int16",
        "int32",
        "int64",
        "float",
        "double",
        "boolean",
        "string",
        "bytes",
        "logical",
        "enum",
        "fixed",
    ]
    if depth < 3:
        kinds += ["struct", "struct", "array", "map", "pairs", "union"]
    schema = make(RANDOM.choice(kinds), depth)
    if RANDOM.random() < 0.35:
        schema["optional"] = True
    if RANDOM.random() < 0.15:
        schema["doc"] = RANDOM.choice(["a doc", 'with "quotes"', "ümlaut"])
    if RANDOM.random() < 0.1 and "version" not in schema:
        schema["version"] = RANDOM.randrange(1, 9)
    if RANDOM.random() < 0.1:
        schema["parameters"] = {**schema.get("parameters", {}), "p": "1", "avro.java.string": "String"}
    if (
        RANDOM.random() < 0.2
        and schema["type"] in (*INTEGERS, "double", "float", "boolean", "string")
        and "parameters" not in schema
    ):
        default = value_of(schema)
        if default is not None and schema["type"] in ("float", "double"):
            default = float(default)
            default = 1.5 if default != default or abs(default) > 1e30 else default
        if default is not None and schema.get("name", "").startswith(DATA) is False:
            schema["default"] = default
    return schema


def make(kind: str, depth: int) -> dict[str, Any]:
    match kind:
        case "logical":
            return RANDOM.choice(
                [
                    {"type": "bytes", "name": DATA + "Decimal", "version": 1, "parameters": {"scale": "2"}},
                    {
                        "type": "bytes",
                        "name": DATA + "Decimal",
                        "version": 1,
                        "parameters": {"scale": "2", "connect.decimal.precision": "38"},
                    },
                    {"type": "int32", "name": DATA + "Date", "version": 1},
                    {"type": "int32", "name": DATA + "Time", "version": 1},
                    {"type": "int64", "name": DATA + "Timestamp", "version": 1},
                ]
            )
        case "enum":
            name = unique("Enum")
            return {
                "type": "string",
                "name": name,
                "parameters": {ENUM: name, f"{ENUM}.ONE": "ONE", f"{ENUM}.TWO": "TWO"},
            }
        case "fixed":
            return {"type": "bytes", "name": unique("Fixed"), "parameters": {"connect.fixed.size": "3"}}
        case "struct":
            return struct(depth)
        case "array":
            return {"type": "array", "items": connect_schema(depth + 1)}
        case "map":
            return {"type": "map", "keys": {"type": "string"}, "values": connect_schema(depth + 1)}
        case "pairs":
            key = {"type": RANDOM.choice(["int32", "int64", "boolean", "string"]), "optional": RANDOM.random() < 0.3}
            if key["type"] == "string":
                key["optional"] = True
            named = {"name": unique("Entries")} if RANDOM.random() < 0.3 else {}
            return {"type": "map", "keys": key, "values": connect_schema(depth + 1), **named}
        case "union":
            members = [
                {"type": "int32"},
                {"type": "string"},
                {"type": "boolean"},
                {"type": "double"},
                {"type": "bytes"},
            ]
            chosen = [{**member, "optional": True} for member in RANDOM.sample(members, RANDOM.randrange(2, 4))]
            names = {"int32": "int", "boolean": "boolean", "string": "string", "double": "double", "bytes": "bytes"}
            fields = [{**member, "field": names[member["type"]]} for member in chosen]
            if RANDOM.random() < 0.5:
                inner = struct(3)
                inner["name"] = unique("Member")
                fields.append({**inner, "optional": True, "field": inner["name"].rpartition(".")[2]})
            return {"type": "struct", "name": UNION, "fields": fields}
    return {"type": kind}


NAMES = iter(range(10**6))


def unique(word: str) -> str:
    return RANDOM.choice(["", "org.example.", "org.example.sub."]) + f"{word}{next(NAMES)}"


def struct(depth: int) -> dict[str, Any]:
    names = RANDOM.sample(WORDS, RANDOM.randrange(1, 5))
    made: dict[str, Any] = {
        "type": "struct",
        "fields": [{**connect_schema(depth + 1), "field": name} for name in names],
    }
    if RANDOM.random() < 0.6:
        made["name"] = unique("Record")
    if RANDOM.random() < 0.1:
        made["parameters"] = {
            "io.confluent.connect.avro.record.doc": "a record",
            f"io.confluent.connect.avro.field.doc.{names[0]}": "a field",
        }
    return made


def value_of(schema: dict[str, Any]) -> Any:
    if schema.get("optional") and RANDOM.random() < 0.3:
        return None
    name = schema.get("name", "")
    if name == DATA + "Decimal":
        return RANDOM.choice(["0.00", "12.34", "-1.28", "327.68", "-327.69"])
    if name.startswith(DATA):
        return RANDOM.choice([0, 86_400_000 * 5]) if name.endswith("Date") else RANDOM.choice([0, 1, 3_600_000])
    match schema["type"]:
        case "int8" | "int16" | "int32" | "int64":
            bits = INTEGERS[schema["type"]]
            return RANDOM.choice([0, 1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), RANDOM.randrange(-100, 100)])
        case "float":
            return RANDOM.choice(["0.0", "1.5", "-2.25", "1.0E10"])
        case "double":
            return RANDOM.choice(["0.0", "0.1", "-2.25", "1.0E300"])
        case "boolean":
            return RANDOM.random() < 0.5
        case "string":
            if ENUM in schema.get("parameters", {}):
                return RANDOM.choice(["ONE", "TWO"])
            return RANDOM.choice(["", "a", "é", "日本", "😀", 'say "x"'])
        case "bytes":
            size = 3 if "connect.fixed.size" in schema.get("parameters", {}) else RANDOM.randrange(5)
            return base64.b64encode(RANDOM.randbytes(size)).decode()
        case "array":
            return [value_of(schema["items"]) for _ in range(RANDOM.randrange(4))]
        case "map":
            entries = {
                json.dumps(k): [k, value_of(schema["values"])]
                for k in (value_of(schema["keys"]) for _ in range(RANDOM.randrange(3)))
            }
            return list(entries.values())[:1] if schema["keys"].get("optional") else list(entries.values())
    if name == UNION:
        chosen = RANDOM.choice(schema["fields"])
        return {chosen["field"]: value_of({**chosen, "optional": False})}
    return {field["field"]: value_of(field) for field in schema["fields"]}


def writing() -> None:
    for schema, values in schema_and_values():
        for config in ({}, {"connect.meta.data": "false"}):
            emit("from", config=config, schema=schema, values=values)
    for _ in range(900):
        schema = struct(0) if RANDOM.random() < 0.8 else connect_schema(0)
        emit("from", config=RANDOM.choice(CONFIGS), schema=schema, values=[value_of(schema) for _ in range(3)])
    for _ in range(60):
        emit("from", config={}, schema=None, values=[tagged()])


# -- Avro's schemas and data

AVRO_PLAIN = ["boolean", "int", "long", "float", "double", "bytes", "string"]


def avro_schema(depth: int, union: bool = True) -> Any:
    kinds = [*AVRO_PLAIN, "logical", "typed", "enum", "fixed"]
    if depth < 3:
        kinds += ["record", "record", "array", "map", "nullable", "nullable"] + (["union"] if union else [])
    if not union:
        kinds = [kind for kind in kinds if kind != "nullable"]
    kind = RANDOM.choice(kinds)
    match kind:
        case "logical":
            return RANDOM.choice(
                [
                    {"type": "int", "logicalType": "date"},
                    {"type": "int", "logicalType": "time-millis"},
                    {"type": "long", "logicalType": "timestamp-millis"},
                    {"type": "long", "logicalType": "timestamp-micros"},
                    {"type": "long", "logicalType": "time-micros"},
                    {"type": "string", "logicalType": "uuid"},
                    {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
                    {"type": "bytes", "logicalType": "decimal", "precision": 64},
                    {
                        "type": "fixed",
                        "name": unique("Money"),
                        "size": 4,
                        "logicalType": "decimal",
                        "precision": 9,
                        "scale": 3,
                    },
                ]
            )
        case "typed":
            return RANDOM.choice(
                [
                    {"type": "int", "connect.type": "int8"},
                    {"type": "int", "connect.type": "int16"},
                    {
                        "type": "string",
                        "connect.name": "my.text",
                        "connect.version": 2,
                        "connect.doc": "d",
                        "connect.parameters": {"a": "b"},
                    },
                    {"type": "long", "connect.default": 7},
                    {"type": "string", "avro.java.string": "String"},
                ]
            )
        case "enum":
            return {
                "type": "enum",
                "name": unique("Colour"),
                "symbols": ["RED", "GREEN"],
                **({"doc": "colours"} if RANDOM.random() < 0.3 else {}),
                **({"default": "RED"} if RANDOM.random() < 0.3 else {}),
            }
        case "fixed":
            return {"type": "fixed", "name": unique("Raw"), "size": RANDOM.randrange(1, 5)}
        case "record":
            return avro_record(depth)
        case "array":
            return {"type": "array", "items": avro_schema(depth + 1)}
        case "map":
            return {"type": "map", "values": avro_schema(depth + 1)}
        case "nullable":
            other = avro_schema(depth + 1, union=False)
            return ["null", other] if RANDOM.random() < 0.7 else [other, "null"]
        case "union":
            branches: list[Any] = RANDOM.sample(["int", "string", "boolean", "double", "bytes"], RANDOM.randrange(2, 4))
            if RANDOM.random() < 0.5:
                branches.append(avro_record(2))
            if RANDOM.random() < 0.3:
                branches.insert(0, "null")
            return branches
    return kind


def avro_record(depth: int) -> dict[str, Any]:
    fields = []
    for name in RANDOM.sample(WORDS, RANDOM.randrange(1, 5)):
        kind = avro_schema(depth + 1)
        field: dict[str, Any] = {"name": name, "type": kind}
        if RANDOM.random() < 0.2:
            field["doc"] = "a field"
        if RANDOM.random() < 0.4 and (default := default_of(kind)) is not ...:
            field["default"] = default
        fields.append(field)
    full = unique("Rec")
    space, _, simple = full.rpartition(".")
    made: dict[str, Any] = {"type": "record", "name": simple, "fields": fields}
    made["namespace"] = space or "top"
    if RANDOM.random() < 0.2:
        made["doc"] = "a record"
    return made


def default_of(kind: Any) -> Any:
    if isinstance(kind, list):
        return default_of(kind[0])
    name = kind if isinstance(kind, str) else kind["type"]
    match name:
        case "null":
            return None
        case "boolean":
            return True
        case "int":
            return 5
        case "long":
            return 2**40
        case "float" | "double":
            return 1.5
        case "string":
            return "dflt"
        case "bytes":
            return "\x00ÿ"
        case "enum":
            return kind["symbols"][-1]
        case "array":
            item = default_of(kind["items"])
            return ... if item is ... or isinstance(kind["items"], list) else [item]
        case "map":
            item = default_of(kind["values"])
            return ... if item is ... or isinstance(kind["values"], list) else {"k": item}
    return ...


def datum_of(kind: Any) -> Any:
    """Return a value for fastavro, which chooses the branch of a union by it."""
    if isinstance(kind, list):
        chosen = RANDOM.choice(kind)
        return datum_of(chosen)
    name = kind if isinstance(kind, str) else kind["type"]
    match name:
        case "null":
            return None
        case "boolean":
            return RANDOM.random() < 0.5
        case "int":
            small = 100 if not isinstance(kind, str) else 2**31
            return (
                RANDOM.choice([0, 1, -1, small - 1, 5])
                if not isinstance(kind, str)
                else RANDOM.randrange(-small, small)
            )
        case "long":
            return RANDOM.choice([0, 1, -1, 1_600_000_000_000])
        case "float" | "double":
            return RANDOM.choice([0.0, 1.5, -2.25])
        case "string":
            return RANDOM.choice(["", "a", "é", "😀"])
        case "bytes":
            return RANDOM.randbytes(RANDOM.randrange(1, 5))
        case "fixed":
            return RANDOM.randbytes(kind["size"])
        case "enum":
            return RANDOM.choice(kind["symbols"])
        case "array":
            return [datum_of(kind["items"]) for _ in range(RANDOM.randrange(4))]
        case "map":
            return {key: datum_of(kind["values"]) for key in RANDOM.sample(WORDS, RANDOM.randrange(4))}
    return {field["name"]: datum_of(field["type"]) for field in kind["fields"]}


def without_logical(kind: Any) -> Any:
    match kind:
        case list():
            return [without_logical(branch) for branch in kind]
        case dict():
            return {
                key: without_logical(value)
                for key, value in kind.items()
                if key not in ("logicalType", "default", "precision", "scale")
            }
    return kind


def reading() -> None:
    for number in range(1300):
        schema = avro_record(0) if RANDOM.random() < 0.9 else avro_schema(0)
        if isinstance(schema, list) and "null" in schema:  # whose null is no message
            continue
        parsed = fastavro.parse_schema(without_logical(schema))
        values = []
        for _ in range(3):
            stream = io.BytesIO()
            fastavro.schemaless_writer(stream, parsed, datum_of(schema))
            values.append(base64.b64encode(stream.getvalue()).decode())
        version = {"version": number % 7 + 1} if RANDOM.random() < 0.5 else {}
        emit("to", config=RANDOM.choice(CONFIGS), avro=json.dumps(schema), values=values, **version)


if __name__ == "__main__":
    writing()
    reading()
