"""Records to rows of tables: one struct for each shape, up to the first record of a shape that is not in the plan."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
import pytest

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.columns import Table
from penstock.api.errors import ConnectError, DataError
from penstock.api.schema import DATE, INT32, INT64, STRING, TIME, TIMESTAMP, Schema, decimal, struct
from penstock.connectors.jdbc.columns import RowShape
from penstock.connectors.jdbc.records import shape_of
from penstock.connectors.jdbc.sink_settings import JdbcSinkSettings
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, PipelineStage, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.original_records import OriginalRecords
from penstock.spark.query.jdbc.plan import PassPlan, PassTotals, Stops
from penstock.spark.query.jdbc.row_maker import TableRowMaker
from penstock.spark.query.jdbc.rows import TableRows
from penstock.spark.query.sink.rows.held_letters import HeldFailures
from penstock.spark.query.sink.rows.pipeline import Pipeline

SETTINGS = JdbcSinkSettings.of(
    {
        "connection.url": "jdbc:postgresql://db/app",
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "pk.fields": "id",
        "delete.enabled": "true",
    }
)
ONE = struct(
    ("name", STRING.with_(optional=True, default="none")),
)
TWO = struct(("name", STRING), ("n", INT32))


def errors(tolerate: bool = False) -> tuple[ErrorHandler, list[Any]]:
    failures: list[Any] = []
    metrics = Metrics(lambda _: None, ())
    return ErrorHandler(ErrorSettings(tolerate=tolerate), metrics, lambda _: False, (failures.append,)), failures


def batch(*records: tuple[int | None, Any, Schema | None], table: bool = False) -> Batch:
    """Records of topic t, partition 0: key, value and the value's schema."""
    n = len(records)
    values: Any = [value for _, value, _ in records]
    if table:
        values = Table.of({name: [value[name] for value in values] for name in values[0]})
    return Batch.of(
        ["t"] * n,
        values,
        value_schema=[schema for _, _, schema in records],
        keys=[key for key, _, _ in records],
        key_schema=[INT64 if key is not None else None for key, _, _ in records],
        origin=SinkOrigin(["t"] * n, [0] * n, list(range(10, 10 + n)), ["CreateTime"] * n),
    )


def shape(value: Schema | None) -> RowShape:
    return shape_of(SETTINGS, "t", INT64, value, keyed=True, valued=value is not None)


@pytest.mark.parametrize("table", [False, True])
def test_a_struct_for_each_shape(table: bool) -> None:
    plan = PassPlan((shape(ONE), shape(None)))
    records = [(1, {"name": "a"}, ONE), (2, {"name": None}, ONE)]
    made = TableRowMaker(SETTINGS, plan).rows(batch(*records, table=table), errors()[0])
    assert made is not None
    assert made.to_pylist() == [
        {"_shape": 0, "_topic": "t", "_partition": 0, "_offset": 10, "s0": {"c0": "a", "c1": 1}, "s1": None},
        {"_shape": 0, "_topic": "t", "_partition": 0, "_offset": 11, "s0": {"c0": "none", "c1": 2}, "s1": None},
    ]


def test_rows_have_the_struct_of_their_shape() -> None:
    plan = PassPlan((shape(ONE), shape(None)))
    made = TableRowMaker(SETTINGS, plan).rows(
        batch((1, {"name": "a"}, ONE), (1, None, None), (3, {}, ONE)), errors()[0]
    )
    assert made is not None
    assert made["_shape"].to_pylist() == [0, 1, 0]
    assert made["s0"].to_pylist() == [{"c0": "a", "c1": 1}, None, {"c0": "none", "c1": 3}]
    assert made["s1"].to_pylist() == [None, {"c0": 1}, None]


def test_a_time_with_a_zone_is_refused_by_the_name_of_its_column() -> None:
    value = struct(("opens", TIME))
    times = [dt.time(1, 30), dt.time(1, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))]
    handler, failures = errors(tolerate=True)
    records = batch(*((i, {"opens": time}, value) for i, time in enumerate(times)))
    made = TableRowMaker(SETTINGS, PassPlan((shape(value),))).rows(records, handler)
    assert made is not None
    assert made["s0"].to_pylist() == [{"c0": 90 * 60_000, "c1": 0}]
    assert [str(each.error) for each in failures] == ["01:30:00+02:00 of column opens has a zone, and a Time has none"]


def test_a_pass_stops_at_a_new_shape_and_reports_it() -> None:
    maker = TableRowMaker(SETTINGS, PassPlan((shape(ONE),)))
    records = batch((1, {"name": "a"}, ONE), (2, {"name": "b", "n": 1}, TWO), (3, {"name": "c"}, ONE))
    made = maker.rows(records, errors()[0])
    assert made is not None
    assert made["_offset"].to_pylist() == [10]
    found = Stops(list(maker.new), maker.stops)
    assert found.shapes == [shape(TWO)]
    assert found.starts == {("t", 0): 11}
    # The next pass.
    plan = PassPlan((shape(ONE), *found.shapes), found.starts)
    assert [plan.wants(("t", 0), offset) for offset in (10, 11, 12)] == [False, True, True]
    assert not plan.wants(("t", 1), 0)


