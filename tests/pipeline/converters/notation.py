"""Notation of the golden cases, and Penstock's answers to them; see golden/README.md."""

from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal
from typing import Any

from penstock import values
from penstock.api.converter import Converter
from penstock.api.errors import ConnectError, KafkaError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.java.dates import DateFormat
from penstock.java.jackson.reading import dumps
from penstock.java.numbers import float_text
from penstock.java.regex import compile_regex, full_match, replace_all
from penstock.pipeline import converters
from penstock.pipeline.converters.json_reader import JsonReader
from penstock.pipeline.converters.json_schema import read_schema, show_schema
from penstock.pipeline.converters.json_writer import JsonWriter
from penstock.values.column_printing import to_strings
from penstock.values.logical import day_of, days_since, millis_of_day, millis_since, moment_of, time_of
from penstock.values.printing import to_string

CONVERTERS = {getattr(converters, name).java_name: getattr(converters, name) for name in converters.__all__}
DAY = 86_400_000


def answer(case: dict[str, Any]) -> Any:
    """Return Penstock's answer in Java's notation; a case of several values has a list of answers or errors."""
    if "values" not in case:
        return written(case, result(case))
    answers: list[Any] = []
    for value in case["values"]:
        try:
            answers.append(written(case, result(case | {"value": value})))
        except (KafkaError, ValueError) as error:
            answers.append({"error": str(error)})
    return answers


def written(case: dict[str, Any], found: Any) -> Any:
    match case["op"]:
        case "to" | "parse" | "header":
            schema, value = found
            return {"schema": show_any_schema(schema), "value": show(schema, value)}
        case "convert":
            return show(None, found)
    return found


def result(case: dict[str, Any]) -> Any:
    """Convert one value with Penstock and return the result; raises the converter's error."""
    schema = read_schema(case.get("schema"), JsonReader(True, 10).read_value)
    given = case.get("value")
    match case["op"]:
        case "from":
            data = converter(case).from_connect("topic", (), schema, read(schema, given))
            batch = converter(case).from_connect_batch(["topic"], [()], [schema], [read(schema, given)])
            assert batch == [data]
            return None if data is None else base64.b64encode(data).decode()
        case "to":
            data = None if given is None else base64.b64decode(given)
            subject = converter(case)
            found = subject.to_connect("topic", (), data)
            for _ in range(2):  # the second time the head of the envelope is cached
                assert subject.to_connect_batch(["topic"], [()], [data]) == ([found[0]], [found[1]])
            return found
        case "header":
            return converters.SimpleHeaderConverter().to_connect_header("t", "h", base64.b64decode(given))
        case "string":
            assert to_strings([schema] * 2, [read(schema, given)] * 2) == [to_string(schema, read(schema, given))] * 2
            return to_string(schema, read(schema, given))
        case "parse":
            return values.parse_string(given)
        case "text":
            return values.to_text(schema, read(schema, given))
        case "convert":
            return convert(case["target"], schema, read(schema, given))
        case "match":
            return full_match(compile_regex(case["pattern"]), given)
        case "replace":
            return replace_all(compile_regex(case["pattern"]), case["replacement"], given)
        case "format":
            return DateFormat(case["pattern"]).format_millis(given)
        case "date":
            return DateFormat(case["pattern"]).parse_millis(given)
    raise AssertionError(case)


def converter(case: dict[str, Any]) -> Converter:
    subject: Converter = CONVERTERS[case["converter"]]()
    coercion = {"penstock.coercion": "java"} if case["converter"].endswith("JsonConverter") else {}
    subject.configure({**case.get("config", {}), **coercion}, is_key=False)
    return subject


def convert(target: str, schema: Schema | None, value: Any) -> Any:
    if target == "Decimal":
        return values.to_decimal(schema, value, 2)
    functions = {
        "Boolean": values.to_boolean,
        "Byte": values.to_byte,
        "Short": values.to_short,
        "Integer": values.to_integer,
        "Long": values.to_long,
        "Float": values.to_float,
        "Double": values.to_double,
        "List": values.to_list,
        "Map": values.to_map,
        "Date": values.to_date,
        "Time": values.to_time,
        "Timestamp": values.to_timestamp,
    }
    return functions[target](schema, value)


