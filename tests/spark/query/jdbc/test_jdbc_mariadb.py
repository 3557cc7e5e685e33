"""The JDBC connectors on a real MariaDB."""

from __future__ import annotations

import json
import subprocess

import pytest

from faults.proxy import Proxy
from support.kafka.client import Kafka
from support.mariadb import MariaDb
from support.spark.host import Hosted
from support.spark.jdbc import ID, NAME, JdbcSink, JdbcSource, field

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MOVES = """
CREATE TABLE moves (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, at DATETIME(6) NOT NULL, name VARCHAR(20));
INSERT INTO moves (at, name)
SELECT TIMESTAMP'2026-01-01 00:00:00' + INTERVAL seq DIV 70 * 1500 MICROSECOND, CONCAT('n', seq) FROM seq_1_to_5000;
"""
"""Seventy rows have the same time, which is not a whole number of milliseconds."""
SPLIT = {"penstock.read.partitions": "4", "penstock.read.rows": "1000", "batch.max.rows": "300"}
MODES = {
    "incrementing": {},
    "timestamp": {"timestamp.column.name": "at"},
    "timestamp+incrementing": {"timestamp.column.name": "at"},
}


@pytest.mark.parametrize("mode", MODES)
def test_new_rows_are_read_in_the_order_of_the_mode(spark: Hosted, kafka: Kafka, mariadb: MariaDb, mode: str) -> None:
    mariadb.execute("DROP TABLE IF EXISTS moves;" + MOVES)
    settings = {"mode": mode, "table.whitelist": "moves", **MODES[mode], **SPLIT}
    with JdbcSource(spark, kafka, mariadb.url, exactly_once=True, **settings) as one:
        one.start()
        found = one.wait("moves", 5000)
        numbers = [row["id"] for row in found]
        # By time alone, rows of the same time are in any order.
        assert [number // 70 for number in numbers] == [number // 70 for number in range(1, 5001)]
        assert (numbers if "incrementing" in mode else sorted(numbers)) == list(range(1, 5001))
        one.stop()
        mariadb.execute("INSERT INTO moves VALUES (5001, '2026-02-01 00:00:00.000001', 'late')")
        one.start()
        assert one.wait("moves", 5001)[-1]["name"] == "late"
        one.stop()
        ((partition, offset),) = one.committed()
        assert partition == {"protocol": "1", "table": "app.moves"}
        assert {key: value for key, value in (offset or {}).items() if key == "incrementing"} == (
            {"incrementing": 5001} if "incrementing" in mode else {}
        )


def test_rows_are_written_changed_and_deleted_and_refused_ones_are_dead_letters(
    spark: Hosted, kafka: Kafka, mariadb: MariaDb
) -> None:
    letters = kafka.create_topic()
    settings = {
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "delete.enabled": "true",
        "auto.evolve": "true",
        "penstock.delivery": "exactly-once",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    with JdbcSink(spark, kafka, mariadb.url, **settings) as one:
        one.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(1, 5)))
        one.add([ID, NAME], {"id": 2, "name": "zwei"}, {"id": 1})
        one.start()
        one.written(6)
        assert mariadb.rows("SELECT * FROM things ORDER BY id") == [["2", "zwei"], ["3", "n3"], ["4", "n4"]]
        small = field("small", "int8")
        mariadb.execute("ALTER TABLE things ADD CONSTRAINT less CHECK (id <> 13)")
        rows = ({"id": i, "name": f"n{i}", "small": i} for i in range(10, 20))
        one.add([ID, NAME, small], *rows, {"id": 4, "name": None, "small": None})
        one.written(17)
        wanted = [[str(i), f"n{i}", str(i)] for i in range(10, 20) if i != 13]
        assert mariadb.rows("SELECT * FROM things WHERE id > 3 ORDER BY id") == [["4", "NULL", "NULL"], *wanted]
        assert [json.loads(value or b"")["payload"]["id"] for value in kafka.values(letters)] == [13]


def of_mysql(url: str) -> str:
    """Return the URL as existing configurations write it; `penstock plugins install` still fetches MariaDB's driver."""
    return url.replace("jdbc:mariadb:", "jdbc:mysql:")


