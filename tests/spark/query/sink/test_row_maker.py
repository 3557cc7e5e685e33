"""Values that come as columns become the same rows as those that come as maps or structs."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from pyspark.sql import types as t

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import FLOAT64, INT64, STRING, RecursiveSchema, struct
from penstock.pipeline.errors import ErrorHandler, ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.spark.query.sink.rows.columns import columns_of
from penstock.spark.query.sink.rows.plan import RowPlan, RowsError
from penstock.spark.query.sink.rows.row_maker import RowMaker

ROW = struct(("id", INT64), ("name", STRING.with_(optional=True)), ("amount", FLOAT64))
DAY, NOON = date(2026, 11, 26), datetime(2026, 11, 26, 12, 0, 0, 5000, tzinfo=UTC)
HALF_A_DAY = timezone(timedelta(hours=12))
TABLE = Table.of({"id": [1, 2], "name": ["a", None], "amount": [1.5, -2.0]})
ORIGIN = SinkOrigin(["t", "t"], [0, 0], [7, 8], ["CreateTime"] * 2)


def rows(plan: RowPlan, values, schema=None):
    n = len(values)
    origin = SinkOrigin(["t"] * n, [0] * n, list(range(7, 7 + n)), ["CreateTime"] * n)
    batch = Batch.of(["t"] * n, values, value_schema=schema, origin=origin)
    made = RowMaker(plan).rows(batch, None)  # type: ignore[arg-type]
    assert made is not None
    return made


def declared(ddl: t.StructType) -> RowPlan:
    return RowPlan(ddl.json(), declared=True)


@pytest.mark.parametrize(
    "columns",
    [
        t.StructType([t.StructField("id", t.LongType()), t.StructField("name", t.StringType())]),
        t.StructType([t.StructField("amount", t.DoubleType()), t.StructField("absent", t.IntegerType())]),
        t.StructType([t.StructField("id", t.StringType())]),  # does not fit: made to
    ],
)
def test_maps_of_declared_columns(columns):
    plan = declared(columns)
    assert rows(plan, TABLE).equals(rows(plan, TABLE.rows()))


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (t.BinaryType(), ["AQID", None, b"x"], [b"\x01\x02\x03", None, b"x"]),
        (t.LongType(), [2.0, 3, None], [2, 3, None]),
        (t.DoubleType(), [2, 0.5, Decimal("0.25")], [2.0, 0.5, 0.25]),
        (t.FloatType(), [2, 0.5, -math.inf, 3.4028235e38], [2.0, 0.5, -math.inf, 3.4028234663852886e38]),
        (t.FloatType(), [0, -0.0, math.inf, None, 1.5], [0.0, -0.0, math.inf, None, 1.5]),
        (t.FloatType(), [2**24 + 2, 0.1], [2.0**24 + 2, 0.10000000149011612]),
        (t.DoubleType(), [2**53 + 2, 0.5], [2.0**53 + 2, 0.5]),
        (t.DoubleType(), [Decimal("0.10"), Decimal("-0.30000000000000004")], [0.1, -(0.1 + 0.2)]),
        (t.ArrayType(t.DoubleType()), [[2**60, 0.5]], [[2.0**60, 0.5]]),
        (t.IntegerType(), [NOON.time()], [(12 * 60 * 60) * 1000 + 5]),
        (
            t.TimestampNTZType(),
            ["2026-11-26T13:00:00.005+01:00", "2026-11-26T12:00:00.005", NOON, NOON.astimezone(HALF_A_DAY)],
            [NOON.replace(tzinfo=None)] * 4,
        ),
        (t.ArrayType(t.StringType()), [["ab", 1], None, []], [["ab", "1"], None, []]),
        (t.StringType(), [Decimal("1.50"), DAY, NOON.time()], ["1.50", "2026-11-26", "12:00:00.005000"]),
        (t.StringType(), [NOON, [DAY]], ["2026-11-26T12:00:00.005000+00:00", '["2026-11-26"]']),
        (t.DecimalType(10, 2), [1, "2.5", 0.25], [Decimal("1.00"), Decimal("2.50"), Decimal("0.25")]),
        (t.DecimalType(38, 4), ["-" + "9" * 34 + ".9999"], [Decimal("-" + "9" * 34 + ".9999")]),
        (t.DateType(), [NOON.replace(hour=0, microsecond=0), DAY, "2026-11-26"], [DAY, DAY, DAY]),
        (t.TimestampType(), ["2026-11-26T12:00:00.005000000Z"], [NOON]),
    ],
    ids=str,
)
def test_values_mean_the_same_whatever_columns_are_beside_them(kind, values, expected):
    for beside in ([], [t.StructField("at", t.TimestampType())]):
        plan = declared(t.StructType([t.StructField("x", kind), *beside]))
        assert rows(plan, [{"x": value} for value in values])["x"].to_pylist() == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (t.LongType(), 1.5),
        (t.IntegerType(), Decimal("1.5")),
        (t.FloatType(), 1e300),
        (t.FloatType(), -3.5e38),
        (t.FloatType(), 1e-50),
        (t.FloatType(), 2**24 + 1),
        (t.FloatType(), Decimal("1E-60")),
        (t.DoubleType(), 2**53 + 1),
        (t.DoubleType(), -(10**23)),
        (t.DoubleType(), Decimal("0.100000000000000001")),
        (t.DoubleType(), Decimal(2**53 + 1)),
        (t.DoubleType(), Decimal("1E-400")),
        (t.IntegerType(), NOON.time().replace(microsecond=5001)),
        (t.LongType(), NOON.timetz()),
        (t.TimestampNTZType(), "2026-11-26T12:00:00.1234567"),
        (t.TimestampNTZType(), "0001-01-01T00:00:00+01:00"),
        (t.ArrayType(t.StringType()), "ab"),
        (t.LongType(), True),
        (t.DoubleType(), True),
        (t.BinaryType(), 5),
        (t.BinaryType(), [1, 2]),
        (t.DecimalType(10, 2), 0.125),
        (t.DecimalType(10, 2), "2.345"),
        (t.DecimalType(10, 2), Decimal("0.001")),
        (t.DecimalType(4, 2), 100),
        (t.StringType(), b"\xff"),
        (t.StringType(), [math.nan]),
        (t.StringType(), {"a": [1, -math.inf]}),
        (t.StringType(), math.inf),
        (t.DateType(), NOON),
        (t.TimestampType(), "2026-11-26T12:00:00.123456789Z"),
        (t.ByteType(), 128),
        (t.IntegerType(), 2**31),
        (t.LongType(), 2**63),
    ],
    ids=str,
)
def test_a_value_that_a_column_would_change_does_not_fit_it(kind, value):
    failures = []
    errors = ErrorHandler(
        ErrorSettings(tolerate=True), Metrics(lambda _: None, ()), lambda _: False, (failures.append,)
    )
    batch = Batch.of(["t", "t"], [{"x": value}, {"x": None}], value_schema=None, origin=ORIGIN)
    made = RowMaker(declared(t.StructType([t.StructField("x", kind)]))).rows(batch, errors)
    assert made is not None
    assert made.to_pylist() == [{"x": None}]
    (failure,) = failures
    assert str(failure.error) == f"{value!r} does not fit column value.x of type {kind.simpleString()}"


@pytest.mark.parametrize("extra", ["", "_key"])
def test_infinity_in_a_text_of_json_is_an_error_of_its_record_alone(extra):
    failures = []
    errors = ErrorHandler(
        ErrorSettings(tolerate=True), Metrics(lambda _: None, ()), lambda _: False, (failures.append,)
    )
    odd, even = {"x": math.inf}, {"x": 1}
    batch = Batch.of(
        ["t", "t"], [even, even] if extra else [odd, even], keys=[odd, even] if extra else None, origin=ORIGIN
    )
    columns = t.StructType([t.StructField("value", t.StringType())])
    made = RowMaker(RowPlan(columns.json(), extras=(extra,) if extra else ())).rows(batch, errors)
    assert made is not None
    assert made.to_pylist() == [{"value": '{"x":1}', **({"_key": '{"x":1}'} if extra else {})}]
    (failure,) = failures
    assert "JSON has no NaN and no infinity" in str(failure.error)


@pytest.mark.parametrize(("kind", "value"), [(t.FloatType(), 1e-50), (t.DoubleType(), 2**53 + 1)], ids=str)
def test_an_item_that_an_array_would_change_does_not_fit_it(kind, value):
    columns = t.StructType([t.StructField("x", t.ArrayType(kind))])
    batch = Batch.of(["t"], [{"x": [value]}], origin=SinkOrigin(["t"], [0], [0], [""]))
    with pytest.raises(DataError, match=rf"does not fit column value\.x\[\] of type {kind.simpleString()}"):
        RowMaker(declared(columns))._try(batch)


@pytest.mark.parametrize("value", [2**53 + 1, Decimal("0.100000000000000001")])
def test_a_value_that_a_field_of_64_bit_floats_would_round_does_not_fit_it(value):
    plan = RowPlan(columns_of(ROW, dict).json())
    batch = Batch.of(["t"], [{"id": 1, "amount": value}], value_schema=ROW, origin=SinkOrigin(["t"], [0], [0], [""]))
    with pytest.raises(DataError, match=r"does not fit column value\.amount of type double"):
        RowMaker(plan)._try(batch)


def test_decimals_beside_times_keep_all_of_their_digits():
    """Times have to be made to fit, so all columns of such rows are."""
    columns = t.StructType([t.StructField("at", t.TimestampType()), t.StructField("amount", t.DecimalType(38, 2))])
    amounts = [Decimal("123456789012345678901234567890123456.78"), Decimal("-0.5")]
    made = rows(declared(columns), [{"at": "2024-05-06T07:08:09", "amount": amount} for amount in amounts])
    assert made["amount"].to_pylist() == amounts


def test_struct_fields_become_columns():
    plan = RowPlan(columns_of(ROW, dict).json(), extras=("_topic", "_offset"))
    made = rows(plan, TABLE, ROW)
    assert made.equals(rows(plan, TABLE.rows(), ROW))
    assert made.to_pylist()[1] == {"id": 2, "name": None, "amount": -2.0, "_topic": "t", "_offset": 8}


def test_structs_with_columns_that_are_not_known_yet():
    plan = RowPlan(columns_of(struct(("id", INT64)), dict).json())
    with pytest.raises(RowsError, match="amount"):
        rows(plan, TABLE, ROW)


EARLY = datetime(1582, 10, 14, 23, 59, 59, 999999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "given", "fine"),
    [
        (t.DateType(), EARLY.date(), [date(1582, 10, 15), date(9999, 12, 31), None]),
        (t.DateType(), date(1, 1, 1), [None]),
        (t.TimestampType(), EARLY + timedelta(days=1), [datetime(1582, 10, 16, tzinfo=UTC)]),
        (t.ArrayType(t.DateType()), [NOON.date(), EARLY.date()], [[], [NOON.date()], None]),
        (t.MapType(t.StringType(), t.DateType()), {"a": EARLY.date()}, [{"a": None}, {}]),
        (t.TimestampNTZType(), None, [EARLY.replace(tzinfo=None)]),  # a number in ORC
    ],
)
def test_days_that_orc_may_have_as_others_are_refused(kind, given, fine):
    columns = t.StructType([t.StructField("c", t.StructType([t.StructField("d", kind)]))])
    plan = RowPlan(columns.json(), declared=True, orc=True)
    assert rows(plan, [{"c": {"d": value}} for value in fine]).num_rows == len(fine)
    if given is not None:
        maker, batch = RowMaker(plan), Batch.of(["t"], [{"c": {"d": given}}], origin=SinkOrigin(["t"], [0], [0], [""]))
        with pytest.raises(DataError, match=r"column c has a value before 1[56] October 1582"):
            maker._try(batch)
        assert rows(declared(columns), [{"c": {"d": given}}]).num_rows == 1


def test_instants_that_orc_moves_by_a_second_are_refused():
    columns = t.StructType([t.StructField("c", t.ArrayType(t.TimestampType()))])
    plan = RowPlan(columns.json(), declared=True, orc=True)
    start, second = datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=1)
    fine = [start, start - second, start - 2 * second + timedelta(microseconds=999_999)]
    assert rows(plan, [{"c": fine}]).num_rows == 1
    for moved in (start - timedelta(microseconds=1), start - timedelta(milliseconds=999)):
        maker, batch = RowMaker(plan), Batch.of(["t"], [{"c": [moved]}], origin=SinkOrigin(["t"], [0], [0], [""]))
        with pytest.raises(DataError, match="column c has an instant of the last second before 1970"):
            maker._try(batch)


def test_columns_that_differ_only_in_case_are_refused():
    inner = struct(("x", INT64), ("X", INT64))
    with pytest.raises(DataError, match="Columns id and ID differ only in the case of letters"):
        columns_of(struct(("id", INT64), ("ID", STRING)), dict)
    with pytest.raises(DataError, match=r"Columns inner\.x and inner\.X differ only in the case of letters"):
        columns_of(struct(("inner", inner)), dict)
    assert columns_of(struct(("id", INT64), ("inner", struct(("id", INT64)))), dict).names == ["id", "inner"]


def test_records_with_columns_that_the_table_lacks_are_refused_one_by_one():
    known, more = struct(("id", INT64)), struct(("id", INT64), ("more", STRING))
    columns = columns_of(known, dict)
    plan = RowPlan(columns.json(), accepted=frozenset({"id"}), target="things")
    batch = Batch.of(
        "t",
        [{"id": 1}, {"id": 2, "more": "x"}, None, {"id": 3}],
        value_schema=[known, more, None, known],
        origin=SinkOrigin(["t"] * 4, [0] * 4, list(range(4)), ["CreateTime"] * 4),
    )
    failures = []
    errors = ErrorHandler(
        ErrorSettings(tolerate=True), Metrics(lambda _: None, ()), lambda _: False, (failures.append,)
    )
    made = RowMaker(plan).rows(batch, errors)
    assert made is not None
    assert made.column("id").to_pylist() == [1, 3]
    assert [str(each.error) for each in failures] == [
        "more: not among the columns of things, and schema.drift=dead-letter"
    ]


def test_a_record_that_contains_itself_is_refused_alone():
    again = RecursiveSchema(optional=True)
    node = struct(("id", INT64), ("next", again))
    again.close(node)
    flat = struct(("id", INT64))
    batch = Batch.of(
        "t",
        [{"id": 1}, {"id": 2, "next": {"id": 3}}, {"id": 4}],
        value_schema=[flat, node, flat],
        origin=SinkOrigin(["t"] * 3, [0] * 3, [0, 1, 2], ["CreateTime"] * 3),
    )
    failures = []
    errors = ErrorHandler(
        ErrorSettings(tolerate=True), Metrics(lambda _: None, ()), lambda _: False, (failures.append,)
    )
    made = RowMaker(RowPlan(columns_of(flat, dict).json())).rows(batch, errors)
    assert made is not None
    assert made.column("id").to_pylist() == [1, 4]
    (failure,) = failures
    assert str(failure.error).startswith("Column next would contain itself (struct), which no type of a table can")
