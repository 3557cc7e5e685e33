"""Effects of the JDBC connectors' settings on a real PostgreSQL."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest

from support.kafka.client import Kafka
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import ID, NAME, JdbcSink, JdbcSource, field
from support.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SCHEMA = """
CREATE SCHEMA shop; CREATE SCHEMA other;
CREATE TABLE shop.orders
(id INT PRIMARY KEY, customer INT, price NUMERIC(6, 2), pieces NUMERIC(4), weight NUMERIC(3, -2),
at TIMESTAMP NOT NULL);
INSERT INTO shop.orders SELECT i, i % 3, i / 4.0, i, i * 900,
TIMESTAMP '2026-01-01 12:00' + i * INTERVAL '1 microsecond'
FROM generate_series(1, 50) i;
CREATE TABLE shop.customers (id INT PRIMARY KEY, name TEXT);
INSERT INTO shop.customers VALUES (0, 'a'), (1, 'b'), (2, 'c'), (3, 'nobody');
CREATE VIEW shop.names AS SELECT name FROM shop.customers;
CREATE TABLE other.orders (id INT); INSERT INTO other.orders VALUES (99);
CREATE VIEW other.names AS SELECT 'nobody' AS name;
"""


@pytest.fixture(scope="module")
def shop(postgres: Postgres) -> Postgres:
    postgres.execute(SCHEMA)
    return postgres


@pytest.mark.parametrize("suffix", ["LIMIT 7", ""])
def test_a_query_of_which_rows_without_a_number_are_not_read(
    spark: Hosted, kafka: Kafka, shop: Postgres, suffix: str
) -> None:
    settings = {
        "mode": "incrementing",
        "incrementing.column.name": "o.id",
        "query": "SELECT o.id, c.name FROM shop.orders o RIGHT JOIN shop.customers c ON c.id = o.customer",
        "query.suffix": suffix,
    }
    with JdbcSource(spark, kafka, shop.url, **settings) as one:
        one.start()
        assert one.wait("", 50) == [{"id": i, "name": "abc"[i % 3]} for i in range(1, 51)]
        one.stop()
        assert one.committed() == [({"query": "query"}, {"incrementing": 50})]


def test_a_limit_leaves_no_row_out_of_a_table_of_many_ranges(spark: Hosted, kafka: Kafka, shop: Postgres) -> None:
    settings = {"mode": "incrementing", "incrementing.column.name": "id", "query.suffix": "LIMIT 20"}
    choice = {"schema.pattern": "shop", "table.whitelist": "orders", "penstock.read.rows": "5"}
    with JdbcSource(spark, kafka, shop.url, **settings, **choice) as one:
        one.start()
        assert [row["id"] for row in one.wait("orders", 50)] == list(range(1, 51))


def test_tables_by_catalog_schema_kind_and_name(spark: Hosted, kafka: Kafka, shop: Postgres) -> None:
    settings = {
        "mode": "bulk",
        "poll.interval.ms": "1000000",
        "catalog.pattern": "postgres",
        "schema.pattern": "sho%",
        "table.types": "TABLE,VIEW",
        "table.exclude.list": ".*[.]customers",
        "quote.sql.identifiers": "never",
        "transaction.isolation.mode": "SERIALIZABLE",
    }
    with JdbcSource(spark, kafka, shop.url, **settings) as one:
        one.start()
        assert len(one.wait("orders", 50)) == 50
        assert one.wait("names", 4) == [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "nobody"}]
        one.stop()
        assert {topic for topic in kafka.topics() if topic.startswith(one.prefix)} == {
            f"{one.prefix}orders",
            f"{one.prefix}names",
        }


MICROS = 1767286800000001
"""2026-01-01 12:00:00.000001 in New York."""


@pytest.mark.parametrize(
    ("granularity", "mapping", "expected"),
    [
        ("connect_logical", "none", {"at": MICROS // 1000, "price": "GQ==", "pieces": "AQ==", "weight": "CQ=="}),
        ("micros_long", "precision_only", {"at": MICROS, "price": "GQ==", "pieces": 1, "weight": "CQ=="}),
        ("nanos_string", "best_fit", {"at": f"{MICROS}000", "price": 0.25, "pieces": 1, "weight": 900}),
        (
            "micros_iso_datetime_string",
            "best_fit_eager_double",
            {"at": "2026-01-01T12:00:00.000001", "price": 0.25, "pieces": 1, "weight": 900},
        ),
    ],
)
def test_numbers_and_times_as_the_settings_say(
    spark: Hosted, kafka: Kafka, shop: Postgres, granularity: str, mapping: str, expected: dict[str, Any]
) -> None:
    settings = {
        "mode": "timestamp",
        "timestamp.columns.mapping": ".*orders:[at]",
        "table.include.list": ".*shop[.]orders",
        "timestamp.granularity": granularity,
        "numeric.mapping": mapping,
        "db.timezone": "America/New_York",
    }
    with JdbcSource(spark, kafka, shop.url, **settings) as one:
        one.start()
        assert one.wait("orders", 50)[0] == {"id": 1, "customer": 1, **expected}


ISOLATION = "SELECT 1 AS n, current_setting('transaction_isolation') AS isolation"


@pytest.mark.parametrize(
    ("mode", "isolation"),
    [("DEFAULT", "read committed"), ("REPEATABLE_READ", "repeatable read"), ("SERIALIZABLE", "serializable")],
)
def test_the_isolation_of_what_is_read(spark: Hosted, kafka: Kafka, shop: Postgres, mode: str, isolation: str) -> None:
    settings = {"mode": "bulk", "query": ISOLATION, "transaction.isolation.mode": mode}
    with JdbcSource(spark, kafka, shop.url, **settings) as one:
        one.start()
        assert one.wait("", 1)[0] == {"n": 1, "isolation": isolation}


PAIRS = """
CREATE SEQUENCE shop.entered_{name};
CREATE FUNCTION shop.pair_{name}() RETURNS BOOL VOLATILE LANGUAGE plpgsql AS $$
DECLARE mine BIGINT; patience TIMESTAMPTZ := clock_timestamp() + INTERVAL '{patience} s';
BEGIN
    IF current_query() ILIKE '%max(%' THEN RETURN NULL; END IF;
    mine := nextval('shop.entered_{name}');
    LOOP
        IF (SELECT last_value FROM shop.entered_{name}) >= (mine + 1) / 2 * 2 THEN RETURN TRUE; END IF;
        IF clock_timestamp() > patience THEN RETURN FALSE; END IF;
        PERFORM pg_sleep(0.05);
    END LOOP;