def read(schema: Schema | None, node: Any) -> Any:
    """Return the value of a notation; without a schema every value is tagged with its type."""
    if node is None:
        return None
    if schema is None:
        return read_tagged(node)
    match schema.name:
        case str(name) if name == DECIMAL_NAME:
            return Decimal(node)
        case str(name) if name == DATE_NAME:
            return day_of(node // DAY)
        case str(name) if name == TIME_NAME:
            return time_of(node)
        case str(name) if name == TIMESTAMP_NAME:
            return moment_of(node)
    match schema.type:
        case SchemaType.FLOAT32 | SchemaType.FLOAT64:
            return float(node)
        case SchemaType.BYTES:
            return base64.b64decode(node)
        case SchemaType.ARRAY:
            return [read(schema.value_schema, item) for item in node]
        case SchemaType.MAP:
            return {read(schema.key_schema, k): read(schema.value_schema, v) for k, v in node}
        case SchemaType.STRUCT:
            return {field.name: read(field.schema, node.get(field.name)) for field in schema.fields}
    return node


def read_tagged(node: Any) -> Any:
    if node is None:
        return None
    value = node["v"]
    match node["t"]:
        case "float32" | "float64":
            return float(value)
        case "bytes":
            return base64.b64decode(value)
        case "decimal":
            return Decimal(value)
        case "date":
            return moment_of(value)
        case "array":
            return [read_tagged(item) for item in value]
        case "map":
            return {read_tagged(k): read_tagged(v) for k, v in value}
    return value


def show(schema: Schema | None, value: Any) -> Any:
    """Return the tagged notation of a value, as Java writes it."""
    if value is None:
        return None
    match value:
        case dt.datetime():
            return {"t": "date", "v": millis_since(value)}
        case dt.date():
            return {"t": "date", "v": days_since(value) * DAY}
        case dt.time():
            return {"t": "date", "v": millis_of_day(value)}
        case bool():
            return {"t": "boolean", "v": value}
        case int():
            return {"t": schema.type.value if schema and schema.type.value.startswith("int") else "int64", "v": value}
        case float():
            return {"t": schema.type.value if schema is not None else "float64", "v": to_string(schema, value)}
        case str():
            return {"t": "string", "v": value}
        case bytes():
            return {"t": "bytes", "v": base64.b64encode(value).decode()}
        case Decimal():
            return {"t": "decimal", "v": str(value)}
        case list():
            items = None if schema is None else schema.value_schema
            return {"t": "array", "v": [show(items, item) for item in value]}
        case dict() if schema is not None and schema.type is SchemaType.STRUCT:
            return {"t": "struct", "v": [[f.name, show(f.schema, value.get(f.name))] for f in schema.fields]}
        case dict():
            keys, items = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
            return {"t": "map", "v": [[show(keys, k), show(items, v)] for k, v in value.items()]}
    raise AssertionError(value)


def without_sizes(node: Any) -> Any:
    """Remove the sizes from tags of numbers without a schema: in Python an ``int8`` is an ``int`` like others."""
    match node:
        case {"t": "int8" | "int16" | "int32" | "int64", "v": value}:
            return {"t": "int64", "v": value}
        case {"t": "float32" | "float64", "v": text}:
            return {"t": "float64", "v": float_text(float(text))}
        case dict():
            return {name: without_sizes(value) for name, value in node.items()}
        case list():
            return [without_sizes(item) for item in node]
    return node


def show_any_schema(schema: Schema | None) -> Any:
    """Like ``show_schema``, but also for the incomplete schemas of empty arrays and maps."""
    if schema is None:
        return None
    match schema.type:
        case SchemaType.ARRAY:
            items = {} if schema.value_schema is None else {"items": show_any_schema(schema.value_schema)}
            return {"type": "array", **items, "optional": schema.optional}
        case SchemaType.MAP:
            parts = {"keys": schema.key_schema, "values": schema.value_schema}
            shown = {name: show_any_schema(part) for name, part in parts.items() if part is not None}
            return {"type": "map", **shown, "optional": schema.optional}
    return json.loads(dumps(show_schema(schema, JsonWriter(False, True, 10).show_value)))


def chain(error: BaseException) -> list[list[str]]:
    """Return the errors, outermost first, with their Java names."""
    found = []
    current: BaseException | None = error
    while current is not None:
        name = current.java_name if isinstance(current, (KafkaError, ConnectError)) else type(current).__name__
        found.append([name, str(current)])
        current = current.__cause__
    return found
