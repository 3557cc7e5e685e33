"""A Spark sink to a real PostgreSQL, which is stopped and started again meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.core.model.tasks import TaskRunning
from support.kafka.client import Kafka
from support.machine import missing
from support.postgres import USER, Postgres, binaries
from support.spark.host import Hosted
from support.spark.queries import SECONDS, Sink
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

IDS = "SELECT id FROM numbers ORDER BY id"


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    if binaries() is None:
        missing("There is no PostgreSQL on this machine: initdb is neither on the path nor in /usr/lib/postgresql")
    server = Postgres.make()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def sink(spark: Hosted, kafka: Kafka, server: Postgres, partitions: int = 2, **config: str) -> Sink:
    settings = {
        "format": "jdbc",
        "path": "",
        "option.url": server.url,
        "option.driver": "org.postgresql.Driver",
        "option.dbtable": "numbers",
        "schema": "id INT, name STRING",
        **config,
    }
    return Sink(spark, kafka, kafka.create_topic(partitions=partitions), Path("unused"), **settings)


def numbers(first: int, last: int) -> list[dict[str, object]]:
    return [{"id": i, "name": f"n{i}"} for i in range(first, last)]


def ids(first: int, last: int) -> list[list[str]]:
    return [[str(i)] for i in range(first, last)]


def written(server: Postgres) -> list[list[str]]:
    exists = server.rows("SELECT count(*) FROM pg_tables WHERE tablename = 'numbers'")
    return server.rows(IDS) if exists == [["1"]] else []


def test_a_database_that_is_down_is_waited_for_and_nothing_is_lost(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    # One transaction for a batch: what failed leaves nothing behind.
    retry = {"errors.retry.timeout": "-1", "errors.retry.delay.max.ms": "1000", "option.numPartitions": "1"}
    with sink(spark, kafka, postgres, **retry) as one:
        one.produce(*numbers(0, 20))
        one.start()
        eventually(lambda: sum(offset for offset, _ in one.committed().values()) == 20, SECONDS)
        postgres.stop()
        one.produce(*numbers(20, 40))
        *_, waiting = one.until(TaskRunning)
        why = waiting.degraded_reason
        assert why.startswith("A batch could not be written: org.postgresql.util.PSQLException: Connection")
        assert "connections. Retrying for as long as errors.retry.timeout allows, since " in why
        values = one.figures(lambda values: values["penstock-retrying"] and values["penstock-records-behind"] == 20)
        assert "org.postgresql.util.PSQLException: Connection" in values["penstock-last-error"]
        postgres.start()
        while one.until(TaskRunning)[-1].degraded_reason is not None:
            pass
        eventually(lambda: len(written(postgres)) >= 40, SECONDS)
        assert written(postgres) == ids(0, 40)


def test_a_database_that_stays_down_fails_the_task_which_continues_after_a_restart(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    with sink(spark, kafka, postgres, **{"errors.retry.timeout": "3000"}) as one:
        postgres.stop()
        one.produce(*numbers(0, 10))
        one.start()
        assert "org.postgresql.util.PSQLException: Connection" in one.failure()
        postgres.start()
        one.start()
        eventually(lambda: len(written(postgres)) == 10, SECONDS)
        assert written(postgres) == ids(0, 10)


def test_rows_that_no_try_can_write_fail_the_task_at_once(spark: Hosted, kafka: Kafka, postgres: Postgres) -> None:
    postgres.rows("CREATE TABLE numbers (other INT)")
    with sink(spark, kafka, postgres, **{"errors.retry.timeout": "-1"}) as one:
        one.produce(*numbers(0, 1))
        one.start()
        assert "id" in one.failure()


def test_a_driver_that_is_not_there_fails_the_task_at_once(spark: Hosted, kafka: Kafka, postgres: Postgres) -> None:
    settings = {"errors.retry.timeout": "-1", "option.driver": "com.example.Driver"}
    with sink(spark, kafka, postgres, **settings) as one:
        one.produce(*numbers(0, 1))
        one.start()
        assert "com.example.Driver: its jar has to be in spark.jars of the worker" in one.failure()


def test_columns_of_a_table_that_can_not_be_read_for_now_are_not_taken_from_the_first_batch(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.rows("CREATE TABLE numbers (id INT, name TEXT)")
    postgres.stop()
    settings = {"errors.retry.timeout": "-1", "errors.retry.delay.max.ms": "1000", "schema.evolution": "ignore"}
    with sink(spark, kafka, postgres, schema="id INT, name STRING, more STRING", **settings) as one:
        one.produce(*({**row, "more": "?"} for row in numbers(0, 3)))
        one.start()
        while one.until(TaskRunning)[-1].degraded_reason is None:
            pass
        postgres.start()
        eventually(lambda: one.fine() and len(written(postgres)) == 3, SECONDS)
        assert postgres.rows("SELECT name FROM numbers ORDER BY id") == [["n0"], ["n1"], ["n2"]]


def test_a_table_that_does_not_exist_yet_gets_all_columns(spark: Hosted, kafka: Kafka, postgres: Postgres) -> None:
    with sink(spark, kafka, postgres, **{"schema.evolution": "ignore"}) as one:
        one.produce(*numbers(0, 3))
        one.start()
        eventually(lambda: one.fine() and len(written(postgres)) == 3, SECONDS)
        assert postgres.rows("SELECT name FROM numbers ORDER BY id") == [["n0"], ["n1"], ["n2"]]


TYPES = {
    "id": "INT",
    "small": "SMALLINT",
    "large": "BIGINT",
    "single": "FLOAT",
    "number": "DOUBLE",
    "price": "DECIMAL(12, 3)",
    "flag": "BOOLEAN",
    "name": "STRING",
    "data": "BINARY",
    "day": "DATE",
    "at": "TIMESTAMP",
}
TABLE = """id INT PRIMARY KEY, small SMALLINT, large BIGINT, single REAL, number FLOAT8, price NUMERIC(12, 3),
flag BOOLEAN, name TEXT NOT NULL CHECK (name <> 'no'), data BYTEA, day DATE, at TIMESTAMPTZ"""
ROW = {
    "small": -1,
    "large": 2**62,
    "single": 0.5,
    "number": 0.1,
    "price": "1.250",
    "flag": True,
    "name": "yes",
    "data": "/w==",
    "day": "0001-01-01",
    "at": "2026-01-01T12:00:00.123456Z",
}
REFUSED = {
    "check": ({"name": "no"}, "23514", "", 'violates check constraint "numbers_name_check"'),
    "null": ({"name": None}, "23502", "name", 'null value in column "name"'),
    "key": ({"id": 1}, "23505", "", "duplicate key value violates unique constraint"),
    "trigger": ({"small": 7}, "P0001", "", "seven is refused"),
}
TRIGGER = """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF NEW.small = 7 THEN RAISE EXCEPTION 'seven is refused'; END IF; RETURN NEW; END $$;
CREATE TRIGGER refused BEFORE INSERT ON numbers FOR EACH ROW EXECUTE FUNCTION refuse();"""


@pytest.mark.parametrize("case", REFUSED)
def test_a_row_that_the_database_refuses_is_a_dead_letter(
    spark: Hosted, kafka: Kafka, postgres: Postgres, case: str
) -> None:
    bad, state, column, message = REFUSED[case]
    postgres.execute(f"CREATE TABLE numbers ({TABLE}); {TRIGGER}")
    letters = kafka.create_topic()
    settings = {
        "schema": ", ".join(f"{name} {type}" for name, type in TYPES.items()),
        "errors.tolerance": "all",
        "errors.retry.timeout": "-1",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    with sink(spark, kafka, postgres, 1, **settings) as one:
        rows = [{"id": 1, **ROW}, {"id": 2, **ROW, **bad}, {"id": 3, **ROW}, {"id": 4, "name": "no"}]
        one.produce(*rows)
        one.start()
        one.written(4)
        one.produce({"id": 5, "name": "yes"})
        one.written(5)
    assert postgres.rows(IDS) == [["1"], ["3"], ["5"]]
    headers = [
        {name.removeprefix("__connect.errors."): (value or b"").decode() for name, value in letter.headers}
        for letter in kafka.read_all(letters)
    ]
    assert [(each["topic"], each["offset"]) for each in headers] == [(one.topic, "1"), (one.topic, "3")]
    assert (headers[0]["table"], headers[0]["sqlstate"], headers[0].get("column", "")) == ("numbers", state, column)
    assert message in headers[0]["exception.message"]


def test_a_row_that_the_database_refuses_ends_the_task_without_tolerance(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.execute("CREATE TABLE numbers (id INT PRIMARY KEY, name TEXT CHECK (name <> 'n2'))")
    with sink(spark, kafka, postgres, 1, **{"errors.retry.timeout": "-1"}) as one:
        one.produce(*numbers(0, 4))
        one.start()
        failure = one.failure()
        assert f"numbers refuses the row of topic {one.topic}, partition 0, offset 2: " in failure
        assert 'violates check constraint "numbers_name_check"' in failure
    assert postgres.rows(IDS) == []


def test_a_statement_that_the_database_refuses_ends_the_task_at_once(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.execute(
        "CREATE TABLE numbers (id INT, name TEXT); CREATE ROLE reader LOGIN; GRANT SELECT ON numbers TO reader"
    )
    url = postgres.url.replace(f"user={USER}", "user=reader")
    settings = {"errors.retry.timeout": "-1", "errors.tolerance": "all", "option.url": url}
    with sink(spark, kafka, postgres, **settings) as one:
        one.produce(*numbers(0, 1))
        one.start()
        failure = one.failure()
        assert "numbers refuses a batch: org.postgresql.util.PSQLException: ERROR: permission denied" in failure
        assert "(SQLSTATE 42501)" in failure
