"""Transactions of a Spark partition in a database: on Derby and SQLite, in a JVM with Spark's classes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn
from penstock.connectors.jdbc.statements import LedgerStatements
from penstock.spark.query.safe import Safe
from support.spark.transactions import FAR, ID, NAME, THINGS, Bench

pytestmark = pytest.mark.integration


@pytest.fixture(params=["derby", "sqlite"])
def bench(request: pytest.FixtureRequest, java: Any, entry: Any, tmp_path: Path) -> Iterator[Bench]:
    url = f"jdbc:derby:{tmp_path}/db;create=true" if request.param == "derby" else f"jdbc:sqlite:{tmp_path}/db"
    with Safe("127.0.0.1") as safe:
        yield Bench(java, entry, url, safe)


def things(*ids: int) -> list[tuple[int, list[Any]]]:
    return [(0, [id, f"n{i}"]) for i, id in enumerate(ids)]


def test_a_row_that_is_refused_is_found_alone(bench: Bench) -> None:
    bench.create(THINGS)
    done, written, refused = bench.write(things(1, 2, 1, 3, 4))
    assert (done, written) == (f"done\tt\t0\t{FAR + 5}", "rows\t4")
    assert refused.split("\t")[:4] == ["refused", "t", "0", str(FAR + 2)]
    assert [row[0] for row in bench.rows()] == ["1", "2", "3", "4"]


def test_nothing_is_written_before_refused_rows_are_known_if_the_whole_counts(bench: Bench) -> None:
    bench.create(THINGS)
    (refused,) = bench.write(things(1, 1, 2), whole=True)
    assert refused.startswith(f"refused\tt\t0\t{FAR + 1}\t")
    assert bench.rows() == []
    assert bench.write(things(1, 1, 2), whole=True, known=[1]) == [f"done\tt\t0\t{FAR + 3}", "rows\t2"]
    assert len(bench.rows()) == 2


def test_a_batch_is_written_once(bench: Bench) -> None:
    keyless = RowShape("things", (NAME,))
    bench.create(keyless)
    bench.database.execute(LedgerStatements.of(bench.dialect, "penstock_batches").create)
    rows = [(0, ["a"]), (0, ["b"])]
    bench.write(rows, shapes=[keyless], batch=7)
    # Repeated, with one record more than in the first attempt.
    assert bench.write([*rows, (0, ["c"])], shapes=[keyless], batch=7) == [f"done\tt\t0\t{FAR + 3}", "rows\t1"]
    assert bench.write([(0, ["d"])], shapes=[keyless], batch=8, first=3) == [f"done\tt\t0\t{FAR + 4}", "rows\t1"]
    assert bench.rows() == [("a",), ("b",), ("c",), ("d",)]
    with pytest.raises(Py4JJavaError, match="Another run of this connector has written batch 8, this one is at 7"):
        bench.write(rows, shapes=[keyless], batch=7)


def test_nothing_is_committed_once_another_run_may_have_begun(java: Any, entry: Any, tmp_path: Path) -> None:
    leased = True
    with Safe("127.0.0.1", lambda: leased) as safe:
        bench = Bench(java, entry, f"jdbc:sqlite:{tmp_path}/db", safe)
        bench.create(THINGS)
        bench.write(things(1))
        leased = False
        with pytest.raises(Py4JJavaError, match="Not committed, since another run of this task may have begun"):
            bench.write(things(2))
    assert [row[0] for row in bench.rows()] == ["1"]


def test_rows_are_changed_and_deleted_in_order(bench: Bench) -> None:
    bench.create(THINGS)
    gone = RowShape("things", (ID,), delete=True)
    rows = [(0, [1, "a"]), (0, [2, "b"]), (0, [1, "c"]), (1, [2]), (0, [3, "d"]), (0, [2, "e"]), (1, [3])]
    bench.write(rows, "upsert", [THINGS, gone])
    assert bench.rows() == [("1", "c"), ("2", "e")]
    bench.write([(0, [2, "f"]), (0, [9, "x"])], "update")
    assert bench.rows() == [("1", "c"), ("2", "f")]
    bench.write([(0, [1]), (0, [5])], "upsert", [RowShape("things", (ID,))])
    assert bench.rows() == [("1", "c"), ("2", "f"), ("5", None)]


VALUES: dict[ColumnKind, Any] = {
    ColumnKind.BOOLEAN: True,
    ColumnKind.STRING: "ü'\"",
    ColumnKind.BYTES: b"\x00\xff",
    ColumnKind.DECIMAL: "-1234.50",
    ColumnKind.DATE: 20000,
    ColumnKind.TIME: 3_723_000,
    ColumnKind.TIMESTAMP: 1_700_000_000_123,
    ColumnKind.MICROS: "1700000000123000",
    ColumnKind.NANOS: "1700000000123000000",
    ColumnKind.FLOAT32: 1.5,
    ColumnKind.FLOAT64: 0.1,
}


def test_every_type_as_a_value_and_as_null(bench: Bench) -> None:
    # py4j has no bytes, shorts and floats, but Spark has.
    kinds = [
        kind
        for kind in ColumnKind
        if kind not in (ColumnKind.INT8, ColumnKind.INT16, ColumnKind.INT64, ColumnKind.TIMESTAMP, ColumnKind.FLOAT32)
    ]
    columns = tuple(SinkColumn(kind.lower(), kind, RecordPart.VALUE, kind, optional=True, scale=2) for kind in kinds)
    shape = RowShape("all", (ID, *columns))
    bench.create(shape)
    given = [[1, *(VALUES.get(kind, 7) for kind in kinds)], [2, *(None for _ in kinds)]]
    done = bench.write([(0, values) for values in given], shapes=[shape])
    assert done == [f"done\tt\t0\t{FAR + 2}", "rows\t2"]
    full, empty = bench.rows("all")
    assert empty == ("2", *(None for _ in kinds))
    found = dict(zip(kinds, full[1:], strict=True))
    assert found[ColumnKind.STRING] == "ü'\""
    assert float(found[ColumnKind.DECIMAL] or 0) == -1234.5
    assert found[ColumnKind.BOOLEAN] == "1"
    assert found[ColumnKind.INT32] == "7"
    assert float(found[ColumnKind.FLOAT64] or 0) == 0.1


def test_connection_attempts_are_spaced_by_the_backoff(java: Any, entry: Any, tmp_path: Path) -> None:
    def seconds(url: str, **settings: str) -> float:
        begun = time.monotonic()
        with pytest.raises(Py4JJavaError, match="SQLException"), Safe("127.0.0.1") as safe:
            Bench(java, entry, url, safe, **{f"connection.{name}": value for name, value in settings.items()})
        return time.monotonic() - begun

    missing = f"jdbc:derby:{tmp_path}/none"
    assert seconds(missing, attempts="3", **{"backoff.ms": "700"}) > 1.4
    # After the last one it does not.
    seconds(missing, attempts="1", **{"backoff.ms": "1000000000"})


def test_where_no_driver_is_named_one_that_accepts_the_url_is_taken(java: Any, entry: Any, tmp_path: Path) -> None:
    with Safe("127.0.0.1") as safe:
        found = Bench(java, entry, f"jdbc:sqlite:{tmp_path}/db", safe, driver="")
        found.create(THINGS)
        assert found.rows() == []
        dialect = {"dialect.name": "SqliteDatabaseDialect"}
        with pytest.raises(Py4JJavaError, match="penstock lacks driver"):
            Bench(java, entry, "jdbc:other:db", safe, driver="", **dialect)


def test_rows_of_a_database_whose_dialect_is_not_known(java: Any, entry: Any, tmp_path: Path) -> None:
    """Any driver that accepts the URL is used."""
    with Safe("127.0.0.1") as safe:
        generic = {"dialect.name": "GenericDatabaseDialect"}
        bench = Bench(java, entry, f"jdbc:sqlite:{tmp_path}/db", safe, driver="", **generic)
        flag = SinkColumn("flag", ColumnKind.BOOLEAN, RecordPart.VALUE, "flag", optional=True)
        shape = RowShape("things", (ID, NAME, flag))
        bench.database.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, flag BOOLEAN)")
        bench.write([(0, [1, "a", True]), (0, [2, "b", None]), (0, [3, "c", False])], shapes=[shape])
        bench.write([(0, [2, "z", True])], "update", [shape])
        bench.write([(0, [1])], "insert", [RowShape("things", (ID,), delete=True)])
        assert bench.rows() == [("2", "z", "1"), ("3", "c", "0")]


def test_missing_columns_are_added_to_the_table(bench: Bench) -> None:
    bench.create(THINGS)
    more = [
        SinkColumn("price", ColumnKind.FLOAT64, RecordPart.VALUE, "price", optional=True),
        SinkColumn("n", ColumnKind.INT32, RecordPart.VALUE, "n", default="4"),
    ]
    for sql in bench.dialect.alter(bench.dialect.table_name("things"), more):
        bench.database.execute(sql)
    assert list(bench.database.columns("SELECT * FROM " + bench.dialect.quoted("things")))[::3] == [
        "id",
        "name",
        "price",
        "n",
    ]
