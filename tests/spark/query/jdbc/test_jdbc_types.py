"""Types of databases: a column of each type is what the tables of types say, and values of each pass unchanged between
our Java half and readers of others: psycopg2, MariaDB's client and Python's sqlite3.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn
from penstock.connectors.jdbc.dialects.databases import PostgreSql
from penstock.connectors.jdbc.source.mappings import source_type, types_of
from penstock.spark.query.safe import Safe
from soak.drawing import values
from soak.extremes import (
    BYTES,
    DATES,
    DOUBLES,
    EPOCH,
    MICRO,
    MOMENTS,
    SINGLES,
    TEXT,
    TIMES,
    decimals,
    moments,
    unsigned_zero,
    whole,
)
from spark.query.jdbc.foreign import Foreign, OfMariaDb, OfPostgres, OfSqlite
from support.postgres import Postgres
from support.spark.transactions import FAR, Bench, TableReader

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@dataclass(frozen=True)
class Case:
    """Values of a type: as Connect's field has them, and the text that a foreign writer gives the database."""

    type: str
    of: SearchStrategy[Any]
    text: Callable[[Any], Any] = str
    field: Callable[[Any], Any] = lambda value: value
    arrays: bool = False
    durations: bool = False

    def __str__(self) -> str:
        return self.type


def iso(value: Any) -> str:
    return str(value.isoformat(" ") if isinstance(value, dt.datetime) else value.isoformat())


def naive(value: dt.datetime) -> str:
    return iso(value.replace(tzinfo=None))


def bits(width: int) -> Callable[[int], str]:
    return lambda number: format(number, f"0{width}b")


POSTGRESQL = [
    Case("smallint", whole(16)),
    Case("integer", whole(32)),
    Case("bigint", whole(64)),
    Case("oid", whole(32, unsigned=True)),
    Case("real", SINGLES, repr),
    Case("float8", DOUBLES, repr),
    Case("money", decimals(15, 2), field=float),
    Case("numeric", decimals(60, 20)),
    Case("numeric(12, 3)", decimals(12, 3)),
    Case("numeric(12)", decimals(12, 0)),
    Case("boolean", st.booleans()),
    Case("bit", st.booleans(), lambda bit: str(int(bit))),
    Case("bit(8)", st.integers(0, 255), bits(8), lambda number: number - 256 if number > 127 else number),
    Case("bit(9)", st.integers(0, 511), bits(9), lambda number: bits(9)(number).encode()),
    Case("text", TEXT),
    Case("varchar", TEXT),
    Case("char(5)", st.text("aZß漢😀 ", max_size=5), field=lambda text: text.ljust(5)),
    Case("json", st.recursive(st.integers() | TEXT, st.lists, max_leaves=5).map(json.dumps)),
    Case("uuid", st.uuids(), field=str),
    Case("bytea", BYTES, lambda data: f"\\x{data.hex()}"),
    Case("date", DATES, iso),
    Case("time", TIMES, iso),
    Case(
        "timetz",
        st.tuples(TIMES, st.integers(-15, 15)),
        lambda both: f"{both[0].isoformat()}{both[1]:+03}",
        lambda both: (dt.datetime.combine(dt.date(2000, 1, 1), both[0]) - dt.timedelta(hours=both[1])).time(),
    ),
    Case("timestamp", MOMENTS, naive),
    Case("timestamptz", MOMENTS, iso),
    Case("time", st.integers(0, 86_400), lambda at: str(dt.timedelta(seconds=at)).replace("1 day, 0:", "24:"),
         lambda at: "24:00:00" if at == 86_400 else str(dt.timedelta(seconds=at)).zfill(8), durations=True),
    Case("int4[]", st.lists(st.none() | whole(32), max_size=5), lambda items: items, arrays=True),
    Case("int2[]", st.lists(st.none() | whole(16), max_size=5), lambda items: items, arrays=True),
    Case("int8[]", st.lists(st.none() | whole(64), max_size=5), lambda items: items, arrays=True),
    Case("float8[]", st.lists(st.none() | DOUBLES, max_size=5), lambda items: items, arrays=True),
    Case("bool[]", st.lists(st.none() | st.booleans(), max_size=5), lambda items: items, arrays=True),
    Case("text[]", st.lists(st.none() | TEXT, max_size=5), lambda items: items, arrays=True),
]  # fmt: skip


