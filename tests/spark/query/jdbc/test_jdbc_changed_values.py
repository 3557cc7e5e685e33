"""Values that a column of a table would change without an error are refused: databases round digits, cut times of day
and spaces, and write integers as floating-point numbers that are not these.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn
from penstock.spark.query.safe import Safe
from soak.drawing import values
from spark.query.jdbc.foreign import Foreign, OfMariaDb, OfPostgres, OfSqlite
from support.kafka.client import Kafka
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import ID as RECORD_ID
from support.spark.jdbc import JdbcSink, field
from support.spark.transactions import FAR, Bench

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ID = SinkColumn("id", ColumnKind.INT32, RecordPart.KEY, "id")
NOON, MIDNIGHT = 1_700_049_600_000, 1_700_006_400_000
"""12:00 and 0:00 in UTC of two days, in milliseconds since 1970."""
CLASSES = {ColumnKind.TIMESTAMP: "INT64", ColumnKind.DECIMAL: "STRING"}
"""Java's classes of values, if they are not named as the kind."""


@dataclass(frozen=True)
class Case:
    """A column, values that it holds, and values that it would change. ``copied``: PostgreSQL's name of the type for
    COPY.
    """

    database: str
    type: str
    kind: ColumnKind
    held: list[Any]
    changed: list[Any]
    message: str
    copied: str = ""

    def __str__(self) -> str:
        return f"{self.database}-{self.kind}-{self.type}{'-copied' if self.copied else ''}"

    @property
    def shape(self) -> RowShape:
        return RowShape("v", (ID, SinkColumn("v", self.kind, RecordPart.VALUE, "v", optional=True)))


