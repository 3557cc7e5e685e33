"""Queries of a JDBC source to its database before it reads: on PostgreSQL, SQLite and Derby, in a JVM without Spark."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.connectors.jdbc.connection import Connection
from penstock.connectors.jdbc.source.definition import JDBC_SOURCE_CONFIG
from penstock.connectors.jdbc.source.offsets import TablePosition
from penstock.connectors.jdbc.source.settings import JdbcSourceSettings
from penstock.connectors.jdbc.source.source_type import BIGINT
from penstock.connectors.jdbc.source.tables import SourceTable
from penstock.connectors.jdbc.source.types import SourceColumn
from penstock.connectors.jdbc.source.windows import Extent, Select
from penstock.spark.query.jdbc.source.database import Database, DatabaseError, NoTableError
from penstock.spark.query.jdbc.source.task import JdbcSource
from penstock.spark.query.safe import Safe
from support.machine import missing
from support.postgres import Postgres, binaries
from support.spark.queries import SECONDS
from support.spark.transactions import Bench, Looks
from support.tasks.runs import eventually

pytestmark = pytest.mark.integration


@pytest.fixture
def looks(java: Any, entry: Any) -> Iterator[Looks]:
    with Safe("127.0.0.1") as safe:
        yield Looks(java, entry, safe)


SKEWED = """
CREATE TABLE {0} (id BIGINT PRIMARY KEY, at TIMESTAMP NOT NULL, seen TIMESTAMPTZ NOT NULL);
INSERT INTO {0} SELECT i * i * i, TIMESTAMP '2020-01-01' + i * i * i * INTERVAL '1 ms',
TIMESTAMPTZ '2020-01-01' + i * i * i * INTERVAL '1 ms' FROM generate_series(1::bigint, 3000) i;
"""


@pytest.mark.parametrize(
    ("mode", "column"), [("incrementing", "id"), ("timestamp", "at"), ("timestamp", "seen"), ("bulk", "id")]
)
def test_ranges_have_as_many_rows_once_a_table_is_analyzed(
    looks: Looks, postgres: Postgres, mode: str, column: str
) -> None:
    table = f"skewed_{mode}_{column}"
    # The server must not analyze the table by itself meanwhile.
    postgres.execute(SKEWED.format(table) + f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
    settings = {"mode": mode, f"{mode}.column.name": column, "penstock.read.rows": "300", "db.timezone": "Asia/Tokyo"}

    def largest() -> int:
        found = looks.source(postgres.url, SourceTable("postgres", "public", table), **settings).next_read()
        assert found is not None
        assert len(found.selects) == 10
        sizes = [looks.count(postgres.url, select, "Asia/Tokyo") for select in found.selects]
        assert sum(sizes) == 3000
        return max(sizes)

    assert largest() > 1200
    postgres.rows(f"ANALYZE {table}")
    assert largest() < 350


@pytest.mark.parametrize("error", [ConnectError, DatabaseError, NoTableError])
def test_a_catalog_that_is_not_postgresqls_tells_nothing_of_the_values(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """Any error counts: CockroachDB reports a missing feature with SQLSTATE 0A000."""

    def refused(*_: object) -> list[Any]:
        raise error("ERROR: unimplemented")

    config = {"connection.url": "jdbc:postgresql://other/db"}
    connection = Connection.of(config, JDBC_SOURCE_CONFIG.parse({**config, "mode": "bulk", "topic.prefix": ""}))
    java: Any = None
    database, extent = Database(java, connection), Extent(1, 100, 50)
    monkeypatch.setattr(database, "_ask", refused)
    assert database.described(extent, SourceTable("", "public", "t"), SourceColumn("id", BIGINT), "N") == extent


def test_another_table_of_the_same_name_does_not_end_a_task_that_runs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Confluent's connector does not start in that case, but its running tasks go on."""
    nothing: Any = None
    spec: Any = SimpleNamespace(connector="c", task=0)
    task = JdbcSource(spec, nothing, nothing, lambda: None)
    config = {"connection.url": "jdbc:postgresql://db/app", "mode": "bulk", "topic.prefix": ""}
    task._settings = JdbcSourceSettings.of(config)
    task._database = database = Database(nothing, task._settings.connection)
    task._offsets = SimpleNamespace(offset=lambda partition: None)  # type: ignore[assignment]
    there = [SourceTable("", "public", "t"), SourceTable("", "public", "u")]
    monkeypatch.setattr(database, "tables", lambda *_: there)
    task._look_for_tables()
    assert list(task._sources) == there
    there = [there[0], SourceTable("", "backup", "t"), SourceTable("", "public", "new")]
    task._look_for_tables()
    assert list(task._sources) == there[:1]
    assert "Tables public.t and backup.t would be sent to the same topic" in caplog.text
    there = there[:1] + there[2:]
    task._look_for_tables()
    assert list(task._sources) == there