def span(seconds: int) -> str:
    minutes, second = divmod(abs(seconds), 60)
    return f"{'-' if seconds < 0 else ''}{minutes // 60:02}:{minutes % 60:02}:{second:02}"


MARIADB = [
    Case("TINYINT", whole(8)),
    Case("TINYINT UNSIGNED", whole(8, unsigned=True)),
    Case("BOOLEAN", st.booleans(), lambda flag: str(int(flag))),
    Case("BIT(1)", st.booleans(), lambda flag: str(int(flag))),
    Case("SMALLINT", whole(16)),
    Case("SMALLINT UNSIGNED", whole(16, unsigned=True)),
    Case("MEDIUMINT", whole(24)),
    Case("INT", whole(32)),
    Case("INT UNSIGNED", whole(32, unsigned=True)),
    Case("BIGINT", whole(64)),
    Case("BIGINT UNSIGNED", whole(63, unsigned=True)),
    Case("BIT(7)", st.integers(0, 127)),
    Case("BIT(64)", st.integers(0, 127)),
    Case(
        "FLOAT", unsigned_zero(st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False)), repr
    ),
    Case("DOUBLE", unsigned_zero(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)), repr),
    Case("DECIMAL(65, 30)", decimals(65, 30), lambda number: format(number, "f")),
    Case("TEXT", TEXT),
    Case("VARCHAR(40)", TEXT),
    Case("BLOB", BYTES, lambda data: data),
    Case("VARBINARY(40)", BYTES, lambda data: data),
    Case("UUID", st.uuids(version=4), field=str),  # of others MariaDB itself refuses some
    Case("DATE", DATES, iso),
    Case("YEAR", st.integers(1901, 2155), field=lambda year: dt.date(year, 1, 1)),
    Case("TIME(3)", TIMES, iso),
    Case("TIME", st.integers(-3_020_399, 3_020_399), span, span, durations=True),
    Case("DATETIME(6)", MOMENTS, naive),
    Case(
        "TIMESTAMP(6) NULL",
        moments(dt.datetime(1970, 1, 2, tzinfo=dt.UTC), dt.datetime(2038, 1, 18, tzinfo=dt.UTC)),
        naive,
    ),
]
SQLITE = [
    Case("INTEGER", whole(64), lambda number: number),
    Case("SMALLINT", whole(32), lambda number: number),
    Case("BOOLEAN", st.booleans(), int),
    Case("REAL", unsigned_zero(DOUBLES), lambda number: number),
    Case("TEXT", TEXT),
    Case("BLOB", BYTES, lambda data: data),
    Case("DATE", DATES, iso),
    Case("TIMESTAMP", MOMENTS, naive),
    Case("DECIMAL(10, 2)", decimals(10, 2), float),
]


@pytest.fixture(scope="module")
def safe() -> Iterator[Safe]:
    with Safe("127.0.0.1") as found:
        yield found


@pytest.fixture(scope="module", params=["postgresql", "mariadb", "sqlite"])
def foreign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Foreign:
    match request.param:
        case "postgresql":
            return OfPostgres(request.getfixturevalue("postgres"))
        case "mariadb":
            return OfMariaDb(request.getfixturevalue("mariadb"))
    return OfSqlite(tmp_path_factory.mktemp("sqlite") / "db")


@pytest.fixture(scope="module")
def bench(java: Any, entry: Any, foreign: Foreign, safe: Safe) -> Bench:
    return Bench(java, entry, foreign.url, safe)


def test_columns_of_every_type_are_those_of_the_table_of_types(foreign: Foreign, bench: Bench) -> None:
    wrong = []
    declared = [(each, sql) for each in types_of(foreign.dialect) for sql in each.declared]
    assert len(declared) > 15
    for expected, sql in declared:
        foreign.execute(f"DROP TABLE IF EXISTS v; CREATE TABLE v (id INT, v {sql})")
        (column,) = TableReader(bench, "SELECT v FROM v").columns
        found = source_type(foreign.dialect, column.type, column.type_name, column.signed, column.precision)
        if found is not expected:
            wrong.append((sql, column, expected.name, found and found.name))
    assert wrong == []


