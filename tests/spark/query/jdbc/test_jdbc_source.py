"""The JDBC source on a real Spark: tables of SQLite and of a real PostgreSQL."""

from __future__ import annotations

import base64
import json
import os
import signal
from pathlib import Path

import pytest

from penstock.core.model.tasks import SparkDied, SparkReady, TaskLost, TaskPaused
from penstock.hosts.python.wire import read
from spark.query.jdbc.things import EVENTS, THINGS, execute, things
from support.kafka.client import Kafka, Record
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import ID, NAME, JdbcSink, JdbcSource, field
from support.spark.queries import SECONDS, sample_spec
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]


SPLIT = {"penstock.read.partitions": "4", "penstock.read.rows": "1000"}


def test_new_rows_and_tables_are_read_in_order_and_restarts_continue(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    file = tmp_path / "app.db"
    execute(file, THINGS, things(1, 25_000))
    with JdbcSource(spark, kafka, f"jdbc:sqlite:{file}", mode="incrementing", **SPLIT) as one:
        one.start()
        assert one.wait("things", 25_000) == [{"id": i, "name": f"n{i}"} for i in range(1, 25_001)]
        execute(file, things(25_001, 25_001), "CREATE TABLE more (no INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL)")
        assert one.wait("things", 25_001)[-1] == {"id": 25_001, "name": "n25001"}
        execute(file, "INSERT INTO more VALUES (7)")
        assert one.wait("more", 1) == [{"no": 7}]
        # What is dropped is not missed, and is found when it is there again.
        execute(file, "DROP TABLE more", things(25_002, 25_002))
        assert one.wait("things", 25_002)[-1] == {"id": 25_002, "name": "n25002"}
        execute(
            file, "CREATE TABLE more (no INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL)", "INSERT INTO more VALUES (8)"
        )
        assert one.wait("more", 2)[-1] == {"no": 8}
        one.stop()
        offsets = {partition["table"]: offset for partition, offset in one.committed()}
        assert offsets == {"things": {"incrementing": 25_002}, "more": {"incrementing": 8}}
        execute(file, "ALTER TABLE things ADD price REAL", "INSERT INTO things VALUES (25003, 'last', 1.5)")
        one.start()
        assert one.wait("things", 25_003)[-1] == {"id": 25_003, "name": "last", "price": 1.5}


def test_a_missing_driver_is_named(spark: Hosted, kafka: Kafka) -> None:
    with JdbcSource(spark, kafka, "jdbc:sqlserver://127.0.0.1:1", mode="bulk") as source:
        source.start()
        assert "There is no JDBC driver for sqlserver: put mssql-jdbc-<version>.jar into a folder" in source.failure()
    with JdbcSink(spark, kafka, "jdbc:other:x", **{"auto.create": "false"}) as sink:
        sink.add([ID, NAME], {"id": 1, "name": "one"})
        sink.start()
        assert "No JDBC driver accepts connection.url: put the jar of one into a folder" in sink.failure()


@pytest.mark.parametrize("dialect", ["", "GenericDatabaseDialect"])
def test_a_query_of_sqlite(spark: Hosted, kafka: Kafka, tmp_path: Path, dialect: str) -> None:
    file = tmp_path / "app.db"
    execute(file, THINGS, things(1, 20))
    settings = {
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "query": "WITH odd AS (SELECT * FROM things WHERE id % 2) SELECT id, name AS text FROM odd",
        "query.suffix": "LIMIT 7",
        "dialect.name": dialect,
    }
    with JdbcSource(spark, kafka, f"jdbc:sqlite:{file}", **settings) as one:
        one.start()
        assert one.wait("", 10) == [{"id": i, "text": f"n{i}"} for i in range(1, 20, 2)]


def test_sums_of_a_decimal_column_of_sqlite_are_read_as_sqlite_shows_them(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    file = tmp_path / "app.db"
    table = "CREATE TABLE prices (id INTEGER PRIMARY KEY NOT NULL, price DECIMAL(10, 2))"
    execute(file, table, "INSERT INTO prices VALUES (1, 0.1 + 0.2), (2, 1.1 * 3), (3, 0.25)")
    settings = {"mode": "incrementing", "incrementing.column.name": "id"}
    with JdbcSource(spark, kafka, f"jdbc:sqlite:{file}", **settings) as one:
        one.start()
        assert [row["price"] for row in one.wait("prices", 3)] == ["Hg==", "AUo=", "GQ=="]
        execute(file, "INSERT INTO prices VALUES (4, 0.125)")
        assert "column price has a value of more than 2 digits after the point" in one.failure()


def test_a_few_rows_are_read_for_a_preview(spark: Hosted, tmp_path: Path) -> None:
    file = tmp_path / "app.db"
    execute(file, THINGS, things(1, 5_000))
    config = {"connection.url": f"jdbc:sqlite:{file}", "topic.prefix": "of-", "mode": "incrementing"}
    task = "penstock.connectors.jdbc:JdbcSourceTask"
    answer = spark.sample(sample_spec(task, config), 3, 60.0).result(SECONDS)
    found = read(base64.b64decode(answer.records or ""))
    assert (found.values, found.topics) == ([{"id": i, "name": f"n{i}"} for i in (1, 2, 3)], ["of-things"] * 3)
    assert list(found.origin.offsets)[-1] == {"incrementing": 3}
    execute(file, "DROP TABLE things")
    lacking = {**config, "connection.url": f"jdbc:sqlite:{tmp_path}/no/folder.db", "connection.attempts": "1"}
    assert "could not be read" in (spark.sample(sample_spec(task, lacking), 3, 60.0).result(SECONDS).error or "")


def test_a_whole_table_is_read_again_and_again(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    file = tmp_path / "app.db"
    execute(file, THINGS, things(1, 5000), "CREATE VIEW seen AS SELECT name FROM things WHERE id < 3")
    settings = {"mode": "bulk", "poll.interval.ms": "1000000", "table.types": "TABLE,VIEW", **SPLIT}
    with JdbcSource(spark, kafka, f"jdbc:sqlite:{file}", **settings) as one:
        for count in (1, 2):
            one.start()
            found = one.wait("things", 5000 * count)
            assert sorted(row["id"] for row in found) == sorted([*range(1, 5001)] * count)
            assert one.wait("seen", 2 * count)[-2:] == [{"name": "n1"}, {"name": "n2"}]
            one.stop()
        assert [offset for _, offset in one.committed()] == [None, None]


TIMES = {"timestamp.column.name": "at", "batch.max.rows": "500", "penstock.read.rows": "20000"}


def test_rows_are_sent_once_when_spark_is_killed(spark: Hosted, kafka: Kafka, postgres: Postgres) -> None:
    postgres.execute(EVENTS.format("events", "events", 150_000))
    settings = {**TIMES, "mode": "timestamp", "table.whitelist": "public.events"}
    with JdbcSource(spark, kafka, postgres.url, exactly_once=True, **settings) as one:
        topic = f"{one.prefix}events"
        one.start()
        eventually(lambda: one.fine() and topic in kafka.topics() and one.values("events"), SECONDS)
        os.kill(one.hosted.query_driver.process_id, signal.SIGKILL)
        assert [event for event in one.ended() if isinstance(event, TaskLost)]
        one.hosted.events.until(SparkDied)
        one.hosted.events.until(SparkReady)
        assert len(one.values("events")) < 150_000
        one.start()
        assert sorted(row["id"] for row in one.wait("events", 150_000)) == list(range(1, 150_001))
        one.stop()
        ((partition, offset),) = one.committed()
        assert partition == {"protocol": "1", "table": "postgres.public.events"}
        assert set(offset or {}) == {"timestamp", "timestamp_nanos"}


def test_rows_of_a_time_are_not_read_again_if_the_last_of_them_is_dropped(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    """They are a transaction, whose offset is behind all of them."""
    rows = ", ".join(f"({i + 1}, TIMESTAMP '2026-01-01 00:00:0{i // 3}', '{n}')" for i, n in enumerate("12x4"))
    postgres.execute(f"CREATE TABLE drops (id BIGINT, at TIMESTAMP NOT NULL, n TEXT); INSERT INTO drops VALUES {rows}")
    cast = {"transforms": "c", "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value"}
    dropping = {**cast, "transforms.c.spec": "n:int32", "errors.tolerance": "all"}
    settings = {**TIMES, **dropping, "mode": "timestamp", "table.whitelist": "drops"}
    with JdbcSource(spark, kafka, postgres.url, exactly_once=True, **settings) as one:
        one.start()
        assert [row["id"] for row in one.wait("drops", 3)] == [1, 2, 4]
        eventually(lambda: len(kafka.values(one.offsets)) > 1)
        stored = [json.loads(value)["timestamp"] for value in kafka.values(one.offsets) if value is not None]
    midnight = 1767225600000
    assert stored == [midnight, midnight + 1000]


def test_a_pause_in_a_read_stops_it_and_after_it_no_row_is_missing_or_twice(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.execute(EVENTS.format("pauses", "pauses", 30_000))
    settings = {"mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "pauses"}
    small = {"batch.max.rows": "100", "penstock.read.rows": "5000", "penstock.read.partitions": "2"}
    with JdbcSource(spark, kafka, postgres.url, exactly_once=True, **settings, **small) as one:
        topic = f"{one.prefix}pauses"
        one.start()
        eventually(lambda: one.fine() and topic in kafka.topics() and one.values("pauses"), SECONDS)
        one.hosted.pause(one.id)
        one.until(TaskPaused)
        before = one.values("pauses", "read_uncommitted")
        one.while_another_runs()
        assert one.values("pauses") == one.values("pauses", "read_uncommitted") == before
        assert 0 < len(before) < 30_000
        postgres.rows("INSERT INTO pauses VALUES (30001, now())")
        one.hosted.resume(one.id)
        assert [row["id"] for row in one.wait("pauses", 30_001)] == list(range(1, 30_002))


def test_a_java_connectors_offset_is_continued_when_the_database_was_away(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.execute(EVENTS.format("moves", "moves", 5000))
    settings = {**TIMES, "mode": "timestamp+incrementing", "incrementing.column.name": "id"}
    with JdbcSource(spark, kafka, postgres.url, **settings, **{"table.include.list": ".*[.]moves"}) as one:
        # At 2026-01-01 00:00:00.002, in a database whose driver tells no catalog.
        stored = {"incrementing": 1500, "timestamp": 1767225600002, "timestamp_nanos": 2_000_000}
        partition = {"protocol": "1", "table": "public.moves"}
        key = json.dumps([one.name, partition], separators=(",", ":"))
        kafka.produce(one.offsets, [Record(json.dumps(stored), key)])
        one.start()
        assert [row["id"] for row in one.wait("moves", 3500)] == list(range(1501, 5001))
        postgres.stop()
        one.while_another_runs()
        postgres.start()
        postgres.rows("INSERT INTO moves VALUES (5001, now())")
        assert one.wait("moves", 3501)[-1]["id"] == 5001
        one.stop()
        ((given_back, offset),) = one.committed()
        assert given_back == partition
        assert (offset or {})["incrementing"] == 5001


@pytest.mark.parametrize("columns", ["day", "day,at"])
def test_a_timestamp_column_may_be_a_date(spark: Hosted, kafka: Kafka, postgres: Postgres, columns: str) -> None:
    table = f"days_{len(columns)}"
    postgres.rows(f"CREATE TABLE {table} (id INT NOT NULL, day DATE, at TIMESTAMP)")
    postgres.rows(f"INSERT INTO {table} VALUES (1, '2026-01-01', now()), (2, '2026-01-02', now())")
    settings = {"mode": "timestamp", "timestamp.column.name": columns, "table.whitelist": table}
    with JdbcSource(spark, kafka, postgres.url, **settings, **{"validate.non.null": "false"}) as one:
        one.start()
        assert [row["id"] for row in one.wait(table, 2)] == [1, 2]
        postgres.rows(f"INSERT INTO {table} VALUES (3, '2026-01-03', now())")
        assert one.wait(table, 3)[-1]["id"] == 3


@pytest.mark.parametrize("mode", ["incrementing", "timestamp"])
def test_a_row_that_is_committed_late_is_read(spark: Hosted, kafka: Kafka, postgres: Postgres, mode: str) -> None:
    table = f"late_{mode}"
    postgres.rows(f"CREATE TABLE {table} (id SERIAL, at TIMESTAMPTZ NOT NULL DEFAULT now())")
    settings = {"mode": mode, "table.whitelist": table, "penstock.snapshot.horizon": "true"}
    if mode == "timestamp":
        settings["timestamp.column.name"] = "at"
    with JdbcSource(spark, kafka, postgres.url, **settings) as one:
        insert = f"INSERT INTO {table} DEFAULT VALUES"
        postgres.rows(insert)
        one.start()
        one.wait(table, 1)
        slow = postgres.session()
        assert slow.stdin is not None
        assert slow.stdout is not None
        slow.stdin.write(f"BEGIN; {insert} RETURNING id;\n")
        slow.stdin.flush()
        assert slow.stdout.readline() == "2\n"
        postgres.rows(insert)
        one.while_another_runs()
        assert [row["id"] for row in one.values(table)] == [1]
        slow.communicate("COMMIT;\n")
        assert [row["id"] for row in one.wait(table, 3)] == [1, 2, 3]


EVERY_TYPE = """
id INT PRIMARY KEY, small SMALLINT, big BIGINT, r REAL, d DOUBLE PRECISION, n NUMERIC(12, 3), b BOOLEAN, t TEXT,
c CHAR(5), bytes BYTEA, day DATE, clock TIME(3), at TIMESTAMP(3), zoned TIMESTAMPTZ(3), doc JSONB, u UUID, bits BIT(3),
tags TEXT[], counts INT[], flags BOOLEAN[], free NUMERIC
"""
RANDOM = """
i, (random() * 65535 - 32768)::int, (random() * 1e18)::bigint - 5e17::bigint, random()::real, exp(random() * 600 - 300),
(random() * 1e9 - 5e8)::numeric(12, 3), random() < 0.5, repeat(chr(1 + (random() * 50000)::int), i % 5) || i,
chr(65 + i % 26), decode(md5(i::text), 'hex'), DATE '0100-01-01' + i * 70,
TIME '00:00' + random() * INTERVAL '23:59:59',
TIMESTAMP '1800-01-01 01:00' + i * INTERVAL '11 days' + random() * INTERVAL '22:59:59',
now() - random() * INTERVAL '30 years', jsonb_build_object('i', i), gen_random_uuid(), (i % 8)::bit(3),
ARRAY['a,"', NULL, i::text], ARRAY[i, NULL], (ARRAY[true, false])[1:i % 3], random()::numeric
"""
"""Java's calendar has no 5 to 14 October 1582, and Tokyo's clocks skipped the first hour of a day in each spring from
1948 to 1951. What lies there comes back later, so no row has it.
"""
COMPARED = """
id, small, big, r, d, n, b, t, c, bytes, day, clock, at, zoned AT TIME ZONE 'UTC', doc::text, u::text,
tags, counts, flags, free
"""


def test_rows_of_every_type_there_and_back(spark: Hosted, kafka: Kafka, postgres: Postgres) -> None:
    postgres.execute(
        f"CREATE TABLE origin ({EVERY_TYPE});"
        f"INSERT INTO origin SELECT {RANDOM} FROM generate_series(1, 10000) i; INSERT INTO origin VALUES (10001)"
    )
    schemas = {"value.converter.schemas.enable": "true", "table.whitelist": "origin", "mode": "incrementing"}
    zone = {"db.timezone": "Asia/Tokyo", "sql.complex.types.enable": "true"}
    with JdbcSource(spark, kafka, postgres.url, **schemas, **zone, **{"incrementing.column.name": "id"}) as source:
        source.start()
        source.wait("origin", 10_001)
        source.stop()
        copy = {"topics": source.prefix + "origin", "table.name.format": "copy", **zone}
        with JdbcSink(spark, kafka, postgres.url, **copy) as sink:
            sink.topic = source.prefix + "origin"
            sink.start()
            sink.written(10_001)
    compared = COMPARED.replace(" AT TIME ZONE 'UTC'", " AT TIME ZONE 'Asia/Tokyo'")
    copied = COMPARED.replace(" AT TIME ZONE 'UTC'", "")
    missing_rows = f"SELECT {compared} FROM origin EXCEPT SELECT {copied} FROM copy"
    assert postgres.rows(missing_rows) == []
    assert postgres.rows("SELECT count(*) FROM copy JOIN origin o USING (id) WHERE copy.bits = o.bits::int") == [
        ["10000"]
    ]


def test_a_table_of_derby_that_a_sink_has_written(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    url = f"jdbc:derby:{tmp_path}/derby;create=true"
    key = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id"}
    at = {**field("at", "int64"), "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
    rows = [{"id": i, "name": f"n{i}", "price": i / 4, "at": 1767225600000 + i // 3} for i in range(300)]
    with JdbcSink(spark, kafka, url, **key) as sink:
        sink.add([ID, NAME, field("price", "double"), at], *rows)
        sink.start()
        sink.written(300)
    column = {"timestamp.column.name": "AT", "validate.non.null": "false", "penstock.read.rows": "50"}
    with JdbcSource(spark, kafka, url, mode="timestamp", **column, **{"timestamp.granularity": "micros_long"}) as one:
        one.start()
        found = one.wait("things", 300)
        assert [row["at"] for row in found] == [row["at"] * 1000 for row in rows]
        assert sorted(row["id"] for row in found) == list(range(300))
    settings = {"mode": "bulk", "penstock.read.rows": "50", "poll.interval.ms": "1000000"}
    with JdbcSource(spark, kafka, url, **settings) as one:
        one.start()
        assert one.wait("things", 300) == rows