DIGITS, WHOLE, MULTIPLES = "keeps 2 digits after the point", "keeps whole numbers", "keeps multiples of 100"
DAYS, SECONDS = "has a time of day, and the column has days only", "after the second"
SINGLE, DOUBLE = "is no floating-point number of 32 bits", "more digits than a floating-point number of 64 bits"
SPACES, MOMENT = "more than 3 characters, and spaces at its end", "has a day, and the column has times of day only"
K = ColumnKind
CASES = [
    Case("postgresql", "numeric(10, 2)", K.DECIMAL, ["1.500", "-0.01", "0"], ["1.005", "0.001"], DIGITS),
    Case("postgresql", "numeric(10, 2)", K.DECIMAL, ["1.500", "-0.01", "0"], ["1.005"], DIGITS, copied="numeric"),
    Case("postgresql", "numeric(10, 2)", K.FLOAT64, [0.1, 1e7, float("nan")], [0.125, 0.1 + 0.2], DIGITS),
    Case("postgresql", "numeric(10, 2)", K.FLOAT32, [0.5, 16777216.0], [0.125], DIGITS),
    Case("postgresql", "numeric(3, -2)", K.INT32, [0, 12300], [12345], MULTIPLES),
    Case("postgresql", "money", K.DECIMAL, ["1.50"], ["1.005"], DIGITS),
    Case("postgresql", "int", K.DECIMAL, ["12.00"], ["12.5"], WHOLE),
    Case("postgresql", "bigint", K.FLOAT64, [12.0], [12.5], WHOLE),
    Case("postgresql", "real", K.INT32, [2**24], [2**24 + 1], SINGLE),
    Case("postgresql", "real", K.DECIMAL, ["0.1", "16777216"], ["16777217", "0.10000000000000001"], ""),
    Case("postgresql", "float8", K.INT64, [2**53, -(2**63)], [2**53 + 1, 2**63 - 1], DOUBLE),
    Case("postgresql", "float8", K.DECIMAL, ["0.1"], ["0.10000000000000001"], DOUBLE),
    Case("postgresql", "date", K.TIMESTAMP, [MIDNIGHT], [NOON, MIDNIGHT + 1], DAYS),
    Case("postgresql", "timestamp(0)", K.TIMESTAMP, [NOON], [NOON + 1], SECONDS),
    Case("postgresql", "timestamp(0)", K.TIMESTAMP, [NOON], [NOON + 500], SECONDS, copied="timestamp"),
    Case("postgresql", "timestamptz(1)", K.MICROS, [f"{NOON}000", f"{NOON + 100}000"], [f"{NOON + 10}000"], SECONDS),
    Case("postgresql", "timestamp", K.NANOS, [f"{NOON}000000", f"{NOON}001000"], [f"{NOON}000001"], SECONDS),
    Case("postgresql", "time(0)", K.TIME, [3_723_000], [3_723_004], SECONDS),
    Case("postgresql", "time(0)", K.TIME, [3_723_000], [3_723_004], SECONDS, copied="time"),
    Case("postgresql", "time", K.TIMESTAMP, [], [NOON], MOMENT),
    Case("postgresql", "varchar(3)", K.STRING, ["abc", "ab ", "😀😀😀"], ["abc ", "ab  "], SPACES),
    Case("postgresql", "varchar(3)", K.STRING, ["abc"], ["abc "], SPACES, copied="varchar"),
    Case("mariadb", "DECIMAL(10, 2)", K.DECIMAL, ["1.500"], ["1.005"], DIGITS),
    Case("mariadb", "DECIMAL(10, 2)", K.FLOAT64, [0.1, 1e7], [0.125], DIGITS),
    Case("mariadb", "INT", K.FLOAT64, [12.0], [12.5], WHOLE),
    Case("mariadb", "TINYINT(1)", K.FLOAT32, [1.0], [0.5], WHOLE),
    Case("mariadb", "MEDIUMINT UNSIGNED", K.DECIMAL, ["12.0"], ["12.5"], WHOLE),
    Case("mariadb", "FLOAT", K.INT64, [2**24], [2**24 + 1], SINGLE),
    Case("mariadb", "FLOAT", K.FLOAT64, [0.5], [1e-300], SINGLE),
    Case("mariadb", "DOUBLE", K.INT64, [2**53], [2**53 + 1], DOUBLE),
    Case("mariadb", "DATE", K.TIMESTAMP, [MIDNIGHT], [NOON], DAYS),
    Case("mariadb", "DATETIME", K.TIMESTAMP, [NOON], [NOON + 1], SECONDS),
    Case("mariadb", "TIMESTAMP(3) NULL", K.MICROS, [f"{NOON}000"], [f"{NOON}001"], SECONDS),
    Case("mariadb", "TIME", K.TIME, [3_723_000], [3_723_004], SECONDS),
    Case("mariadb", "TIME", K.TIMESTAMP, [], [NOON], MOMENT),
    Case("mariadb", "VARCHAR(3)", K.STRING, ["abc", "ab "], ["abc "], SPACES),
    Case("sqlite", "REAL", K.INT64, [2**53], [2**53 + 1], DOUBLE),
    Case("sqlite", "double precision", K.INT64, [2**53], [2**53 + 1], DOUBLE),
    Case("sqlite", "TIMESTAMP", K.MICROS, [f"{NOON}000"], [f"{NOON}001"], SECONDS),
    Case("derby", "DECIMAL(10, 2)", K.DECIMAL, ["1.500"], ["1.005"], DIGITS),
    Case("derby", "INT", K.FLOAT64, [12.0], [12.5], WHOLE),
    Case("derby", "TIME", K.TIME, [3_723_000], [3_723_004], SECONDS),
]  # fmt: skip


@pytest.fixture(scope="module")
def safe() -> Iterator[Safe]:
    with Safe("127.0.0.1") as found:
        yield found