CASES = {"postgresql": POSTGRESQL, "mariadb": MARIADB, "sqlite": SQLITE}


@pytest.mark.parametrize(
    ("foreign", "case"),
    [pytest.param(kind, case, id=f"{kind}-{case}") for kind, cases in CASES.items() for case in cases],
    indirect=["foreign"],
)
def test_values_of_a_foreign_writer_arrive_unchanged(foreign: Foreign, bench: Bench, case: Case) -> None:
    foreign.execute(f"DROP TABLE IF EXISTS v; CREATE TABLE v (id INT, v {case.type})")

    def check(given: list[Any]) -> None:
        foreign.execute("DELETE FROM v")
        foreign.insert(case.type.removesuffix(" NULL"), [case.text(value) for value in given])
        reader = TableReader(bench, "SELECT id, v FROM v ORDER BY id")
        found = reader.values("v", arrays=case.arrays, durations=case.durations)
        assert found == [case.field(value) for value in given]
        # Zeros have signs.
        assert list(map(str, found)) == list(map(str, map(case.field, given))) or not isinstance(found[0], float)

    values(case.of, check)


def days(value: dt.date) -> int:
    return value.toordinal() - 719_163


def millis(value: dt.datetime) -> int:
    return (value - EPOCH) // dt.timedelta(milliseconds=1)