END $$;
CREATE VIEW shop.pairs_{name} AS SELECT o.id, p.met FROM shop.orders o, (SELECT shop.pair_{name}() AS met OFFSET 0) p;
"""
"""A query of the view waits for another one by a sequence, which is not transactional."""


@pytest.mark.parametrize(("partitions", "patience"), [(1, 2), (2, 300)])
def test_read_partitions_bounds_concurrent_reads(
    spark: Hosted, kafka: Kafka, shop: Postgres, partitions: int, patience: int
) -> None:
    name = f"of_{partitions}"
    shop.execute(PAIRS.format(name=name, patience=patience))
    settings = {
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "validate.non.null": "false",
        "table.types": "VIEW",
        "table.whitelist": f"shop.pairs_{name}",
        "penstock.read.rows": "25",
        "penstock.read.partitions": str(partitions),
    }
    with JdbcSource(spark, kafka, shop.url, **settings) as one:
        one.start()
        found = one.wait(f"pairs_{name}", 50)
    assert [row["id"] for row in found] == list(range(1, 51))
    assert found[0]["met"] is (partitions == 2)


def test_rows_from_a_time_on_and_not_before_they_are_old_enough(spark: Hosted, kafka: Kafka, shop: Postgres) -> None:
    shop.execute(
        "CREATE TABLE shop.news (id INT, at TIMESTAMPTZ); INSERT INTO shop.news VALUES (1, now() - INTERVAL '1 h')"
    )
    settings = {
        "mode": "timestamp",
        "timestamp.column.name": "at",
        "validate.non.null": "false",
        "table.whitelist": "shop.news",
        "timestamp.initial": "-1",
        "timestamp.delay.interval.ms": "3000",
    }
    with JdbcSource(spark, kafka, shop.url, **settings) as one:
        one.start()
        scans = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'news'"
        until(lambda: shop.rows(scans) > [["0"]], "its first query of the table, of a time before the row")
        begun = time.monotonic()
        shop.rows("INSERT INTO shop.news VALUES (2, now())")
        assert one.wait("news", 1)[0]["id"] == 2
        assert time.monotonic() - begun > 3


def test_tables_of_the_same_name_are_refused(spark: Hosted, kafka: Kafka, shop: Postgres) -> None:
    with JdbcSource(spark, kafka, shop.url, mode="bulk", **{"table.whitelist": "orders"}) as one:
        one.start()
        assert "Tables postgres.other.orders and postgres.shop.orders would be sent to the same topic" in one.failure()


def test_a_column_that_may_be_null_is_refused(spark: Hosted, kafka: Kafka, shop: Postgres) -> None:
    settings = {"mode": "incrementing", "incrementing.column.name": "customer", "table.whitelist": "shop.orders"}
    with JdbcSource(spark, kafka, shop.url, **settings) as one:
        one.start()
        assert "Column customer of table postgres.shop.orders may be null" in one.failure()


DAY = {**field("day", "int32"), "name": "org.apache.kafka.connect.data.Date", "version": 1}
AT = {**field("at", "int64"), "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
KIND = field("kind", "string", default="none")


def test_the_key_of_kafka_chosen_fields_and_a_table_of_a_schema(spark: Hosted, kafka: Kafka, shop: Postgres) -> None:
    settings = {
        "insert.mode": "upsert",
        "pk.mode": "kafka",
        "pk.fields": "t,p,o",
        "fields.whitelist": "name",
        "table.name.format": "shop.of_${topic}",
        "batch.size": "2",
    }
    with JdbcSink(spark, kafka, shop.url, **settings) as one:
        one.add([ID, NAME, DAY], *({"id": i, "name": f"n{i}", "day": 0} for i in range(5)))
        one.start()
        one.written(5)
        assert shop.rows(f'SELECT * FROM shop."of_{one.topic}" ORDER BY o') == [
            [one.topic, "0", str(i), f"n{i}"] for i in range(5)
        ]


def test_a_batch_has_so_many_records_and_the_next_waits_for_its_interval(
    spark: Hosted, kafka: Kafka, shop: Postgres
) -> None:
    settings = {
        "table.name.format": "shop.awaited",
        # Spark begins batches at multiples of the interval since 1970: the second one would be in the year 2033.
        "penstock.batch.interval.ms": "2000000000000",
        "penstock.batch.max.records": "2",
    }
    with JdbcSink(spark, kafka, shop.url, **settings) as one:
        one.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(3)))
        one.start()
        one.written(2)
        one.while_another_runs()
        assert shop.rows("SELECT id FROM shop.awaited ORDER BY id") == [["0"], ["1"]]
        one.stop()
        one.start()
        one.written(3)
    assert shop.rows("SELECT id FROM shop.awaited ORDER BY id") == [["0"], ["1"], ["2"]]


def test_a_partitioned_table_is_written(spark: Hosted, kafka: Kafka, shop: Postgres) -> None:
    shop.execute(
        "CREATE TABLE shop.parted (id INT, name TEXT) PARTITION BY RANGE (id);"
        "CREATE TABLE shop.part PARTITION OF shop.parted FOR VALUES FROM (0) TO (10)"
    )
    settings = {"table.name.format": "shop.parted", "auto.create": "false"}
    with JdbcSink(spark, kafka, shop.url, **settings) as one:
        one.add([ID, NAME], {"id": 1, "name": "one"})
        one.start()
        one.written(1)
    assert shop.rows("SELECT * FROM shop.part") == [["1", "one"]]


@pytest.mark.parametrize(("zone", "day"), [("DB_TIMEZONE", "2026-01-01"), ("UTC", "2026-01-02")])
def test_zones_of_dates_and_times_nulls_and_names_without_quotes(
    spark: Hosted, kafka: Kafka, shop: Postgres, zone: str, day: str
) -> None:
    table = f"Zones_{zone}"
    settings = {
        "db.timezone": "America/New_York",
        "date.timezone": zone,
        "replace.null.with.default": "false" if zone == "UTC" else "true",
        "value.converter.replace.null.with.default": "false",
        "quote.sql.identifiers": "never",
        "table.name.format": table,
    }
    midnight = dt.date(2026, 1, 2).toordinal() - dt.date(1970, 1, 1).toordinal()
    with JdbcSink(spark, kafka, shop.url, **settings) as one:
        one.add([ID, DAY, AT, KIND], {"id": 1, "day": midnight, "at": midnight * 86_400_000, "kind": None})
        one.start()
        one.written(1)
    kind = "" if zone == "UTC" else "none"
    assert shop.rows(f"SELECT * FROM {table.lower()}") == [["1", day, "2026-01-01 19:00:00", kind]]


def test_a_task_fails_after_its_retries(spark: Hosted, kafka: Kafka) -> None:
    settings = {"max.retries": "1", "retry.backoff.ms": "10"}
    with JdbcSink(spark, kafka, "jdbc:postgresql://127.0.0.1:1/none", **settings) as one:
        one.add([ID, NAME], {"id": 1, "name": "one"})
        one.start()
        assert "127.0.0.1:1 refused" in one.failure()


def test_a_source_fails_after_its_attempts(spark: Hosted, kafka: Kafka) -> None:
    settings = {"mode": "bulk", "query.retry.attempts": "1", "poll.interval.ms": "10"}
    with JdbcSource(spark, kafka, "jdbc:postgresql://127.0.0.1:1/none", **settings) as one:
        one.start()
        why = "could not be read 2 times in a row: org.postgresql.util.PSQLException: Connection to 127.0.0.1:1 refused"
        assert why in one.failure()
