"""Notation of schemas, values and records in golden files; ``golden/Harness.java`` reads and writes the same.

A schema is an object with ``type`` and everything that is not the default. A value with a schema is written by its
type: numbers, texts (also for floats and decimals, and base64 for bytes), milliseconds for dates, pairs for maps,
objects for structs. A schemaless value is tagged where JSON lacks the type: ``{"float": "1.5"}``,
``{"map": [["k", 1]]}``.
"""

from __future__ import annotations

import base64
import datetime
from decimal import Decimal
from typing import Any

from penstock.api.batch import Batch, SinkOrigin, SourceOrigin
from penstock.api.record import Header
from penstock.api.schema import Field, Schema, SchemaType
from penstock.java.numbers import double_text, float_text
from penstock.values.hash_map import hash_map
from penstock.values.logical import DAY, day_of, milliseconds, moment_of, time_of

Json = Any


def read_schema(node: Json) -> Schema | None:
    if node is None:
        return None
    bare = Schema(
        SchemaType[node["type"]],
        optional=node.get("optional", False),
        name=node.get("name"),
        version=node.get("version"),
        doc=node.get("doc"),
        parameters=node.get("parameters", {}),
        fields=tuple(Field(name, i, read_schema(inner)) for i, (name, inner) in enumerate(node.get("fields", ()))),
        key_schema=read_schema(node.get("keys")),
        value_schema=read_schema(node.get("items")),
    )
    return bare.with_(default=read_value(bare, node["default"])) if "default" in node else bare


def write_schema(schema: Schema | None) -> Json:
    if schema is None:
        return None
    node: dict[str, Json] = {"type": schema.type.name}
    if schema.optional:
        node["optional"] = True
    for attribute in ("name", "version", "doc"):
        if getattr(schema, attribute) is not None:
            node[attribute] = getattr(schema, attribute)
    if schema.parameters:
        node["parameters"] = dict(schema.parameters)
    if schema.type is SchemaType.STRUCT:
        node["fields"] = [[field.name, write_schema(field.schema)] for field in schema.fields]
    if schema.type is SchemaType.MAP:
        node["keys"] = write_schema(schema.key_schema)
    if schema.type in (SchemaType.MAP, SchemaType.ARRAY):
        node["items"] = write_schema(schema.value_schema)
    if schema.default is not None:
        node["default"] = write_value(schema, schema.default)
    return node


def read_value(schema: Schema | None, node: Json) -> Any:
    if node is None:
        return None
    if schema is None:
        return _read_schemaless(node)
    match schema.name:
        case "org.apache.kafka.connect.data.Decimal":
            return Decimal(node)
        case "org.apache.kafka.connect.data.Date":
            return day_of(node // DAY)
        case "org.apache.kafka.connect.data.Time":
            return time_of(node)
        case "org.apache.kafka.connect.data.Timestamp":
            return moment_of(node)
    match schema.type:
        case SchemaType.FLOAT32 | SchemaType.FLOAT64:
            return float(node)
        case SchemaType.BYTES:
            return base64.b64decode(node)
        case SchemaType.ARRAY:
            return [read_value(schema.value_schema, item) for item in node]
        case SchemaType.MAP:
            entries = {read_value(schema.key_schema, k): read_value(schema.value_schema, v) for k, v in node}
            return hash_map(entries, key_type=schema.key_schema.type)
        case SchemaType.STRUCT:
            # Nulls are left out, which means the same.
            return {f.name: read_value(f.schema, node[f.name]) for f in schema.fields if node.get(f.name) is not None}
        case _:
            return node


def write_value(schema: Schema | None, value: Any) -> Json:
    if value is None:
        return None
    if schema is None:
        return _write_schemaless(value)
    if isinstance(value, datetime.date | datetime.time):
        return milliseconds(value)
    if isinstance(value, Decimal):
        return str(value)
    match schema.type:
        case SchemaType.FLOAT32:
            return float_text(value)
        case SchemaType.FLOAT64:
            return double_text(value)
        case SchemaType.BYTES:
            return base64.b64encode(value).decode()
        case SchemaType.ARRAY:
            return [write_value(schema.value_schema, item) for item in value]
        case SchemaType.MAP:
            return [[write_value(schema.key_schema, k), write_value(schema.value_schema, v)] for k, v in value.items()]
        case SchemaType.STRUCT:
            return {f.name: write_value(f.schema, value.get(f.name)) for f in schema.fields}
        case SchemaType.BOOLEAN:
            assert type(value) is bool
        case SchemaType.STRING:
            assert type(value) is str
        case _:
            assert type(value) is int
    return value


def _read_schemaless(node: Json) -> Any:
    match node:
        case list():
            return [_read_schemaless(item) for item in node]
        case {"float": text}:
            return float(text)
        case {"bytes": text}:
            return base64.b64decode(text)
        case {"date": time}:
            return moment_of(time)
        case {"decimal": text}:
            return Decimal(text)
        case {"map": entries}:
            return hash_map({key: _read_schemaless(value) for key, value in entries})
        case _:
            return node


def _write_schemaless(value: Any) -> Json:
    match value:
        case list():
            return [_write_schemaless(item) for item in value]
        case float():
            return {"float": double_text(value)}
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case datetime.date() | datetime.time():
            return {"date": milliseconds(value)}
        case Decimal():
            return {"decimal": str(value)}
        case dict():
            return {"map": [[key, _write_schemaless(item)] for key, item in value.items()]}
        case _:
            return value


def read_batch(node: Json) -> Batch:
    """Return a batch of one record."""
    key_schema, value_schema = read_schema(node["key"][0]), read_schema(node["value"][0])
    headers = []
    for name, schema_node, value in node["headers"]:
        schema = read_schema(schema_node)
        headers.append(Header(name, schema, read_value(schema, value)))
    topic, partition, offset = node["topic"], node["partition"], node["offset"]
    origin: SinkOrigin | SourceOrigin = (
        SourceOrigin([{"file": "x"}], [{"position": 3}])
        if offset is None
        else SinkOrigin([topic], [partition], [offset], ["CreateTime"])
    )
    return Batch.of(
        topic,
        [read_value(value_schema, node["value"][1])],
        value_schema=value_schema,
        keys=[read_value(key_schema, node["key"][1])],
        key_schema=key_schema,
        partitions=[partition],
        timestamps=[node["timestamp"]],
        headers=[tuple(headers)],
        origin=origin,
    )


def write_batch(batch: Batch) -> Json:
    """Return the only record of a batch, or None if it is empty."""
    if not len(batch):
        return None
    row = batch.row(0)
    return {
        "topic": row.topic,
        "partition": row.partition,
        "key": [write_schema(row.key_schema), write_value(row.key_schema, row.key)],
        "value": [write_schema(row.value_schema), write_value(row.value_schema, row.value)],
        "timestamp": row.timestamp,
        "headers": [[h.key, write_schema(h.schema), write_value(h.schema, h.value)] for h in row.headers],
    }