def test_written_records_are_left_out_of_the_next_pass() -> None:
    plan = PassPlan((), None, {("t", 0): 12})
    assert [plan.wants(("t", 0), offset) for offset in (11, 12)] == [False, True]
    assert plan.wants(("t", 1), 0)


def test_records_without_a_place_are_errors_of_these_records_alone() -> None:
    bad = [(1, {"name": "a"}, ONE), (None, {"name": "b"}, ONE), (3, "text", STRING), (4, {"name": 5}, ONE)]
    handler, failures = errors(tolerate=True)
    made = TableRowMaker(SETTINGS, PassPlan((shape(ONE),))).rows(batch(*bad), handler)
    assert made is not None
    assert made["_offset"].to_pylist() == [10]
    assert [failure.record.origin.offsets for failure in failures] == [[11], [12], [13]]
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        TableRowMaker(SETTINGS, PassPlan((shape(ONE),))).rows(batch(*bad), errors()[0])


def test_times_in_units_of_the_settings() -> None:
    config = {"connection.url": "jdbc:postgresql://db/app", "timestamp.fields.list": "a,b"}
    settings = JdbcSinkSettings.of({**config, "timestamp.precision.mode": "nanoseconds"})
    value = struct(("a", INT64), ("b", STRING.with_(optional=True)))
    plan = PassPlan((shape_of(settings, "t", None, value, keyed=False, valued=True),))
    rows = [{"a": -1, "b": "18446744073709551616"}, {"a": 5, "b": None}, {"a": 5, "b": "now"}]
    handler, failures = errors(tolerate=True)
    made = TableRowMaker(settings, plan).rows(batch(*((None, row, value) for row in rows)), handler)
    assert made is not None
    assert made["s0"].to_pylist() == [{"c0": "-1", "c1": "18446744073709551616"}, {"c0": "5", "c1": None}]
    assert [failure.record.origin.offsets for failure in failures] == [[12]]


def test_logical_types_become_numbers_and_decimal_texts() -> None:
    value = struct(("d", DATE), ("t", TIME), ("ts", TIMESTAMP), ("n", decimal(2)))
    row = {
        "d": dt.date(1970, 1, 3),
        "t": dt.time(0, 0, 1, 5000),
        "ts": dt.datetime(1970, 1, 1, 0, 0, 2, tzinfo=dt.UTC),
        "n": Decimal("12345678901234567890123456789012345678901234.50"),
    }
    made = TableRowMaker(SETTINGS, PassPlan((shape(value),))).rows(batch((1, row, value)), errors()[0])
    assert made is not None
    assert list(made["s0"].to_pylist()[0].values()) == [2, 1005, 2000, format(row["n"], "f"), 1]


class Sum:
    """Stands for the accumulator of totals."""

    def __init__(self) -> None:
        self.value = PassTotals()

    def add(self, totals: PassTotals) -> None:
        self.value = totals


def converted(batch: Batch) -> Batch:
    if b"broken" in batch.values:
        raise DataError("broken")
    n = len(batch)
    rows = [{"name": "a"} for _ in range(n)]
    return batch.with_(values=rows, value_schemas=[ONE] * n, keys=[1] * n, key_schemas=[INT64] * n)


def test_a_record_that_fails_behind_a_stop_is_reported_by_the_next_pass_alone() -> None:
    values = [b"broken", b"a", b"broken", b"b"]
    n = len(values)
    arrow = pa.record_batch(
        {
            "topic": ["t"] * n,
            "partition": pa.array([0] * n, pa.int32()),
            "offset": list(range(n)),
            "timestamp": pa.array([0] * n, pa.timestamp("us", tz="UTC")),
            "timestampType": [0] * n,
            "key": pa.array([b""] * n, pa.binary()),
            "value": values,
            "headers": pa.array([[]] * n, pa.list_(pa.binary())),
        }
    )
    reported: list[int] = []

    def report(failure: Any) -> None:
        reported.append(failure.record.origin.offsets[0])

    plan = PassPlan()
    for _ in range(2):
        held, metrics, totals = HeldFailures(), Metrics(lambda _: None, ()), Sum()
        held.reporters = [report]
        handler = ErrorHandler(ErrorSettings(tolerate=True), metrics, lambda _: False, (held,))
        steps = [Step(PipelineStage.VALUE_CONVERTER, "x", converted)]
        pipeline = Pipeline(handler, steps, [], OriginalRecords(), metrics, None)
        rows = TableRows(cast(Any, None), plan, cast(Any, totals))
        made = list(rows._rows(pipeline, held, TableRowMaker(SETTINGS, plan), [arrow]))
        stops = totals.value.stops
        plan = PassPlan((*plan.shapes, *stops.shapes), stops.starts)
    assert made[0]["_offset"].to_pylist() == [1, 3]
    assert stops.starts == {}
    assert reported == [0, 2]
