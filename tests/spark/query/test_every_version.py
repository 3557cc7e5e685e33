"""A short look at all that runs on Spark; ``make spark-matrix`` runs these tests on each supported version."""

from __future__ import annotations

import datetime as dt
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.core.model.tasks import OffsetsReported, TaskEnded, TaskPaused, TaskRunning
from penstock.spark.query.jdbc.drivers import install
from penstock.spark.settings import HostSettings
from penstock.spark.versions import CONTACT, RDD, other_spark, refusal, release
from support.jars import require
from support.kafka.client import Kafka
from support.spark import delta, iceberg
from support.spark.host import Hosted, Spec, id_of, started, without_waiting
from support.spark.jdbc import ID, NAME, JdbcSink, JdbcSource, field, record
from support.spark.queries import Sink, Source
from support.tasks.runs import JSON, STRING

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SCHEMA = "id INT, name STRING, day DATE, at TIMESTAMP, price DECIMAL(10, 2), tags ARRAY<STRING>"
FLAT = SCHEMA.partition(", tags")[0]
ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": "Zoë", "day": "1500-02-28", "at": "1500-02-28T01:02:03.456Z", "price": 12.5, "tags": ["a", None]},
    {"id": 2, "name": None, "day": None, "at": None, "price": None, "tags": None},
    {"id": 3, "name": "", "day": "2026-10-25", "at": "2026-10-25T01:30:00.000Z", "price": 0.01, "tags": []},
]
ORC_ROWS = [{**ROWS[0], "day": "1582-10-15", "at": "1600-02-28T01:02:03.456Z"}, *ROWS[1:]]
"""Rows without the earlier days that SparkSink refuses."""
TORN = {
    b"plain": "plain",
    b"\xed\xa0\x80": "\ufffd",
    b"a\xffz": "a\ufffdz",
    "Zoë \U0001f600".encode(): "Zoë \U0001f600",
}
"""Bytes, and the texts that Java makes of them."""

day, moment = dt.date.fromisoformat, dt.datetime.fromisoformat
EPOCH, MILLISECOND = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.timedelta(milliseconds=1)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of Iceberg's tables."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="module")
def spark(warehouse: Path) -> Iterator[Hosted]:
    """A Spark with SQLite's driver, and with Delta and Iceberg if there are builds for it."""
    (driver,) = install("jdbc-sqlite")
    settings: dict[str, str] = {}
    jars = [str(driver)]
    if release().delta is not None:
        require(delta.JARS)
        settings |= delta.spark_settings()
        jars.append(settings["spark.jars"])
    if "iceberg" in release().formats:
        require(iceberg.JARS)
        settings |= iceberg.spark_settings(warehouse)
        jars.append(settings["spark.jars"])
    settings["spark.jars"] = ",".join(jars)
    with started(HostSettings(spark=settings, graceful=60.0)) as hosted:
        yield hosted


def lacks(format: str) -> None:
    """Skip the test if there is no such format for this Spark, with the sentence by which Penstock refuses it."""
    if format in release().lacks or (format in ("delta", "iceberg") and format not in release().formats):
        pytest.skip(str(refusal(format, None, release())))


