"""Rows that databases refuse, one by one, and errors that end a task: with the database's own message."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn
from penstock.core.attention.states import Part, Watched, state_rows
from penstock.spark.query.jdbc.rows import refused_row
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.rows.refused import RefusedRow
from support.kafka.client import Kafka
from support.mariadb import MariaDb
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import ID, NAME, JdbcSink, JdbcSource
from support.spark.transactions import FAR, Bench

pytestmark = [pytest.mark.integration, pytest.mark.slow]

KEY = SinkColumn("id", ColumnKind.INT32, RecordPart.VALUE, "id")
TEXT = SinkColumn("name", ColumnKind.STRING, RecordPart.VALUE, "name", optional=True)
LONG = 9_000
TRIGGER = (
    "CREATE FUNCTION no_{0}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.name = 'bad' THEN "
    "RAISE EXCEPTION 'no bad ones' USING ERRCODE = '{1}'; END IF; RETURN NEW; END $$;"
    "CREATE TRIGGER no BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION no_{0}();"
)


def hexes(count: int) -> str:
    """Return a text that no index can compress."""
    import hashlib

    return "".join(hashlib.sha256(str(i).encode()).hexdigest() for i in range(count // 64 + 1))[:count]


POSTGRES = {
    "trigger": ("{0} (id INT, name TEXT);" + TRIGGER.replace("{1}", "P0001"), "bad", "no bad ones", "P0001", ""),
    # States that mean something else when the server itself raises them.
    "trigger_42": ("{0} (id INT, name TEXT);" + TRIGGER.replace("{1}", "42501"), "bad", "no bad ones", "42501", ""),
    "index": ("{0} (id INT, name TEXT); CREATE INDEX ON {0} (name);", hexes(LONG), "index row", "54000", ""),
    "check": ("{0} (id INT, name TEXT CHECK (name <> 'bad'));", "bad", "violates check constraint", "23514", ""),
    "missing": ("{0} (id INT, name TEXT NOT NULL);", None, "violates not-null constraint", "23502", "name"),
    "unique": ("{0} (id INT, name TEXT UNIQUE);", "n0", "duplicate key", "23505", ""),
    "foreign": ("{0} (id INT, name TEXT REFERENCES known);", "bad", "violates foreign key", "23503", ""),
    "long": ("{0} (id INT, name VARCHAR(3));", "bad ones", "value too long", "22001", ""),
    "domain": ("{0} (id INT, name short);", "bad ones", "violates check constraint", "23514", ""),
    "exclusion": ("{0} (id INT, name TEXT, EXCLUDE (name WITH =));", "n0", "exclusion constraint", "23P01", ""),
    "enum": ("{0} (id INT, name mood);", "bad", "invalid input value for enum", "22P02", ""),
    "cast": ("{0} (id INT, name json);", "bad", "invalid input syntax for type json", "22P02", ""),
}
READY = (
    "CREATE TABLE known (name TEXT PRIMARY KEY); INSERT INTO known VALUES ('n0'), ('n2');"
    "CREATE DOMAIN short AS TEXT CHECK (length(value) < 4); CREATE TYPE mood AS ENUM ('n0', 'n2');"
    "CREATE CAST (varchar AS mood) WITH INOUT AS ASSIGNMENT;"
)


@pytest.fixture(scope="module")
def ready(postgres: Postgres) -> Postgres:
    postgres.execute(READY)
    return postgres


def given(bad: str | None) -> list[tuple[int, list[Any]]]:
    return [(0, [0, "n0"]), (0, [1, bad]), (0, [2, "n2"])]


def numbers(bad: str) -> list[tuple[int, list[Any]]]:
    """Return rows like those of ``given``, whose good ones are numbers."""
    return [(0, [0, "1"]), (0, [1, bad]), (0, [2, "1"])]


def refusal(report: list[str], table: str) -> RefusedRow:
    """Return the refusal of the only refused row, which is the second."""
    done, rows, line = report
    assert (done, rows) == (f"done\tt\t0\t{FAR + 3}", "rows\t2")
    said, topic, partition, offset, shape, column, state, text = line.split("\t")
    assert (said, topic, partition, offset, shape) == ("refused", "t", "0", str(FAR + 1), "0")
    return refused_row(text, table, ["id", "name"], column, state)


@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("case", POSTGRES)
def test_a_row_is_refused_alone_by_postgresql(java: Any, entry: Any, ready: Postgres, case: str, copied: bool) -> None:
    create, bad, message, state, column = POSTGRES[case]
    table = f"refuses_{case}_{'copy' if copied else 'insert'}"
    ready.execute("CREATE TABLE " + create.replace("{0}", table))
    types = {"id": "int4", "name": "text"} if copied else None
    with Safe("127.0.0.1") as safe:
        bench = Bench(java, entry, ready.url, safe)
        rows = numbers(bad) if case == "cast" else given(bad)
        found = refusal(bench.write(rows, shapes=[RowShape(table, (KEY, TEXT))], types=types), table)
    assert message in found.text
    assert (found.state, found.column) == (state, column)
    assert ready.rows(f"SELECT id FROM {table} ORDER BY 1") == [["0"], ["2"]]


MARIADB = {
    "enum": ("id INT, name ENUM('n0', 'n2')", "bad", "Data truncated for column 'name'", "name"),
    "missing": ("id INT, name VARCHAR(9) NOT NULL", None, "Column 'name' cannot be null", "name"),
    "check": ("id INT, name VARCHAR(9) CHECK (name <> 'bad')", "bad", "CONSTRAINT", ""),
    "unique": ("id INT, name VARCHAR(9) UNIQUE", "n0", "Duplicate entry", ""),
    "long": ("id INT, name VARCHAR(9)", "far too long", "Data too long for column 'name'", "name"),
    "cast": ("id INT, name DECIMAL(9, 2)", "bad", "Incorrect decimal value", "name"),
    "day": ("id INT, name DATE", "2026-02-30", "Incorrect date value", "name"),
    # Of a TEXT, 768 bytes are in the row itself, whose size is limited.
    "row": (
        f"id INT, name TEXT, {', '.join(f'n{i} TEXT AS (name) PERSISTENT' for i in range(12))}",
        "x" * 2000,
        "Row size too large",
        "",
    ),
    "trigger": ("id INT, name VARCHAR(9)", "bad", "no bad ones", ""),
    "trigger_42": ("id INT, name VARCHAR(9)", "bad", "no bad ones", ""),
}


@pytest.mark.parametrize("case", MARIADB)
def test_a_row_is_refused_alone_by_mariadb(java: Any, entry: Any, mariadb: MariaDb, case: str) -> None:
    columns, bad, message, column = MARIADB[case]
    table = f"refuses_{case}"
    options = " ROW_FORMAT=COMPACT" if case == "row" else ""
    mariadb.execute(f"SET innodb_strict_mode = 0; CREATE TABLE {table} ({columns}){options}")
    if case.startswith("trigger"):
        state = "42000" if case.endswith("42") else "45000"
        mariadb.execute(
            f"CREATE TRIGGER {table} BEFORE INSERT ON {table} FOR EACH ROW IF NEW.name = 'bad' THEN "
            f"SIGNAL SQLSTATE '{state}' SET MESSAGE_TEXT = 'no bad ones'; END IF".join(("DELIMITER //\n", "//\n"))
        )
    rows = given(bad)
    if case in ("cast", "day"):
        rows = [(0, [id, name if id == 1 else "1" if case == "cast" else "2026-01-01"]) for _, (id, name) in rows]
    with Safe("127.0.0.1") as safe:
        bench = Bench(java, entry, mariadb.url, safe)
        found = refusal(bench.write(rows, shapes=[RowShape(table, (KEY, TEXT))]), table)
    assert message in found.text
    assert found.column == column
    assert mariadb.rows(f"SELECT id FROM {table} ORDER BY 1") == [["0"], ["2"]]


SQLITE = {
    "missing": ("id INT, name TEXT NOT NULL", None, "NOT NULL constraint failed: rows.name", "name"),
    "check": ("id INT, name TEXT CHECK (name <> 'bad')", "bad", "CHECK constraint failed", ""),
    "unique": ("id INT, name TEXT UNIQUE", "n0", "UNIQUE constraint failed: rows.name", "name"),
    "cast": ("id INT, name INTEGER) STRICT; --", "bad", "cannot store TEXT value in INTEGER column", "name"),
    "strict": ("id INT, name INTEGER CHECK (typeof(name) = 'text' AND name <> 'bad')", "bad", "CHECK", ""),
    "trigger": ("id INT, name TEXT", "bad", "no bad ones", ""),
}


@pytest.mark.parametrize("case", SQLITE)
def test_a_row_is_refused_alone_by_sqlite(java: Any, entry: Any, tmp_path: Path, case: str) -> None:
    columns, bad, message, column = SQLITE[case]
    with Safe("127.0.0.1") as safe:
        bench = Bench(java, entry, f"jdbc:sqlite:{tmp_path}/db", safe)
        bench.database.execute(f"CREATE TABLE rows ({columns})")
        bench.database.execute(
            "CREATE TRIGGER no BEFORE INSERT ON rows WHEN NEW.name = 'bad' "
            "BEGIN SELECT RAISE(ABORT, 'no bad ones'); END"
            if case == "trigger"
            else "SELECT 1"
        )
        rows = numbers("bad") if case == "cast" else given(bad)
        found = refusal(bench.write(rows, shapes=[RowShape("rows", (KEY, TEXT))]), "rows")
        assert message in found.text
        assert found.column == column
        assert [row[0] for row in bench.rows("rows")] == ["0", "2"]


def test_errors_in_executors_have_only_classes_that_every_process_of_spark_has(
    java: Any, entry: Any, postgres: Postgres
) -> None:
    """Spark reports "UnknownReason" for an exception whose class is in the driver's jar."""
    postgres.execute(
        "CREATE TABLE forbidden (id INT, name TEXT); CREATE ROLE reader LOGIN; GRANT SELECT ON forbidden TO reader"
    )
    url = postgres.url.partition("?")[0] + "?user=reader"
    with Safe("127.0.0.1") as safe:
        bench = Bench(java, entry, url, safe)
        with pytest.raises(Py4JJavaError, match="permission denied for table forbidden") as raised:
            bench.write(given("x"), shapes=[RowShape("forbidden", (KEY, TEXT))], types={"id": "int4", "name": "text"})
    error = raised.value.java_exception
    name, message, state, code, passing, trace = entry.facts(error)
    assert (name, state, code, passing) == ("org.postgresql.util.PSQLException", "42501", "0", "")
    assert message == "ERROR: permission denied for table forbidden"
    assert trace.startswith("org.postgresql.util.PSQLException: ERROR: permission denied for table forbidden")
    assert "\tat org.postgresql." in trace
    while error is not None:
        assert str(error.getClass().getName()).startswith("java.")
        error = error.getCause()