def bench_of(database: str, request: pytest.FixtureRequest, folder: Path) -> tuple[Bench, Foreign | None]:
    java, entry, safe = map(request.getfixturevalue, ("java", "entry", "safe"))
    foreign: Foreign | None = None
    match database:
        case "postgresql":
            foreign = OfPostgres(request.getfixturevalue("postgres"))
        case "mariadb":
            foreign = OfMariaDb(request.getfixturevalue("mariadb"))
        case "sqlite":
            foreign = OfSqlite(folder / "file")
    url = f"jdbc:derby:{folder}/db;create=true" if foreign is None else foreign.url
    return Bench(java, entry, url, safe), foreign


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_value_that_its_column_would_change_is_refused_alone(
    request: pytest.FixtureRequest, tmp_path: Path, case: Case
) -> None:
    bench, foreign = bench_of(case.database, request, tmp_path)
    quoted = bench.dialect.quoted
    if foreign is not None:
        foreign.execute('DROP TABLE IF EXISTS "v"')
    bench.database.execute(f"CREATE TABLE {quoted('v')} ({quoted('id')} INT, {quoted('v')} {case.type})")
    given = [*case.held, *case.changed, None]
    rows = [(0, [i, value]) for i, value in enumerate(given)]
    more: dict[str, Any] = {"shapes": [case.shape], "classes": ["INT32", CLASSES.get(case.kind, case.kind.value)]}
    if case.copied:
        more["types"] = {"id": "int4", "v": case.copied}
    done, written, *refused = bench.write(rows, **more)
    assert (done, written) == (f"done\tt\t0\t{FAR + len(given)}", f"rows\t{len(case.held) + 1}")
    assert [line.split("\t")[3] for line in refused] == [str(FAR + i) for i in range(len(case.held), len(given) - 1)]
    for line in refused:
        assert "column `v`: " in line
        assert case.message in line
        assert "penstock.coercion=java" in line
    # As in Java, the database changes them if that is asked for.
    bench.database.execute(f"DELETE FROM {quoted('v')}")
    assert bench.write(rows, **more, exact=False)[:2] == [done, f"rows\t{len(given)}"]


@pytest.mark.parametrize("kind", [K.FLOAT32, K.FLOAT64])
@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
def test_floating_point_numbers_keep_their_digits_in_columns_of_decimals(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, kind: ColumnKind
) -> None:
    bench, foreign = bench_of(database, request, tmp_path)
    assert foreign is not None
    foreign.execute(f'DROP TABLE IF EXISTS "v"; CREATE TABLE "v" (id INT, v {TYPES[database]})')
    shape = RowShape("v", (ID, SinkColumn("v", kind, RecordPart.VALUE, "v", optional=True)))
    width = 32 if kind is K.FLOAT32 else 64
    edge = 2.0**20
    numbers = st.floats(-edge, edge, width=width).map(lambda n: n if abs(n) >= 2**-20 else 0.0)

    def check(given: list[float]) -> None:
        foreign.execute('DELETE FROM "v"')
        report = bench.write([(0, [i, n]) for i, n in enumerate(given)], shapes=[shape], classes=["INT32", kind.value])
        assert report == [f"done\tt\t0\t{FAR + len(given)}", f"rows\t{len(given)}"]
        found = [Decimal(n.decode() if isinstance(n, bytes) else n) for n in foreign.select("v")]
        if kind is K.FLOAT64:
            assert list(map(float, found)) == given
        assert [struct.pack("f", n) for n in found] == [struct.pack("f", n + 0.0) for n in given]

    values(numbers, check)


TYPES = {"postgresql": "numeric", "mariadb": "DECIMAL(65, 30)"}


@pytest.mark.parametrize(("coercion", "found"), [("none", ["0.50", "3.00"]), ("java", ["0.50", "0.13", "3.00"])])
def test_a_row_whose_value_would_be_rounded_is_a_dead_letter_unless_the_database_may_round(
    spark: Hosted, kafka: Kafka, postgres: Postgres, coercion: str, found: list[str]
) -> None:
    table, letters = f"prices_{coercion}", kafka.create_topic()
    postgres.execute(f"CREATE TABLE {table} (id INT, price NUMERIC(6, 2))")
    settings = {
        "table.name.format": table,
        "penstock.coercion": coercion,
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    with JdbcSink(spark, kafka, postgres.url, **settings) as one:
        prices = ((1, 0.5), (2, 0.125), (3, 3.0))
        one.add([RECORD_ID, field("price", "double")], *({"id": id, "price": price} for id, price in prices))
        one.start()
        one.written(3)
    assert postgres.rows(f"SELECT price FROM {table} ORDER BY id") == [[price] for price in found]
    headers = [
        {name.removeprefix("__connect.errors."): (value or b"").decode() for name, value in letter.headers}
        for letter in kafka.read_all(letters)
    ]
    assert [(each["offset"], each["table"], each["column"]) for each in headers] == [("1", table, "price")] * (
        3 - len(found)
    )