def test_tables_of_a_catalog(spark: Hosted, kafka: Kafka, mariadb: MariaDb) -> None:
    """MariaDB's catalogs are its databases."""
    mariadb.execute(
        "CREATE TABLE twin (id INT PRIMARY KEY); INSERT INTO twin VALUES (1);"
        "CREATE DATABASE other; CREATE TABLE other.twin (id INT PRIMARY KEY); INSERT INTO other.twin VALUES (2);"
        "CREATE TABLE other.single (id INT PRIMARY KEY); INSERT INTO other.single VALUES (3)"
    )
    settings = {"mode": "bulk", "poll.interval.ms": "1000000", "catalog.pattern": "other"}
    with JdbcSource(spark, kafka, of_mysql(mariadb.url), **settings) as one:
        one.start()
        assert one.wait("twin", 1) == [{"id": 2}]
        assert one.wait("single", 1) == [{"id": 3}]
        one.stop()
        assert {topic.removeprefix(one.prefix) for topic in kafka.topics() if topic.startswith(one.prefix)} == {
            "twin",
            "single",
        }


@pytest.mark.parametrize(("mode", "wanted"), [("insert", "INSERT"), ("update", "UPDATE")])
def test_rows_are_only_added_or_only_changed(
    spark: Hosted, kafka: Kafka, mariadb: MariaDb, mode: str, wanted: str
) -> None:
    table = f"only_{mode}"
    mariadb.execute(f"CREATE TABLE {table} (ID INT PRIMARY KEY, Name TEXT); INSERT INTO {table} VALUES (1, 'old')")
    settings = {"insert.mode": mode, "pk.mode": "record_key", "table.name.format": f"app.{table}"}
    with JdbcSink(spark, kafka, of_mysql(mariadb.url) if mode == "insert" else mariadb.url, **settings) as one:
        one.add([ID, NAME], {"id": 1 if mode == "update" else 2, "name": "new"}, {"id": 3, "name": "new"})
        one.start()
        one.written(2)
    found = mariadb.rows(f"SELECT * FROM {table} ORDER BY id")
    assert found == {"INSERT": [["1", "old"], ["2", "new"], ["3", "new"]], "UPDATE": [["1", "new"]]}[wanted]


EVERY_TYPE = """
id INT PRIMARY KEY, tiny TINYINT, utiny TINYINT UNSIGNED, small SMALLINT, usmall SMALLINT UNSIGNED, medium MEDIUMINT,
i INT, ui INT UNSIGNED, big BIGINT, f FLOAT, d DOUBLE, n DECIMAL(30, 4), flag TINYINT(1), b BOOLEAN, bit1 BIT(1),
c CHAR(5), v VARCHAR(50), t TEXT, bin BINARY(4), vbin VARBINARY(50), data BLOB, day DATE, clock TIME(3),
at DATETIME(3), stamped TIMESTAMP(3) NULL, y YEAR, kind ENUM('a', 'b'), doc JSON, u UUID
"""
RANDOM = """
seq, seq % 256 - 128, seq % 256, seq % 65536 - 32768, seq * 6, seq * 131 - 700000, seq * 4001 - 20000000,
seq * 400001, 9e18 * (RAND() - 0.5), RAND(), EXP(RAND() * 600 - 300), (RAND() - 0.5) * 1e20, seq % 2, seq % 3 = 0,
seq % 2, CHAR(65 + seq % 26), CONCAT(CHAR(0x4E00 + seq USING ucs2), seq), REPEAT('ä€𝄞', seq % 4), UNHEX('00ff10'),
UNHEX(MD5(seq)), UNHEX(SHA1(seq)), DATE'1600-01-01' + INTERVAL seq * 300 DAY,
SEC_TO_TIME(RAND() * 86399), TIMESTAMP'1600-01-01 00:00:00' + INTERVAL RAND() * 2.5e11 SECOND,
TIMESTAMP'1971-01-01 00:00:00' + INTERVAL RAND() * 1.8e9 SECOND, 1902 + seq % 250, IF(seq % 2, 'a', 'b'),
JSON_OBJECT('i', seq), UUID()
"""
"""Java's calendar differs before 15 October 1582."""