FAILS = {
    "a table without permission": {"table.name.format": "denied"},
    "with dead letters": {
        "table.name.format": "denied",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "unused-letters",
        "errors.deadletterqueue.topic.replication.factor": "1",
    },
}


@pytest.mark.parametrize("case", FAILS)
def test_a_sink_without_permission_fails_at_once_with_the_databases_message(
    spark: Hosted, kafka: Kafka, postgres: Postgres, case: str
) -> None:
    postgres.execute(
        "CREATE TABLE IF NOT EXISTS denied (id INT, name TEXT); DROP ROLE IF EXISTS visitor;"
        "CREATE ROLE visitor LOGIN; GRANT SELECT ON denied TO visitor;"
    )
    url = postgres.url.partition("?")[0] + "?user=visitor"
    retries = {"max.retries": "1000", "retry.backoff.ms": "1000000"}
    with JdbcSink(spark, kafka, url, **FAILS[case], **retries) as one:
        one.add([ID, NAME], {"id": 1, "name": "n1"}, {"id": 2, "name": "n2"})
        one.start()
        trace = one.failure()
    assert "org.postgresql.util.PSQLException: ERROR: permission denied for table denied" in trace.splitlines()[0]
    assert "SQLSTATE 42501" in trace.splitlines()[0]
    assert "\tat org.postgresql." in trace
    assert "UnknownReason" not in trace
    postgres.execute("DROP OWNED BY visitor; DROP ROLE visitor;")