def test_errors_of_java_between_two_versions_name_this_one() -> None:
    code = (
        "import os\n"
        "from penstock.spark.java import spark_java\n"
        "os.environ['JAVA_HOME'] = str(spark_java().home)\n"
        "from pyspark import SparkContext\n"
        "SparkContext._ensure_initialized()\n"
        "java = SparkContext._jvm.java\n"
        f"for name in {[RDD, CONTACT]}:\n"
        "    print(java.io.ObjectStreamClass.lookup(java.lang.Class.forName(name)).getSerialVersionUID())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]

    def named(cls: str, uid: str) -> str | None:
        ids = f"stream classdesc serialVersionUID = 1, local class serialVersionUID = {uid}"
        return other_spark(f"java.io.InvalidClassException: {cls}; local class incompatible: {ids}\n\tat a.b")

    rdd, contact = ran.stdout.split()
    assert named(RDD, rdd) == f"Spark {release().name}"
    assert (named(CONTACT, contact) or "").startswith(f"a Spark with Scala {release().scala}, such as ")


def test_a_hosted_task_runs_and_pauses_and_stops(spark: Hosted, spec: Spec) -> None:
    one = spec(topic="t")
    spark.run(one)
    spark.events.until(TaskRunning, id_of(one))
    spark.pause(id_of(one))
    spark.events.until(TaskPaused, id_of(one))
    spark.stop(id_of(one))
    kinds = [type(event) for event in without_waiting(spark.events.until(TaskEnded, id_of(one)))]
    assert OffsetsReported in kinds


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "csv", "xml", "delta", "iceberg"])
def test_sparksink_writes_and_sparksource_reads(
    spark: Hosted, kafka: Kafka, tmp_path: Path, warehouse: Path, format: str
) -> None:
    lacks(format)
    kind = iceberg.IcebergSink if format == "iceberg" else Sink
    schema = FLAT if format in ("csv", "xml") else SCHEMA
    more = {"option.rowTag": "row"} if format == "xml" else {}
    topic = kafka.create_topic(partitions=1)
    folder = (warehouse if format == "iceberg" else tmp_path) / "shop" / "table"
    rows = ORC_ROWS if format == "orc" else ROWS
    with kind(spark, kafka, topic, folder, **{"format": format, "schema": schema, **more}) as sink:
        sink.produce(*rows)
        sink.start()
        sink.written(len(rows))
        sink.stop()
    place = tmp_path / "source"
    place.mkdir()
    path = iceberg.name_of(folder) if format == "iceberg" else str(folder)
    declared = {} if format in ("delta", "iceberg") else {"schema": schema}
    with Source(spark, kafka, place, format=format, path=path, **declared, **more) as source:
        source.start()
        found = sorted(source.wait(len(rows)), key=lambda row: row["id"])
    assert [row["day"] for row in found] == [row["day"] and (day(row["day"]) - day("1970-01-01")).days for row in rows]
    assert [row["at"] for row in found] == [row["at"] and (moment(row["at"]) - EPOCH) // MILLISECOND for row in rows]
    assert found[0]["name"] == "Zoë"
    assert schema is FLAT or [row["tags"] for row in found] == [["a", None], None, []]


@pytest.mark.parametrize("format", ["parquet", "text", "delta"])
def test_sparksink_writes_texts_as_java_reads_them(spark: Hosted, kafka: Kafka, tmp_path: Path, format: str) -> None:
    lacks(format)
    topic, folder = kafka.create_topic(partitions=1), tmp_path / "table"
    with Sink(spark, kafka, topic, folder, format=format, **{"value.converter": STRING}) as sink:
        kafka.produce(topic, list(TORN))
        sink.start()
        sink.written(len(TORN))
        assert sink.figures(lambda values: values.get("sink-record-send-total") == len(TORN))
        sink.stop()
        if format == "text":
            lines = [line for file in folder.glob("*.txt") for line in file.read_text("utf-8").splitlines()]
        else:
            lines = [row["value"] for row in sink.rows()]
    assert sorted(lines) == sorted(TORN.values())


def test_sparksink_changes_rows_of_delta(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    lacks("delta")
    settings = {
        "format": "delta",
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "pk.fields": "id",
        "delete.enabled": "true",
        "key.converter": JSON,
        "value.converter.schemas.enable": "true",
    }
    first = [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}, {"id": 3, "name": None}]
    later = [{"id": 1, "name": "eins"}, {"id": 2}, {"id": 4, "name": "four"}]
    topic = kafka.create_topic(partitions=1)
    with delta.DeltaSink(spark, kafka, topic, tmp_path / "table", **settings) as sink:
        kafka.produce(topic, [record([ID, NAME], row) for row in first])
        sink.start()
        sink.written(3)
        kafka.produce(topic, [record([ID, NAME], row) for row in later])
        sink.written(6)
        assert {row["id"]: row["name"] for row in sink.rows()} == {1: "eins", 3: None, 4: "four"}


def test_sparksink_adds_a_column_to_delta_by_merge(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    lacks("delta")
    settings = {
        "format": "delta",
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "pk.fields": "id",
        "key.converter": JSON,
        "value.converter.schemas.enable": "true",
    }
    price = field("price", "double")
    with delta.DeltaSink(spark, kafka, kafka.create_topic(partitions=1), tmp_path / "table", **settings) as sink:
        kafka.produce(sink.topic, [record([ID, NAME], {"id": each, "name": "old"}) for each in (1, 2)])
        sink.start()
        sink.written(2)
        kafka.produce(
            sink.topic, [record([ID, NAME, price], {"id": each, "name": "new", "price": 1.5}) for each in (2, 3)]
        )
        sink.written(4)
        found = [row for file in delta.files(tmp_path / "table") for row in pq.read_table(file).to_pylist()]
    rows = {row["id"]: (row["name"], row.get("price")) for row in found}  # a file from before has no such column
    assert rows == {1: ("old", None), 2: ("new", 1.5), 3: ("new", 1.5)}


def test_sparksink_writes_to_a_database(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    file = tmp_path / "db"
    settings = {
        "format": "jdbc",
        "path": "",
        "option.url": f"jdbc:sqlite:{file}",
        "option.driver": "org.sqlite.JDBC",
        "option.dbtable": "numbers",
        "schema": "id INT, name STRING",
    }
    with sqlite3.connect(file) as database:  # Spark does not understand how SQLite says that there is no table
        database.execute("CREATE TABLE numbers (id INTEGER, name TEXT)")
    with Sink(spark, kafka, kafka.create_topic(partitions=1), Path("unused"), **settings) as sink:
        sink.produce({"id": 1, "name": "one"}, {"id": 2, "name": None})
        sink.start()
        sink.written(2)
    assert rows(file, "SELECT id, name FROM numbers ORDER BY id") == [(1, "one"), (2, None)]


def test_sparksink_writes_to_kafka_and_sparksource_reads_it(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    topic, target = kafka.create_topic(partitions=1), kafka.create_topic(partitions=1)
    settings = {
        "format": "kafka",
        "option.kafka.bootstrap.servers": kafka.bootstrap,
        "value.converter": STRING,
        "sql": f"SELECT '{target}' AS topic, upper(value) AS value FROM records",
    }
    with Sink(spark, kafka, topic, tmp_path / "unused", **settings) as sink:
        del sink.config["path"]
        kafka.produce(topic, ["one", "two"])
        sink.start()
        sink.written(2)
    assert kafka.values(target) == [b"ONE", b"TWO"]
    options = {"option.kafka.bootstrap.servers": kafka.bootstrap, "option.startingOffsets": "earliest"}
    sql = "SELECT CAST(value AS STRING) AS value FROM records"
    with Source(spark, kafka, tmp_path, format="kafka", sql=sql, **options, **{"option.subscribe": target}) as source:
        del source.config["path"]
        source.start()
        assert sorted(row["value"] for row in source.wait(2)) == ["ONE", "TWO"]


@pytest.mark.parametrize("format", ["json", "csv", "xml"])
def test_sparksource_refuses_values_that_do_not_fit(spark: Hosted, kafka: Kafka, tmp_path: Path, format: str) -> None:
    lacks(format)
    texts = {"json": '{"id": "x"}\n', "csv": "x\n", "xml": "<rows><row><id>x</id></row></rows>"}
    more = {"option.rowTag": "row"} if format == "xml" else {}
    with Source(spark, kafka, tmp_path, format=format, schema="id INT", **more) as source:
        (source.folder / f"one.{format}").write_text(texts[format])
        source.start()
        assert f"one.{format}" in (trace := source.failure())
        assert "does not fit the schema" in trace


def test_sparksource_reads_columns_of_folders(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    schema = "id INT, part INT"
    with Source(spark, kafka, tmp_path, schema=schema, exactly_once=False) as source:
        (source.folder / "part=7").mkdir()
        (source.folder / "part=7" / "one.json").write_text('{"id": 1}\n{"id": 2}\n')
        source.start()
        assert sorted(source.wait(2), key=lambda row: row["id"]) == [{"id": 1, "part": 7}, {"id": 2, "part": 7}]


def rows(file: Path, sql: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(file, timeout=900) as database:
        return database.execute(sql).fetchall()


def test_jdbcsink_changes_and_deletes_rows(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    file = tmp_path / "db"
    settings = {"insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true", "auto.evolve": "true"}
    price = field("price", "double")
    with JdbcSink(spark, kafka, f"jdbc:sqlite:{file}", **settings) as sink:
        sink.add([ID, NAME], {"id": 1, "name": "one"}, {"id": 2, "name": "two"}, {"id": 1})
        sink.start()
        sink.written(3)
        sink.add([ID, NAME, price], {"id": 2, "name": "zwei", "price": 1.5})
        sink.written(4)
    assert rows(file, "SELECT id, name, price FROM things") == [(2, "zwei", 1.5)]


@pytest.mark.parametrize("exactly_once", [False, True], ids=["at least once", "exactly once"])
def test_jdbcsource_reads_new_rows(spark: Hosted, kafka: Kafka, tmp_path: Path, exactly_once: bool) -> None:
    file = tmp_path / "db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE things (id INTEGER PRIMARY KEY NOT NULL, name TEXT, price REAL, data BLOB)")
        database.execute("INSERT INTO things VALUES (1, 'one', 1.5, x'00ff'), (2, NULL, NULL, NULL)")
    config = {"mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "things"}
    with JdbcSource(spark, kafka, f"jdbc:sqlite:{file}", exactly_once, **config) as source:
        source.start()
        found = source.wait("things", 2)
        with sqlite3.connect(file, timeout=900) as database:
            database.execute("INSERT INTO things VALUES (3, 'three', 3, NULL)")
        found = source.wait("things", 3)
    assert [(row["id"], row["name"], row["price"], row["data"]) for row in found] == [
        (1, "one", 1.5, "AP8="),
        (2, None, None, None),
        (3, "three", 3.0, None),
    ]
