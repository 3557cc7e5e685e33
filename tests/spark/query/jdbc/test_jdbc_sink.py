"""The JDBC sink on a real Spark: tables of a real PostgreSQL and of SQLite."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from subprocess import Popen
from typing import Any

import psutil
import pytest

from penstock.core.model.tasks import TaskLost, TaskRunning
from penstock.spark.channel import LEAVE_AT
from support.kafka.client import Kafka
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import ID, NAME, JdbcSink, field
from support.spark.queries import SECONDS
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]


UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true", "auto.evolve": "true"}


def rows(file: Path, sql: str = "SELECT * FROM things ORDER BY id") -> list[tuple[Any, ...]]:
    with sqlite3.connect(file, timeout=900) as database:
        return database.execute(sql).fetchall()


def test_rows_are_changed_and_deleted_and_columns_added(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    file = tmp_path / "things.db"
    with JdbcSink(spark, kafka, f"jdbc:sqlite:{file}", **UPSERT) as one:
        # There is no table yet.
        one.add([ID, NAME], {"id": 9})
        one.start()
        one.written(1)
        assert rows(file) == []
        one.add([ID, NAME], {"id": 1, "name": "one"}, {"id": 2, "name": "two"}, {"id": 3, "name": "three"})
        one.add([ID, NAME], {"id": 2, "name": "zwei"}, {"id": 1}, {"id": 4, "name": "four"})
        one.written(7)
        assert rows(file) == [(2, "zwei"), (3, "three"), (4, "four")]
        price = field("price", "double")
        one.add([ID, NAME, price], {"id": 4, "name": "four", "price": 1.5})
        # A record without a field leaves its column as it is.
        one.add([ID, NAME], {"id": 4, "name": "vier"})
        one.written(9)
        assert rows(file) == [(2, "zwei", None), (3, "three", None), (4, "vier", 1.5)]


@pytest.mark.parametrize(
    ("dialect", "column"), [("", '"name" TEXT NULL'), ("MySqlDatabaseDialect", "`name` TEXT NULL")]
)
def test_the_dialect_that_is_named_counts(
    spark: Hosted, kafka: Kafka, tmp_path: Path, dialect: str, column: str
) -> None:
    """SQLite understands MySQL's quotes and types; the driver is still its own. Neither minds the case of names."""
    file = tmp_path / "things.db"
    with sqlite3.connect(file, timeout=900) as database:
        database.execute("CREATE TABLE things (ID INTEGER NOT NULL)")
    settings = {"dialect.name": dialect, "auto.evolve": "true"}
    with JdbcSink(spark, kafka, f"jdbc:sqlite:{file}", **settings) as one:
        one.add([ID, NAME], {"id": 1, "name": "one"})
        one.start()
        one.written(1)
    assert rows(file) == [(1, "one")]
    ((made,),) = rows(file, "SELECT sql FROM sqlite_master WHERE name = 'things'")
    assert column in " ".join(made.split())


@pytest.mark.parametrize("drift", ["ignore", "dead-letter", "stop"])
def test_fields_for_which_the_table_has_no_column(spark: Hosted, kafka: Kafka, tmp_path: Path, drift: str) -> None:
    file = tmp_path / "things.db"
    letters = kafka.create_topic()
    settings = {
        "schema.drift": drift,
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "auto.create": "true",
    }
    price = field("price", "double")
    with JdbcSink(spark, kafka, f"jdbc:sqlite:{file}", **settings) as one:
        one.add([ID, NAME], {"id": 1, "name": "one"})
        one.start()
        one.written(1)
        one.add([ID, NAME, price], {"id": 2, "name": "two", "price": 1.5})
        one.add([ID, NAME], {"id": 3, "name": "three"})
        if drift == "stop":
            assert 'Table "things" is missing fields (price) and auto-evolution is disabled (schema.drift=stop)' in (
                one.failure()
            )
            return
        kept = [(1, "one"), (3, "three")] if drift == "dead-letter" else [(1, "one"), (2, "two"), (3, "three")]
        eventually(lambda: rows(file) == kept)
        # The column is there from the next batch on.
        with sqlite3.connect(file, timeout=900) as database:
            database.execute("ALTER TABLE things ADD price REAL")
        one.add([ID, NAME, price], {"id": 4, "name": "four", "price": 2.5})
        eventually(lambda: len(rows(file)) == len(kept) + 1)
        assert rows(file)[-1] == (4, "four", 2.5)
        one.stop()
    found = [json.loads(value or b"")["payload"]["id"] for value in kafka.values(letters)]
    assert found == ([2] if drift == "dead-letter" else [])


