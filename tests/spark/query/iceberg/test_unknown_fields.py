"""Records for whose fields a table has no column at all: errors of the records, not rows of nulls and not nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError
from penstock.api.schema import INT64, STRING, Schema, struct
from penstock.pipeline.errors import ErrorHandler, ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.spark.query.iceberg.arrow import TableShape
from penstock.spark.query.sink.rows.drift import written
from penstock.spark.query.sink.rows.plan import RowPlan
from penstock.spark.query.sink.rows.row_maker import RowMaker
from penstock.spark.query.sink.rows.table_keys import TableKeys

TABLE = t.StructType([t.StructField("id", t.LongType()), t.StructField("name", t.StringType())])
ARROW = pa.schema([("id", pa.int64()), ("name", pa.string())])
KNOWN, OTHER = struct(("id", INT64)), struct(("wrap", STRING))


def handler(*, tolerates: bool) -> tuple[ErrorHandler, list[Any]]:
    failures: list[Any] = []
    settings = ErrorSettings(tolerate=tolerates)
    return ErrorHandler(settings, Metrics(lambda _: None, ()), lambda _: False, (failures.append,)), failures


def batch(values: Sequence[Any], schemas: Sequence[Schema | None]) -> Batch:
    n = len(values)
    origin = SinkOrigin(["t"] * n, [0] * n, list(range(n)), ["CreateTime"] * n)
    return Batch.of(["t"] * n, values, value_schema=list(schemas), origin=origin)


def rows(values: Sequence[Any], schemas: Sequence[Schema | None], columns: t.StructType, errors: ErrorHandler) -> Any:
    """Return the rows of a table; ``columns`` are those of all records."""
    kept = written(columns, TABLE, ignores_case=False)
    plan = RowPlan(kept.json(), records=columns.json(), exact=True, target="shop.flights")
    return RowMaker(plan, TableShape(ARROW, ignores_case=False).rows).rows(batch(values, schemas), errors)


WRAP = t.StructType([t.StructField("wrap", t.StringType(), nullable=False)])
BOTH = t.StructType([t.StructField("id", t.LongType()), t.StructField("wrap", t.StringType())])


def test_records_without_a_column_are_dead_letters_beside_others() -> None:
    errors, failures = handler(tolerates=True)
    values = [{"id": 1}, {"wrap": "x"}, {"id": 2}]
    made = rows(values, [KNOWN, OTHER, KNOWN], BOTH, errors)
    assert made.to_pylist() == [{"id": 1, "name": None}, {"id": 2, "name": None}]
    assert len(failures) == 1


def test_records_none_of_which_has_a_column_are_dead_letters() -> None:
    errors, failures = handler(tolerates=True)
    assert rows([{"wrap": "x"}] * 5, [OTHER] * 5, WRAP, errors) is None
    assert len(failures) == 5


def test_without_tolerance_the_task_stops_with_the_names_of_the_fields() -> None:
    errors, _ = handler(tolerates=False)
    with pytest.raises(ConnectError) as caught:
        rows([{"wrap": "x"}], [OTHER], WRAP, errors)
    assert "shop.flights has a column for no field of the record (wrap)" in f"{caught.value} {caught.value.__cause__}"


def test_structs_without_fields_are_rows_of_nulls() -> None:
    errors, failures = handler(tolerates=False)
    made = rows([{}, {}], [struct(), struct()], t.StructType(), errors)
    assert made.to_pylist() == [{"id": None, "name": None}] * 2
    assert not failures


def test_maps_of_which_no_key_is_a_column_are_errors_though_others_are_left_out() -> None:
    keys = TableKeys(TABLE.names, "shop.flights", "SparkSink", ignores_case=False, drops=True)
    errors, failures = handler(tolerates=True)
    made = errors.run([keys.step], batch([{"id": 1, "more": 2}, {"more": 2}, {}], [None] * 3))
    assert made.values == [{"id": 1}, {}]
    assert len(failures) == 1
