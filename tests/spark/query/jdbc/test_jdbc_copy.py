"""Rows that PostgreSQL is given by COPY: the same as by INSERT, and what COPY can't do is left to INSERT."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn
from penstock.spark.query.safe import Safe
from support.postgres import Postgres
from support.spark.transactions import FAR, ID, NAME, Bench

pytestmark = pytest.mark.integration

TYPES = {"id": "int4", "name": "text"}
HOW = "how TEXT DEFAULT left(current_query(), 6)"
"""The statement that a row came by."""


@pytest.fixture
def bench(java: Any, entry: Any, postgres: Postgres) -> Iterator[Bench]:
    with Safe("127.0.0.1") as safe:
        yield Bench(java, entry, postgres.url, safe)


def rows(*ids: int) -> list[tuple[int, list[Any]]]:
    return [(0, [id, f"n{id}"]) for id in ids]


def test_a_row_that_is_refused_is_found_alone(bench: Bench, postgres: Postgres) -> None:
    postgres.execute(f"CREATE TABLE copied (id INT CHECK (id <> 5), name TEXT, {HOW})")
    *done, refused = bench.write(rows(*range(8)), shapes=[RowShape("copied", (ID, NAME))], types=TYPES)
    assert done == [f"done\tt\t0\t{FAR + 8}", "rows\t7"]
    assert refused.split("\t")[:4] == ["refused", "t", "0", str(FAR + 5)]
    # What the statement of a single row says, not one that speaks of lines.
    assert 'new row for relation "copied" violates check constraint' in refused
    assert "COPY" not in refused
    # The halves without it are copied; a single row is inserted.
    by = {int(id): how for id, how in postgres.rows("SELECT id, how FROM copied")}
    assert [by[id] for id in (0, 1, 2, 3, 4, 6, 7)] == ['COPY "'] * 4 + ["INSERT"] + ['COPY "'] * 2


def test_so_many_rows_are_sent_at_a_time_as_the_batch_size_says(bench: Bench, postgres: Postgres) -> None:
    postgres.execute(
        "CREATE TABLE counted (id INT, name TEXT); CREATE TABLE sent (n INT);"
        "CREATE FUNCTION count_sent() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO sent SELECT count(*) FROM added; RETURN NULL; END $$;"
        "CREATE TRIGGER count_sent AFTER INSERT ON counted REFERENCING NEW TABLE AS added "
        "FOR EACH STATEMENT EXECUTE FUNCTION count_sent()"
    )
    bench.write(rows(*range(7)), shapes=[RowShape("counted", (ID, NAME))], types=TYPES, size=3)
    assert postgres.rows("SELECT n FROM sent") == [["3"], ["3"], ["1"]]


def test_a_row_that_is_changed_twice_in_a_batch_that_the_driver_sends_as_one_insert(
    java: Any, entry: Any, postgres: Postgres
) -> None:
    postgres.execute("CREATE TABLE twice (id INT PRIMARY KEY, name TEXT)")
    its = RowShape("twice", (ID, NAME))
    with Safe("127.0.0.1") as safe:
        bench = Bench(java, entry, f"{postgres.url}&reWriteBatchedInserts=true", safe)
        bench.write([(0, [i % 3, f"n{i}"]) for i in range(9)], "upsert", [its])
        assert bench.rows("twice") == [("0", "n6"), ("1", "n7"), ("2", "n8")]


@pytest.mark.parametrize("state", ["0A000", "57014"])
def test_where_copy_is_impossible_or_takes_too_long_rows_are_inserted(
    bench: Bench, postgres: Postgres, state: str
) -> None:
    table = f"forbidden_{state.lower()}"
    postgres.execute(
        f"CREATE TABLE {table} (id INT, name TEXT, {HOW});"
        f"CREATE FUNCTION forbid_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF current_query() LIKE 'COPY%' THEN RAISE 'no' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$;"
        f"CREATE TRIGGER forbid BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION forbid_{table}()"
    )
    done = bench.write(rows(1, 2, 3), shapes=[RowShape(table, (ID, NAME))], types=TYPES)
    assert done == [f"done\tt\t0\t{FAR + 3}", "rows\t3"]
    assert postgres.rows(f"SELECT how, count(*) FROM {table} GROUP BY how") == [["INSERT", "3"]]


def test_the_calendar_of_the_machine_does_not_count(bench: Bench, java: Any, postgres: Postgres) -> None:
    postgres.execute(f"CREATE TABLE dated (at TIMESTAMP, day DATE, {HOW})")
    columns = (
        SinkColumn("at", ColumnKind.TIMESTAMP, RecordPart.VALUE, "at"),
        SinkColumn("day", ColumnKind.DATE, RecordPart.VALUE, "day"),
    )
    locale = java.java.util.Locale
    before = locale.getDefault()
    locale.setDefault(locale.forLanguageTag("th-TH"))  # whose calendar is Buddhist
    try:
        types = {"at": "timestamp", "day": "date"}
        bench.write([(0, [FAR, 0])] * 2, shapes=[RowShape("dated", columns)], types=types)
    finally:
        locale.setDefault(before)
    assert postgres.rows("SELECT * FROM dated") == [["2004-11-03 19:53:47.776", "1970-01-01", 'COPY "']] * 2


def test_columns_that_copy_would_fill_otherwise_are_not_named(bench: Bench, postgres: Postgres) -> None:
    postgres.execute(
        "CREATE TABLE plain (id INT, name VARCHAR(5), gone INT); ALTER TABLE plain DROP gone;"
        "CREATE TABLE numbered (id INT GENERATED ALWAYS AS IDENTITY, name TEXT);"
        "CREATE TABLE ruled (id INT); CREATE RULE nowhere AS ON INSERT TO ruled DO INSTEAD NOTHING;"
        "CREATE VIEW seen AS SELECT * FROM plain"
    )

    def types(table: str) -> dict[str, str]:
        name = bench.dialect.table(bench.dialect.table_name(table))
        found = list(bench.database.values(bench.dialect.column_types, bench.list([name])))
        return dict(zip(found[::2], found[1::2], strict=True))

    assert types("plain") == types("public.plain") == {"id": "int4", "name": "varchar"}
    assert types("numbered") == {"name": "text"}
    assert types("ruled") == types("seen") == types("nothing") == {}


EDGES: dict[ColumnKind, list[Any]] = {
    ColumnKind.INT32: [0, -(2**31), 2**31 - 1],
    ColumnKind.INT64: [-(2**63), 2**63 - 1, FAR],
    ColumnKind.FLOAT64: [0.1, -0.0, 1e300, 5e-324, float("nan"), float("inf"), float("-inf")],
    ColumnKind.BOOLEAN: [True, False],
    ColumnKind.STRING: ["", "\\N", "\\.", "a\tb\nc\rd\\te", "NULL", "ü€😀", "'\"", " a ", "\x01\x7f\x0b"],
    ColumnKind.BYTES: [b"", b"\x00\xff\\", bytes(range(256))],
    ColumnKind.DECIMAL: ["0", "-1234.50", "12345678901234567890123456789012345678901234.50"],
    # 1582 is where Java's calendar changes; before the year 1 there are others.
    ColumnKind.DATE: [0, -1, 20000, -141427, -141428, -719163, -730000, 2932896],
    ColumnKind.TIME: [0, 3_723_004, 86_399_999],
    ColumnKind.TIMESTAMP: [
        FAR,
        -FAR,
        1_700_000_000_123,
        -12_219_292_800_001,
        -62_135_596_800_000,
        -63_000_000_000_000,
        253_402_300_799_999,
    ],
}
NAMES = {
    ColumnKind.INT32: "int4",
    ColumnKind.INT64: "int8",
    ColumnKind.FLOAT64: "float8",
    ColumnKind.BOOLEAN: "bool",
    ColumnKind.STRING: "text",
    ColumnKind.BYTES: "bytea",
    ColumnKind.DECIMAL: "numeric",
    ColumnKind.DATE: "date",
    ColumnKind.TIME: "time",
    ColumnKind.TIMESTAMP: "timestamp",
}


UUIDS = [f"b9a1f2c0-0000-4000-8000-00000000000{i}" for i in range(4)]


@pytest.mark.parametrize("copied", [True, False])
def test_texts_in_columns_of_uuid_and_json(bench: Bench, postgres: Postgres, copied: bool) -> None:
    table = f"documents_{copied}".lower()
    postgres.execute(f"CREATE TABLE {table} (id UUID PRIMARY KEY, plain JSON, binary_ JSONB, {HOW})")
    id = SinkColumn("ID", ColumnKind.STRING, RecordPart.KEY, "id", key=True)
    docs = (
        SinkColumn("plain", ColumnKind.STRING, RecordPart.VALUE, "p"),
        SinkColumn("binary_", ColumnKind.STRING, RecordPart.VALUE, "b", optional=True),
    )
    shape, types = RowShape(table, (id, *docs)), {"id": "uuid", "plain": "json", "binary_": "jsonb"}

    def row(i: int, text: str | None) -> tuple[int, list[Any]]:
        return 0, [UUIDS[i], '{"a":  "ü\\n"}', text]

    given = [row(0, "[1]"), row(1, None), row(2, "no json"), row(3, '"a"')]
    *_, refused = bench.write(given, shapes=[shape], types=types if copied else None)
    assert f"\t{FAR + 2}\t" in refused
    assert "invalid input syntax for type json" in refused
    bench.write([row(1, "{}")], "upsert", [shape])
    bench.write([row(3, "[3]")], "update", [shape])
    bench.write([(0, [UUIDS[0]])], "upsert", [RowShape(table, (id,), delete=True)])
    found = postgres.rows(f"SELECT id, plain, binary_ FROM {table} ORDER BY id")
    assert found == [[UUIDS[1], '{"a":  "ü\\n"}', "{}"], [UUIDS[3], '{"a":  "ü\\n"}', "[3]"]]


def test_times_in_micros_and_nanoseconds(bench: Bench, postgres: Postgres) -> None:
    columns = (
        SinkColumn("a", ColumnKind.MICROS, RecordPart.VALUE, "a", optional=True),
        SinkColumn("b", ColumnKind.NANOS, RecordPart.VALUE, "b"),
    )
    shape = RowShape("moments", columns)
    bench.create(shape)
    rows = [["-1", "1700000000123456000"], ["1700000000123456", "-1000"], [None, "20000000000000000000"]]
    lost = [None, "1700000000123456789"]
    types = {"a": "timestamp", "b": "timestamp"}
    *_, refused = bench.write([(0, row) for row in [*rows, lost]], shapes=[shape], types=types, zone="GMT+01:00")
    assert "column `b`: 2023-11-14T22:13:20.123456789Z has more digits than the column, which keeps 6" in refused
    assert postgres.rows("SELECT a, b FROM moments ORDER BY a") == [
        ["1970-01-01 00:59:59.999999", "2023-11-14 23:13:20.123456"],
        ["2023-11-14 23:13:20.123456", "1970-01-01 00:59:59.999999"],
        ["", "2603-10-11 12:33:20"],
    ]


def test_a_text_with_a_zero_is_refused_alone(bench: Bench, postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE zeros (id INT, name TEXT)")
    given = [(0, [i, "a\x00b" if i == 1 else "ab"]) for i in range(4)]
    done, written, refused = bench.write(given, shapes=[RowShape("zeros", (ID, NAME))], types=TYPES)
    assert (done, written) == (f"done\tt\t0\t{FAR + 4}", "rows\t3")
    assert refused.startswith(f"refused\tt\t0\t{FAR + 1}\t")
    assert "0x00" in refused


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_copied_rows_are_those_that_are_inserted(bench: Bench, postgres: Postgres, zone: str) -> None:
    columns = tuple(SinkColumn(kind.lower(), kind, RecordPart.VALUE, kind, optional=True) for kind in EDGES)
    shuffled = random.Random(zone)
    given = [[i, *(shuffled.choice([None, *EDGES[kind]]) for kind in EDGES)] for i in range(300)]
    tables = [f"{how}_{zone.rpartition('/')[2].lower()}" for how in ("inserted", "taken")]
    known = {"id": "int4", **{kind.lower(): NAMES[kind] for kind in EDGES}}
    for table, types in zip(tables, (None, known), strict=True):
        shape = RowShape(table, (ID, *columns))
        bench.create(shape)
        postgres.execute(f"ALTER TABLE {table} ADD {HOW}")
        bench.write([(0, values) for values in given], shapes=[shape], types=types, zone=zone)
    names = ", ".join(kind.lower() for kind in EDGES)
    inserted, taken = (postgres.rows(f"SELECT id, {names} FROM {table} ORDER BY id") for table in tables)
    assert len(inserted) >= 300
    assert taken == inserted
    how = [postgres.rows(f"SELECT DISTINCT how FROM {table}") for table in tables]
    assert how == [[["INSERT"]], [['COPY "']]]