def test_rows_of_every_type_there_and_back(spark: Hosted, kafka: Kafka, mariadb: MariaDb) -> None:
    mariadb.execute(
        f"CREATE TABLE origin ({EVERY_TYPE}); SET sql_mode = CONCAT(@@sql_mode, ',NO_UNSIGNED_SUBTRACTION');"
        f"INSERT INTO origin SELECT {RANDOM} FROM seq_1_to_10000;"
        "INSERT INTO origin (id) VALUES (10001)"
    )
    settings = {"mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "origin"}
    more = {"value.converter.schemas.enable": "true"}
    with JdbcSource(spark, kafka, mariadb.url, **settings, **more) as source:
        source.start()
        source.wait("origin", 10_001)
        source.stop()
        topic = {"topics": source.prefix + "origin", "table.name.format": "copy"}
        with JdbcSink(spark, kafka, mariadb.url, **topic) as sink:
            sink.topic = source.prefix + "origin"
            sink.start()
            sink.written(10_001)
    mariadb.execute("ALTER TABLE copy ADD PRIMARY KEY (id)")  # no row is duplicated, and the join is fast
    names = [line.split()[0] for line in EVERY_TYPE.replace("(30, 4)", "").replace("'a', 'b'", "").split(",")]
    differing = {
        name: rows
        for name in names
        if (
            rows := mariadb.rows(
                f"SELECT o.{name}, c.{name} FROM origin o LEFT JOIN copy c USING (id) "
                f"WHERE NOT (o.{name} <=> {'YEAR(c.y)' if name == 'y' else f'c.{name}'}) LIMIT 2"
            )
        )
    }
    assert differing == {}


def test_a_table_that_is_created_has_the_defaults_of_texts(spark: Hosted, kafka: Kafka, mariadb: MariaDb) -> None:
    text = "it's a \\"
    with JdbcSink(spark, kafka, mariadb.url, **{"table.name.format": "defaulted"}) as one:
        one.add([ID, field("kind", "string", default=text)], {"id": 1, "kind": "given"})
        one.start()
        one.written(1)
    mariadb.execute("INSERT INTO defaulted (id) VALUES (2)")
    assert mariadb.rows("SELECT HEX(kind) FROM defaulted WHERE id = 2") == [[text.encode().hex().upper()]]


def test_a_text_that_is_too_long_is_refused_though_the_server_would_cut_it(
    spark: Hosted, kafka: Kafka, mariadb: MariaDb
) -> None:
    mariadb.execute("SET GLOBAL sql_mode = ''; CREATE TABLE cut (id INT PRIMARY KEY, name VARCHAR(3))")
    try:
        letters = kafka.create_topic()
        settings = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters}
        settings |= {"errors.deadletterqueue.topic.replication.factor": "1", "table.name.format": "cut"}
        with JdbcSink(spark, kafka, mariadb.url, **settings) as one:
            one.add([ID, NAME], *({"id": i, "name": name} for i, name in enumerate(("abc", "abcd", "ab"))))
            one.start()
            one.written(3)
        assert mariadb.rows("SELECT * FROM cut ORDER BY id") == [["0", "abc"], ["2", "ab"]]
        assert [json.loads(value or b"")["payload"]["name"] for value in kafka.values(letters)] == ["abcd"]
    finally:
        mariadb.execute("SET GLOBAL sql_mode = DEFAULT")


def refusing(data: bytes) -> bytes:
    """Change the statement so that the server reacts as if it did not know this mode."""
    return data.replace(b"'STRICT_ALL_TABLES'", b"'STRICT_ALL_TABLEZ'")