def test_few_new_rows_are_not_counted(looks: Looks, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.execute("CREATE TABLE grown (id INT PRIMARY KEY); INSERT INTO grown SELECT generate_series(-50, 100)")
    asked: list[str] = []
    row = Database.row

    def kept(self: Database, select: Select, kinds: str) -> list[str | None]:
        asked.append(select.sql)
        return row(self, select, kinds)

    monkeypatch.setattr(Database, "row", kept)
    source = looks.source(
        postgres.url, SourceTable("", "public", "grown"), TablePosition(-20), mode="incrementing",
        **{"incrementing.column.name": "id", "penstock.read.rows": "200"},
    )  # fmt: skip
    greatest = 'SELECT MAX("id") FROM "public"."grown" WHERE "id" > ?'
    found = source.next_read()
    assert found is not None
    assert [select.parameters for select in found.selects] == [("N-20", "N100")]
    source.position = TablePosition(100)
    assert source.next_read() is None
    assert asked == [greatest, greatest]
    # Rows with keys that are far apart are counted.
    postgres.rows("INSERT INTO grown VALUES (1000000)")
    found = source.next_read()
    assert found is not None
    assert [select.parameters for select in found.selects] == [("N100", "N1000000")]
    assert len(asked) == 4
    postgres.rows("DELETE FROM grown")
    assert source.next_read() is None


@pytest.mark.parametrize("database", ["postgres", "sqlite", "derby"])
def test_numbers_that_are_not_whole_are_refused(
    request: pytest.FixtureRequest, looks: Looks, java: Any, entry: Any, tmp_path: Path, database: str
) -> None:
    """With fewer digits the rows would be read again and again, or never."""
    columns = "id INT NOT NULL, price NUMERIC(6,2) NOT NULL, whole NUMERIC(6) NOT NULL, far DOUBLE PRECISION NOT NULL"
    create, insert = f"CREATE TABLE parts ({columns})", "INSERT INTO parts VALUES (-3, -2.5, -7, 1.5)"
    name = "parts"
    if database == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        server.execute(f"{create};{insert}")
        url, schema = server.url, "public"
    elif database == "sqlite":
        url, schema = f"jdbc:sqlite:{tmp_path}/parts.db", ""
        with sqlite3.connect(tmp_path / "parts.db") as made:
            made.execute(create)
            made.execute(insert)
    else:
        url, schema, name = f"jdbc:derby:{tmp_path}/derby;create=true", "APP", "PARTS"
        with Safe("127.0.0.1") as safe:
            bench = Bench(java, entry, url, safe)
            bench.database.execute(create)
            bench.database.execute(insert)
            bench.database.close()

    def greatest(column: str) -> str:
        source = looks.source(
            url, SourceTable("", schema, name), mode="incrementing", **{"incrementing.column.name": column}
        )
        found = source.next_read()
        assert found is not None
        return found.selects[0].parameters[0]

    assert (greatest("id"), greatest("whole")) == ("N-3", "N-7")
    for column in ("price", "far"):
        with pytest.raises(ConnectError, match=r"(?i)column \w+ of table .* is of type .*needs one of whole numbers"):
            greatest(column)


def test_an_open_numeric_may_have_whole_numbers(looks: Looks, postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE opened (id NUMERIC NOT NULL); INSERT INTO opened VALUES (5), (6.0)")
    settings = {"mode": "incrementing", "incrementing.column.name": "id"}
    source = looks.source(postgres.url, SourceTable("", "public", "opened"), **settings)
    found = source.next_read()
    assert found is not None
    assert found.selects[0].parameters == ("N6",)
    postgres.rows("INSERT INTO opened VALUES (6.5)")
    with pytest.raises(ConnectError, match=r"6\.5 is no whole number of 64 bits"):
        source.next_read()


def test_a_column_that_has_been_altered_is_seen(looks: Looks, postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE altered (id INT NOT NULL, name TEXT NOT NULL, n NUMERIC(4,-2))")
    source = looks.source(postgres.url, SourceTable("", "public", "altered"), mode="bulk")
    found = source.next_read()
    assert found is not None
    assert [(field.schema.optional, field.scale) for field in found.shape.fields] == [
        (False, 0),
        (False, 0),
        (True, -2),
    ]
    postgres.rows("ALTER TABLE altered ALTER name DROP NOT NULL")
    found = source.next_read()
    assert found is not None
    assert [field.schema.optional for field in found.shape.fields] == [False, True, True]


def test_negative_numbers_are_read_once_no_transaction_can_commit_lesser_ones(looks: Looks, postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE below (id INT NOT NULL); INSERT INTO below VALUES (-5)")
    settings = {"mode": "incrementing", "incrementing.column.name": "id", "penstock.snapshot.horizon": "true"}
    source = looks.source(postgres.url, SourceTable("", "public", "below"), **settings)
    eventually(source.next_read, SECONDS)
    source.position = TablePosition(-5)
    assert source.next_read() is None


@pytest.fixture
def own() -> Iterator[Postgres]:
    """A database server that a test may stop."""
    if binaries() is None:
        missing("There is no PostgreSQL on this machine: initdb is neither on the path nor in /usr/lib/postgresql")
    server = Postgres.make(max_prepared_transactions="4")
    try:
        server.start()
        yield server
    finally:
        server.remove()


HORIZON = {"mode": "incrementing", "incrementing.column.name": "id", "penstock.snapshot.horizon": "true"}


def test_a_prepared_transaction_is_waited_for_across_a_restart_of_the_server(looks: Looks, own: Postgres) -> None:
    own.execute("CREATE TABLE late (id SERIAL); INSERT INTO late DEFAULT VALUES")
    source = looks.source(own.url, SourceTable("", "public", "late"), **HORIZON)
    eventually(source.next_read, SECONDS)
    source.position = TablePosition(1)
    own.execute("BEGIN; INSERT INTO late DEFAULT VALUES; PREPARE TRANSACTION 'late';")
    own.execute("INSERT INTO late DEFAULT VALUES")
    assert source.next_read() is None
    own.stop()
    own.start()

    def look() -> list[Any]:
        """Return the result of the next read in a list, or an empty list while the server is down."""
        try:
            return [source.next_read()]
        except DatabaseError:
            return []

    assert [eventually(look, SECONDS) for _ in range(3)] == [[None]] * 3
    own.execute("COMMIT PREPARED 'late'")
    assert eventually(source.next_read, SECONDS) is not None


def test_a_replica_which_shows_no_transactions_of_its_primary_is_refused(looks: Looks, own: Postgres) -> None:
    own.execute("CREATE TABLE there (id SERIAL); INSERT INTO there DEFAULT VALUES")
    replica = own.standby()
    try:
        source = looks.source(replica.url, SourceTable("", "public", "there"), **HORIZON)
        with pytest.raises(ConnectError, match="is a replica, which does not show the transactions of its primary"):
            source.next_read()
        without = HORIZON | {"penstock.snapshot.horizon": "false"}
        assert looks.source(replica.url, SourceTable("", "public", "there"), **without).next_read() is not None
    finally:
        replica.remove()