def millis_of_day(value: dt.time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


MILLI_MOMENTS = MOMENTS.map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
WRITTEN: dict[ColumnKind, tuple[SearchStrategy[Any], Callable[[Any], Any]]] = {
    ColumnKind.INT8: (whole(8), int),
    ColumnKind.INT16: (whole(16), int),
    ColumnKind.INT32: (whole(32), int),
    ColumnKind.INT64: (whole(64), int),
    ColumnKind.FLOAT32: (st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False), float),
    ColumnKind.FLOAT64: (NUMBERS, float),
    ColumnKind.BOOLEAN: (st.booleans(), bool),
    ColumnKind.STRING: (TEXT, str),
    ColumnKind.BYTES: (BYTES, lambda data: data),
    ColumnKind.DECIMAL: (decimals(15, 4), str),
    ColumnKind.DATE: (DATES, days),
    ColumnKind.TIME: (TIMES, millis_of_day),
    ColumnKind.TIMESTAMP: (MILLI_MOMENTS, millis),
    ColumnKind.MICROS: (MOMENTS, lambda at: str((at - EPOCH) // MICRO)),
    ColumnKind.NANOS: (MOMENTS, lambda at: str((at - EPOCH) // MICRO * 1000)),
}
LONGS = (ColumnKind.TIMESTAMP,)
"""Kinds other than INT64 whose values are longs in Java."""
ID = SinkColumn("id", ColumnKind.INT32, RecordPart.KEY, "id")


def seen(dialect: str, kind: ColumnKind, value: Any) -> Any:
    """Return the value that the foreign reader has after a value was written."""
    if dialect == "PostgreSqlDatabaseDialect":
        return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value
    if dialect == "SqliteDatabaseDialect":
        match kind:
            case ColumnKind.DATE:
                return days(value) * 86_400_000
            case ColumnKind.TIME:
                return millis_of_day(value)
            case ColumnKind.TIMESTAMP | ColumnKind.MICROS | ColumnKind.NANOS:
                return millis(value)
            case ColumnKind.DECIMAL:
                return float(value) if value % 1 else int(value)
        return value
    match kind:
        case ColumnKind.BYTES:
            return value
        case ColumnKind.BOOLEAN:
            return str(int(value)).encode()
        case ColumnKind.TIME | ColumnKind.TIMESTAMP:
            text = iso(value.replace(tzinfo=None))
            return (text if "." in text else f"{text}.000000")[:-3].encode()
        case ColumnKind.MICROS | ColumnKind.NANOS:
            text = naive(value)
            return (text if "." in text else f"{text}.000000").encode()
    return str(value).encode()


@pytest.mark.parametrize("kind", WRITTEN)
def test_values_that_are_written_are_those_of_a_foreign_reader(
    foreign: Foreign, bench: Bench, kind: ColumnKind
) -> None:
    of, given_as = WRITTEN[kind]
    if foreign.dialect == "SqliteDatabaseDialect" and kind in (ColumnKind.MICROS, ColumnKind.NANOS):
        of = MILLI_MOMENTS  # others are refused
    table = f"written_{kind.lower()}"
    column = SinkColumn("v", kind, RecordPart.VALUE, "v", optional=True, scale=4 if kind is ColumnKind.DECIMAL else 0)
    shape = RowShape(table, (ID, column))
    foreign.execute(f'DROP TABLE IF EXISTS "{table}"')
    bench.create(shape)

    def check(given: list[Any]) -> None:
        foreign.execute(f'DELETE FROM "{table}"')
        rows = [(0, [i, given_as(value)]) for i, value in enumerate(given)]
        report = bench.write(rows, shapes=[shape], classes=["INT32", "INT64" if kind in LONGS else kind.value])
        assert report == [f"done\tt\t0\t{FAR + len(rows)}", f"rows\t{len(rows)}"]
        found = foreign.singles(table) if kind is ColumnKind.FLOAT32 else foreign.select(table)
        if foreign.dialect == "MySqlDatabaseDialect" and kind in (ColumnKind.FLOAT32, ColumnKind.FLOAT64):
            assert list(map(float, found)) == given
            return
        assert found == [seen(foreign.dialect, kind, value) for value in given]

    values(of, check)


@pytest.mark.parametrize("kind", PostgreSql.item_types)
def test_arrays_that_are_written_are_those_of_a_foreign_reader(
    postgres: Postgres, java: Any, entry: Any, safe: Safe, kind: ColumnKind
) -> None:
    foreign = OfPostgres(postgres)
    bench = Bench(java, entry, foreign.url, safe)
    of, _ = WRITTEN[kind]
    table = f"arrays_{kind.lower()}"
    column = SinkColumn("v", kind, RecordPart.VALUE, "v", optional=True, array=True)
    shape = RowShape(table, (ID, column))
    foreign.execute(f'DROP TABLE IF EXISTS "{table}"')
    foreign.execute(f'CREATE TABLE "{table}" (id INT, v {PostgreSql.item_types[kind]}[])')

    def check(given: list[Any]) -> None:
        foreign.execute(f'DELETE FROM "{table}"')
        rows = [(0, [i, value]) for i, value in enumerate(given)]
        report = bench.write(rows, shapes=[shape], classes=["INT32", kind.value])
        assert report == [f"done\tt\t0\t{FAR + len(rows)}", f"rows\t{len(rows)}"]
        found = foreign.select(table)
        if kind is ColumnKind.FLOAT32:
            found = [[v if v is None else float(np.float32(v)) for v in items] for items in found]
        assert found == given

    try:
        values(st.lists(st.none() | of, max_size=5), check)
    finally:
        foreign.close()


UNFIT = {
    "SqliteDatabaseDialect": (ColumnKind.DECIMAL, "1234567890123.4567", "more than the 15 digits that SQLite keeps"),
    # Of the year 67,562 the driver would send the last 16 bits.
    "MySqlDatabaseDialect": (ColumnKind.MICROS, "2069900000000000000", "is beyond the years 0 to 9999"),
    "PostgreSqlDatabaseDialect": (ColumnKind.STRING, "a\0b", "invalid byte sequence"),
}


def test_a_value_that_no_column_holds_is_refused_alone(foreign: Foreign, bench: Bench) -> None:
    kind, value, message = UNFIT[foreign.dialect]
    shape = RowShape("unfit", (ID, SinkColumn("v", kind, RecordPart.VALUE, "v", optional=True, scale=4)))
    bench.create(shape)
    fine = {ColumnKind.DECIMAL: "12345678901.2345", ColumnKind.MICROS: "1000000", ColumnKind.STRING: "ab"}[kind]
    _, written, refused = bench.write([(0, [1, fine]), (0, [2, value]), (0, [3, None])], shapes=[shape])
    assert written == "rows\t2"
    assert message in refused
    assert kind is ColumnKind.STRING or "column `v`: " in refused