def test_a_server_that_refuses_the_strict_mode_is_named_at_once_unless_it_is_strict_anyway(
    spark: Hosted, kafka: Kafka, mariadb: MariaDb
) -> None:
    attempts = {"connection.attempts": "5", "connection.backoff.ms": "100000000"}
    table = {"table.name.format": "strict"}
    try:
        with Proxy(mariadb.port, refusing) as proxy:
            url = mariadb.url.replace(f":{mariadb.port}/", f":{proxy.port}/")
            with JdbcSink(spark, kafka, url, **table, **attempts) as one:
                one.add([ID, NAME], {"id": 1, "name": "n1"})
                one.start()
                one.written(1)
            mariadb.execute("SET GLOBAL sql_mode = ''")
            # Otherwise the driver sets its sessions to strict mode.
            with JdbcSink(spark, kafka, f"{url}&jdbcCompliantTruncation=false", **table, **attempts) as one:
                one.add([ID, NAME], {"id": 2, "name": "n2"})
                one.start()
                trace = one.failure()
    finally:
        mariadb.execute("SET GLOBAL sql_mode = DEFAULT")
    first = trace.splitlines()[0]
    assert "The server does not let the sink's session have sql_mode STRICT_ALL_TABLES" in first
    assert "set it on the server" in first
    assert "STRICT_ALL_TABLEZ" in first
    assert mariadb.rows("SELECT id FROM strict") == [["1"]]


BERLIN, VIENNA = {"db.timezone": "Europe/Berlin"}, {"db.timezone": "Europe/Vienna"}
"""The server does not know the first."""
SUMMER = 1_782_900_000_000
AT = field("at", "int64") | {"name": "org.apache.kafka.connect.data.Timestamp", "version": 1}


def test_a_region_that_the_server_does_not_know_is_refused_for_columns_with_instants(
    spark: Hosted, kafka: Kafka, mariadb: MariaDb
) -> None:
    """A DATETIME is converted by the connector, a TIMESTAMP by the server."""
    mariadb.execute("CREATE TABLE instants (id INT, at TIMESTAMP(3) NULL); CREATE TABLE days (id INT, at DATETIME(3))")
    row = {"id": 1, "at": SUMMER}
    read = {"mode": "bulk", "poll.interval.ms": "1000000", **BERLIN}
    with JdbcSink(spark, kafka, mariadb.url, **{"table.name.format": "days"}, **BERLIN) as one:
        one.add([ID, AT], row)
        one.start()
        one.written(1)
    assert mariadb.rows("SELECT at FROM days") == [["2026-07-01 12:00:00.000"]]
    with JdbcSource(spark, kafka, mariadb.url, **{"table.whitelist": "days"}, **read) as source:
        source.start()
        assert source.wait("days", 1) == [row]
    with JdbcSink(spark, kafka, mariadb.url, **{"table.name.format": "instants"}, **BERLIN) as one:
        one.add([ID, AT], row)
        one.start()
        written = one.failure()
    with JdbcSource(spark, kafka, mariadb.url, **{"table.whitelist": "instants"}, **read) as source:
        source.start()
        found = source.failure()
    for trace in (written, found):
        first = trace.splitlines()[0]
        assert "Column at has instants (TIMESTAMP), and the server does not know the time zone" in first
        assert "db.timezone=Europe/Berlin: load its time zone tables (mariadb-tzinfo-to-sql" in first
    assert mariadb.rows("SELECT COUNT(*) FROM instants") == [["0"]]


def test_a_region_that_the_server_knows_keeps_instants(spark: Hosted, kafka: Kafka, mariadb: MariaDb) -> None:
    zone = VIENNA["db.timezone"]
    command = ["mariadb-tzinfo-to-sql", f"/usr/share/zoneinfo/{zone}", zone]
    mariadb.execute(subprocess.run(command, capture_output=True, text=True, check=True).stdout, database="mysql")
    mariadb.execute("CREATE TABLE known (id INT, at TIMESTAMP(3) NULL)")
    rows = [{"id": 1, "at": SUMMER}, {"id": 2, "at": SUMMER + 180 * 86_400_000}]
    with JdbcSink(spark, kafka, mariadb.url, **{"table.name.format": "known"}, **VIENNA) as one:
        one.add([ID, AT], *rows)
        one.start()
        one.written(2)
    assert mariadb.rows("SELECT id, ROUND(UNIX_TIMESTAMP(at) * 1000) FROM known ORDER BY id") == [
        [str(row["id"]), str(row["at"])] for row in rows
    ]
    read = {"mode": "bulk", "poll.interval.ms": "1000000", "table.whitelist": "known"}
    with JdbcSource(spark, kafka, mariadb.url, **read, **VIENNA) as source:
        source.start()
        assert sorted(source.wait("known", 2), key=lambda row: row["id"]) == rows