def test_a_table_that_is_missing_fails_the_task(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    settings = {**UPSERT, "auto.create": "false"}
    with JdbcSink(spark, kafka, f"jdbc:sqlite:{tmp_path}/things.db", **settings) as one:
        one.add([ID, NAME], {"id": 1, "name": "one"})
        one.start()
        assert 'Table "things" is missing and auto-creation is disabled (auto.create=false)' in one.failure()


def test_rows_are_written_once_and_refused_ones_are_dead_letters(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.rows("CREATE TABLE things (id INT CHECK (id <> 13), name TEXT, how TEXT DEFAULT left(current_query(), 4))")
    letters = kafka.create_topic()
    settings = {
        "penstock.delivery": "exactly-once",
        "penstock.batches.table": "written_batches",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "max.retries": "1000",
        "retry.backoff.ms": "500",
    }

    def ids() -> list[int]:
        return [int(id) for (id,) in postgres.rows("SELECT id FROM things ORDER BY id")]

    with JdbcSink(spark, kafka, postgres.url, partitions=2, **settings) as one:
        one.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(20)))
        one.start()
        one.written(20)
        wanted = [i for i in range(20) if i != 13]
        assert ids() == wanted
        assert ["COPY"] in postgres.rows("SELECT DISTINCT how FROM things")
        written = f"SELECT sum(next_offset) FROM written_batches WHERE topic = '{one.topic}'"
        assert postgres.rows(written) == [["20"]]
        assert [json.loads(value or b"")["payload"]["id"] for value in kafka.values(letters)] == [13]
        one.stop()
        # As a crash between the two commits, that of the database and that of the group, leaves it.
        found = one.committed()
        one.commit({p: (0, {**note, "end": offset}) for p, (offset, note) in found.items()})
        one.start()
        one.written(20)
        assert ids() == wanted
        postgres.stop()
        one.add([ID, NAME], {"id": 20, "name": "n20"})
        while (one.until(TaskRunning)[-1].degraded_reason or "").count(
            "Retrying for as long as max.retries allows"
        ) < 1:
            pass
        postgres.start()
        one.written(21)
        assert ids() == [*wanted, 20]


def test_a_deadlock_is_tried_again_and_no_row_is_refused(spark: Hosted, kafka: Kafka, postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE tied (id INT PRIMARY KEY, name TEXT); INSERT INTO tied VALUES (1), (2), (3);")
    settings = {
        **UPSERT,
        "table.name.format": "tied",
        "connection.options": "-c deadlock_timeout=100ms",
        "retry.backoff.ms": "100",
        "errors.tolerance": "all",
    }
    first, second = postgres.session(), postgres.session()
    say(first, "SET deadlock_timeout = '1h'; BEGIN; UPDATE tied SET name = 'first' WHERE id = 1 RETURNING id;", "1")
    say(second, "BEGIN; UPDATE tied SET name = 'second' WHERE id = 3 RETURNING id;", "3")
    with JdbcSink(spark, kafka, postgres.url, **settings) as one:
        # It changes 2, waits for 3, and then for 1, whose transaction waits for 2.
        one.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in (2, 3, 1)))
        one.start()
        waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
        eventually(lambda: one.fine() and len(postgres.rows(waiting)) == 1, SECONDS)
        say(first, "UPDATE tied SET name = 'first' WHERE id = 2 RETURNING id;")
        eventually(lambda: len(postgres.rows(waiting)) == 2, SECONDS)
        second.communicate("COMMIT;\n")
        assert first.stdout is not None
        assert first.stdout.readline() == "2\n"
        first.communicate("COMMIT;\n")
        one.written(3)
    assert postgres.rows("SELECT * FROM tied ORDER BY id") == [[str(i), f"n{i}"] for i in (1, 2, 3)]


def test_a_stop_does_not_wait_for_a_lock_of_the_database(spark: Hosted, kafka: Kafka, postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE locked (id INT PRIMARY KEY, name TEXT)")
    with JdbcSink(spark, kafka, postgres.url, **UPSERT, **{"table.name.format": "locked"}) as one:
        one.start()
        with postgres.session() as session:
            say(session, "BEGIN; LOCK TABLE locked IN SHARE MODE; SELECT 1;", "1")
            one.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(10)))
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'locked'::regclass"
            eventually(lambda: one.fine() and postgres.rows(waiting), SECONDS)
            one.stop(patience=2.0)
            assert postgres.rows("SELECT count(*) FROM locked") == [["0"]]
            session.communicate("COMMIT;\n")
        one.start()
        one.written(10)
    assert postgres.rows("SELECT id FROM locked ORDER BY id") == [[str(i)] for i in range(10)]


def test_a_run_that_was_frozen_past_its_lease_writes_no_old_value_over_a_newer_one(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.execute("CREATE TABLE aged (id INT PRIMARY KEY, name TEXT); INSERT INTO aged VALUES (1, 'oldest');")
    with JdbcSink(spark, kafka, postgres.url, **UPSERT, **{"table.name.format": "aged"}) as one:
        one.start()
        with postgres.session() as successor:
            say(successor, "BEGIN; UPDATE aged SET name = 'newer' WHERE id = 1 RETURNING id;", "1")
            one.add([ID, NAME], {"id": 1, "name": "older"})
            eventually(lambda: one.fine() and postgres.rows("SELECT 1 FROM pg_locks WHERE NOT granted"), SECONDS)
            assert spark.query_driver is not None
            driver = psutil.Process(spark.query_driver.process_id)
            driver.suspend()
            try:
                # The run's Java goes on, and could commit.
                successor.communicate("COMMIT;\n")
                time.sleep(spark.settings.lease * LEAVE_AT + 1)
            finally:
                driver.resume()
        assert any(isinstance(event, TaskLost) for event in one.ended())
        at_work = "SELECT 1 FROM pg_stat_activity WHERE state <> 'idle' AND application_name LIKE '%JDBC%'"
        eventually(lambda: not postgres.rows(at_work), SECONDS)
        assert postgres.rows("SELECT name FROM aged") == [["newer"]]
        assert one.committed()[0][0] == 0


def say(session: Popen[str], sql: str, answer: str | None = None) -> None:
    assert session.stdin is not None
    assert session.stdout is not None
    session.stdin.write(sql + "\n")
    session.stdin.flush()
    if answer is not None:
        assert session.stdout.readline() == answer + "\n"