def test_the_trace_of_a_row_that_is_refused_names_the_record_to_skip(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.execute("CREATE TABLE small (id INT PRIMARY KEY, name TEXT CHECK (length(name) < 5));")
    with JdbcSink(spark, kafka, postgres.url, **{"table.name.format": "small"}) as one:
        one.add([ID, NAME], {"id": 1, "name": "n1"}, {"id": 2, "name": "too long"}, {"id": 3, "name": "n3"})
        one.start()
        trace = one.failure()
    assert "violates check constraint" in trace.splitlines()[0]
    part = Part(0, "FAILED", "w", trace)
    (row,) = state_rows([Watched("names", "STARTED", 1, (Part(None, "RUNNING", "w"), part))], (), 0)
    assert row.step.command == f"penstock skip names --topic={one.topic} --partition 0 --offset 1"


@pytest.mark.parametrize("mode", ["incrementing", "bulk"])
def test_a_query_that_is_no_sql_fails_at_once_with_the_databases_message(
    spark: Hosted, kafka: Kafka, postgres: Postgres, mode: str
) -> None:
    """The query fails with WHERE appended or, in mode bulk, only when its rows are read."""
    query = {
        "incrementing": "SELECT i AS id FROM generate_series(1, 3) i ORDER BY i",
        "bulk": "SELECT 1 / (i - i) AS id FROM generate_series(1, 3) i",
    }[mode]
    settings = {"mode": mode, "query": query, "incrementing.column.name": "id"}
    with JdbcSource(spark, kafka, postgres.url, **settings) as one:
        one.start()
        trace = one.failure()
    wanted, state = {
        "incrementing": ('ERROR: syntax error at or near "WHERE"', "42601"),
        "bulk": ("ERROR: division by zero", "22012"),
    }[mode]
    assert wanted in trace.splitlines()[0]
    assert f"SQLSTATE {state}" in trace.splitlines()[0]
    assert "\tat org.postgresql." in trace


def test_a_source_without_permission_fails_at_once_with_the_drivers_frames(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.execute("CREATE TABLE hidden (id INT); CREATE ROLE guest LOGIN;")
    url = postgres.url.partition("?")[0] + "?user=guest"
    with JdbcSource(spark, kafka, url, mode="bulk", query="SELECT * FROM hidden") as one:
        one.start()
        trace = one.failure()
    assert "ERROR: permission denied for table hidden" in trace.splitlines()[0]
    assert "SQLSTATE 42501" in trace.splitlines()[0]
    assert "Caused by: org.postgresql.util.PSQLException: ERROR: permission denied for table hidden" in trace
    assert "\tat org.postgresql." in trace


def test_the_error_that_was_retried_is_the_cause_when_a_task_gives_up(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.execute(
        "CREATE TABLE withheld (id INT, name TEXT); CREATE ROLE hasty LOGIN;"
        "ALTER ROLE hasty SET lock_timeout = '50ms'; GRANT ALL ON withheld TO hasty;"
    )
    url = postgres.url.partition("?")[0] + "?user=hasty"
    holder = postgres.session()
    try:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdin.write("BEGIN; LOCK TABLE withheld; SELECT 'is held';\n")
        holder.stdin.flush()
        while "is held" not in holder.stdout.readline():
            assert holder.poll() is None
        read = {"mode": "bulk", "query": "SELECT * FROM withheld", "query.retry.attempts": "0"}
        with JdbcSource(spark, kafka, url, **read) as source:
            source.start()
            found = source.failure()
        retries = {"max.retries": "1", "retry.backoff.ms": "10", "table.name.format": "withheld"}
        with JdbcSink(spark, kafka, url, **retries) as sink:
            sink.add([ID, NAME], {"id": 1, "name": "n1"})
            sink.start()
            written = sink.failure()
    finally:
        holder.kill()
        holder.wait()
    for trace in (found, written):
        assert "ERROR: canceling statement due to lock timeout" in trace.splitlines()[0]
        assert "(SQLSTATE 55P03)" in trace.splitlines()[0]
        assert "Caused by: org.postgresql.util.PSQLException: ERROR: canceling statement due to lock timeout" in trace
        assert "\tat org.postgresql." in trace
        assert "Py4JJavaError" not in trace


@pytest.mark.parametrize("database", ["postgresql", "mariadb", "sqlite"])
def test_a_refused_row_is_a_dead_letter_with_table_column_and_message(
    spark: Hosted, kafka: Kafka, request: pytest.FixtureRequest, tmp_path: Path, database: str
) -> None:
    create = "CREATE TABLE moods (id INT, name {})"
    match database:
        case "postgresql":
            server = request.getfixturevalue("postgres")
            server.execute(create.format("VARCHAR(2) NOT NULL"))
            url, bad, state, message = server.url, None, "23502", "violates not-null constraint"
        case "mariadb":
            server = request.getfixturevalue("mariadb")
            server.execute(create.format("ENUM('n1', 'n3')"))
            url, bad, state, message = server.url, "n2", "01000", "Data truncated for column 'name'"
        case _:
            with closing(sqlite3.connect(tmp_path / "db")) as file:
                file.execute(create.format("TEXT UNIQUE"))
            url, bad, state, message = f"jdbc:sqlite:{tmp_path}/db", "n1", "", "UNIQUE constraint failed: moods.name"
    letters = kafka.create_topic()
    settings = {
        "table.name.format": "moods",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    with JdbcSink(spark, kafka, url, **settings) as one:
        one.add([ID, NAME], *({"id": i, "name": name} for i, name in ((1, "n1"), (2, bad), (3, "n3"))))
        one.start()
        one.written(3)
    if database == "sqlite":
        with closing(sqlite3.connect(tmp_path / "db")) as file:
            assert file.execute("SELECT id, name FROM moods ORDER BY id").fetchall() == [(1, "n1"), (3, "n3")]
    else:
        assert server.rows("SELECT id, name FROM moods ORDER BY id") == [["1", "n1"], ["3", "n3"]]
    (letter,) = kafka.read_all(letters)
    headers = {name: (value or b"").decode() for name, value in letter.headers}
    prefix = "__connect.errors."
    assert headers[f"{prefix}table"] == "moods"
    assert headers[f"{prefix}column"] == "name"
    assert headers.get(f"{prefix}sqlstate", "") == state
    assert message in headers[f"{prefix}exception.message"]
    assert headers[f"{prefix}offset"] == "1"
