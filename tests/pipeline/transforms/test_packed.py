"""Transforms, and converters behind them, make of packed columns and of tables in tables what they make of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.schema import FLOAT64, INT32, INT64, OPTIONAL_STRING, STRING, struct
from penstock.pipeline.chain import Chain
from penstock.pipeline.converters import JsonConverter, StringConverter
from penstock.values.packed import PackedNumbers, PackedTexts, SharedBytes
from support.tasks.runs import resolve

T = "org.apache.kafka.connect.transforms."
INNER = struct(("a", INT32), ("b", OPTIONAL_STRING))
ROW = struct(("id", INT64), ("user", STRING), ("amount", FLOAT64), ("note", OPTIONAL_STRING), ("inner", INNER))
COUNT = 4
CHAINS: list[dict[str, str]] = [
    {"type": f"{T}Cast$Value", "spec": "id:string,amount:float32"},
    {"type": f"{T}MaskField$Value", "fields": "user,id"},
    {"type": f"{T}ReplaceField$Value", "exclude": "user", "renames": "id:nr"},
    {"type": f"{T}InsertField$Value", "static.field": "s", "static.value": "v"},
    {"type": f"{T}HoistField$Value", "field": "h"},
    {"type": f"{T}Flatten$Value"},
    {"type": f"{T}TimestampConverter$Value", "field": "id", "target.type": "Timestamp"},
    {"type": f"{T}ValueToKey", "fields": "id,inner"},
    {"type": f"{T}ExtractField$Value", "field": "inner"},
    {"type": f"{T}ExtractField$Value", "field": "note"},
    {"type": f"{T}HeaderFrom$Value", "fields": "user,id", "headers": "a,b", "operation": "move"},
    {"type": f"{T}SetSchemaMetadata$Value", "schema.name": "n"},
]


def packed() -> Table:
    shared = SharedBytes("né,".encode() * COUNT)
    first = np.arange(COUNT) * 4
    texts = PackedTexts(shared, first, first + 3)
    notes = PackedTexts(shared, first, first + 1, first % 8 == 0)
    inner = Table(["a", "b"], [PackedNumbers(np.arange(COUNT, dtype=np.int32)), notes])
    columns = [PackedNumbers(np.arange(COUNT)), texts, PackedNumbers(np.arange(COUNT) / 4), notes, inner]
    return Table([field.name for field in ROW.fields], columns)


def outcome(settings: dict[str, str], values: Any) -> list[Any]:
    config = {"transforms": "x", **{f"transforms.x.{name}": value for name, value in settings.items()}}
    batch = Batch.of(["t"] * COUNT, values, value_schema=[ROW] * COUNT)
    for step in Chain.build(config, resolve).steps:
        batch = step.apply(batch)
    found: list[Any] = [list(batch.rows()), list(batch.select([2, 0]).rows())]
    for converter in (JsonConverter(), StringConverter()):
        converter.configure({}, False)
        column: Any = batch.value_column if converter.takes_tables else batch.values
        found.append(converter.from_connect_batch(batch.topics, list(batch.headers), batch.value_schemas, column))
    return found


@pytest.mark.parametrize("settings", CHAINS, ids=lambda settings: settings["type"].removeprefix(T))
def test_packed_columns_are_their_rows(settings: dict[str, str]) -> None:
    rows = [dict(row) for row in packed()]
    assert rows[1] == {"id": 1, "user": "né", "amount": 0.25, "note": None, "inner": {"a": 1, "b": None}}
    assert outcome(settings, packed()) == outcome(settings, rows)


@pytest.mark.parametrize(
    "settings",
    [
        *CHAINS,
        {"type": f"{T}Cast$Value", "spec": "note:int32"},
        {"type": f"{T}MaskField$Value", "fields": "note,id"},
        {"type": f"{T}ReplaceField$Value", "include": "note"},
        {"type": f"{T}ReplaceField$Value", "renames": "note:remark"},
        {"type": f"{T}ValueToKey", "fields": "id,note"},
    ],
    ids=lambda settings: settings["type"].removeprefix(T),
)
def test_a_field_without_a_column_is_null(settings: dict[str, str]) -> None:
    rows = [{name: value for name, value in row.items() if name != "note"} for row in packed()]
    columns = {name: column for name, column in packed().as_dict().items() if name != "note"}
    assert outcome(settings, Table.of(columns)) == outcome(settings, rows)


@pytest.mark.parametrize("settings", CHAINS, ids=lambda settings: settings["type"].rpartition(".")[2])
def test_a_table_without_rows_stays_so(settings: dict[str, str]) -> None:
    config = {"transforms": "x", **{f"transforms.x.{name}": value for name, value in settings.items()}}
    batch = Batch.of(["t"] * COUNT, packed(), value_schema=[ROW] * COUNT).select([])
    for step in Chain.build(config, resolve).steps:
        batch = step.apply(batch)
    assert list(batch.rows()) == []
