"""Driver, executors, Python processes and databases in zones of their own: no value changes, also when clocks are set
forward or back.
"""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from penstock.spark.query.jdbc.drivers import install
from penstock.spark.settings import HostSettings
from support import mariadb as mariadbs
from support.kafka.client import Kafka
from support.machine import missing
from support.mariadb import MariaDb
from support.postgres import Postgres, binaries
from support.spark.class_data import java_options
from support.spark.host import Hosted, started
from support.spark.jdbc import ID, JdbcSink, JdbcSource, field
from support.spark.queries import Sink, Source

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PYTHON, DRIVER, EXECUTORS, DATABASE = "Pacific/Chatham", "Asia/Kolkata", "America/St_Johns", "Europe/Berlin"
CHANGES = ["2026-03-29T01:00", "2026-10-25T01:00", "2026-03-08T05:30", "2026-11-01T04:30", "2026-09-26T14:00"]
"""Times in UTC at which the clocks of DATABASE, EXECUTORS and PYTHON are set forward or back."""
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def moments() -> list[dt.datetime]:
    found = [
        dt.datetime.fromisoformat(f"{change}+00:00") + dt.timedelta(minutes=minutes)
        for change in CHANGES
        for minutes in (-90, -30, 0, 30)
    ]
    far = [dt.datetime(year, month, day, 23, 59, 59, 999000, dt.UTC) for year, month, day in FAR]
    return [*found, *far]


FAR = [(1, 1, 1), (1582, 10, 4), (1582, 10, 15), (1883, 11, 18), (1970, 1, 1), (2038, 1, 18), (9999, 12, 31)]
MOMENTS = moments()
MILLIS = [(at - EPOCH) // dt.timedelta(milliseconds=1) for at in MOMENTS]


@pytest.fixture(scope="module")
def zoned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    for name in ("jdbc-postgresql", "jdbc-mariadb", "jdbc-sqlite"):
        install(name)
    queries = {
        "spark.master": "local-cluster[1,2,1024]",
        "spark.driver.extraJavaOptions": f"-Duser.timezone={DRIVER}",
        "spark.executor.extraJavaOptions": f"{java_options()} -Duser.timezone={EXECUTORS}",
        "spark.executorEnv.TZ": PYTHON,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("zoned"))  # Spark's workers have a folder `work` where they are
        patch.setenv("TZ", PYTHON)
        with started(HostSettings(query_spark=queries)) as hosted:
            yield hosted


def logical(name: str, kind: str, of: str) -> dict[str, Any]:
    return field(name, kind) | {"name": f"org.apache.kafka.connect.data.{of}", "version": 1}


FIELDS = [
    ID,
    logical("day", "int32", "Date"),
    logical("clock", "int32", "Time"),
    logical("at", "int64", "Timestamp"),
    logical("zoned", "int64", "Timestamp"),
]
ROWS = [
    {"id": i, "day": millis // 86_400_000, "clock": millis % 86_400_000, "at": millis, "zoned": millis}
    for i, millis in enumerate(MILLIS)
]
TEXTS = [
    [str(i), f"{at:%Y-%m-%d}".zfill(10), f"{at:%H:%M:%S}.{at.microsecond // 1000:03}", f"{at:%H:%M:%S}"]
    for i, at in enumerate(MOMENTS)
]


def through(zoned: Hosted, kafka: Kafka, url: str, rows: list[dict[str, Any]], **config: str) -> list[Any]:
    """Return the records that a source sends of the table that a sink has written."""
    with JdbcSink(zoned, kafka, url, **{"table.name.format": "moments", **config}) as sink:
        sink.add(FIELDS, *rows)
        sink.start()
        sink.written(len(rows))
    read = {"mode": "bulk", "poll.interval.ms": "1000000", "table.whitelist": "moments", **config}
    with JdbcSource(zoned, kafka, url, **read) as source:
        source.start()
        return sorted(source.wait("moments", len(rows)), key=lambda row: row["id"])


@pytest.mark.parametrize("zone", ["UTC", DATABASE])
def test_postgresql_in_another_zone(zoned: Hosted, kafka: Kafka, zone: str) -> None:
    if binaries() is None:
        missing("There is no PostgreSQL on this machine: initdb is neither on the path nor in /usr/lib/postgresql")
    postgres = Postgres.make(timezone=DATABASE)
    # Of two hours that a zone has as one a TIMESTAMP has only one, whoever writes it.
    at = "TIMESTAMP" if zone == "UTC" else "TIMESTAMPTZ"
    clock = "clock TIME" if zone == "UTC" else "clock TIMETZ"
    try:
        postgres.start()
        postgres.execute(f"CREATE TABLE moments (id INT, day DATE, {clock}, at {at}, zoned TIMESTAMPTZ)")
        assert through(zoned, kafka, postgres.url, ROWS, **{"db.timezone": zone}) == ROWS
        seen = "floor(extract(epoch FROM zoned) * 1000)::bigint"
        assert postgres.rows(f"SELECT id, day, {seen} FROM moments ORDER BY id") == [
            [text[0], text[1], str(millis)] for text, millis in zip(TEXTS, MILLIS, strict=True)
        ]
        assert zone != "UTC" or postgres.rows("SELECT clock, at FROM moments WHERE id = 0") == [
            [TEXTS[0][3], f"{TEXTS[0][1]} {TEXTS[0][3]}"]
        ]
    finally:
        postgres.remove()


def test_mariadb_in_another_zone(zoned: Hosted, kafka: Kafka) -> None:
    if mariadbs.binary() is None:
        missing("There is no MariaDB on this machine (Debian and Ubuntu: sudo apt-get install mariadb-server)")
    mariadb = MariaDb("--default-time-zone=+05:45")
    rows = [row if 0 < row["zoned"] < 2**31 * 1000 else row | {"zoned": 1000} for row in ROWS]
    try:
        mariadb.execute(
            "CREATE TABLE moments (id INT, day DATE, clock TIME(3), at DATETIME(3), zoned TIMESTAMP(3) NULL)"
        )
        assert through(zoned, kafka, mariadb.url, rows) == rows
        assert mariadb.rows("SELECT id, day, clock, ROUND(UNIX_TIMESTAMP(zoned) * 1000) FROM moments ORDER BY id") == [
            [*text[:3], str(row["zoned"])] for text, row in zip(TEXTS, rows, strict=True)
        ]
    finally:
        mariadb.remove()


def test_sqlite_with_times_as_text(zoned: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "db") as database:
        database.execute("CREATE TABLE moments (id INT, day DATE, at TIMESTAMP)")
        rows = [(text[0], text[1], f"{text[1]} {text[2]}") for text in TEXTS]
        database.executemany("INSERT INTO moments VALUES (?, ?, ?)", rows)
    read = {"mode": "bulk", "poll.interval.ms": "1000000", "table.whitelist": "moments"}
    with JdbcSource(zoned, kafka, f"jdbc:sqlite:{tmp_path}/db", **read) as source:
        source.start()
        found = sorted(source.wait("moments", len(rows)), key=lambda row: row["id"])
    assert found == [{name: row[name] for name in ("id", "day", "at")} for row in ROWS]


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_files(zoned: Hosted, kafka: Kafka, tmp_path: Path, format: str) -> None:
    schema = "id INT, day DATE, at TIMESTAMP"
    given = [{"id": i, "day": TEXTS[i][1], "at": f"{TEXTS[i][1]}T{TEXTS[i][2]}Z"} for i in range(len(TEXTS))]
    with Sink(zoned, kafka, kafka.create_topic(partitions=1), tmp_path / "table", format=format, schema=schema) as sink:
        sink.produce(*given)
        sink.start()
        sink.written(len(given))
        sink.stop()
    if format == "parquet":
        table = ds.dataset(sink.folder, format=format).to_table()
        seen = dict(zip(table["id"].to_pylist(), table["at"].cast(pa.int64()).to_pylist(), strict=True))
        assert seen == {i: millis * 1000 for i, millis in enumerate(MILLIS)}
    else:
        lines = [line for file in sink.folder.glob(f"*.{format}") for line in file.read_text().splitlines()]
        found = [
            json.loads(line) if format == "json" else dict(zip(given[0], line.split(","), strict=True))
            for line in lines
        ]
        micros = [{**row, "at": str(row["at"]).replace("Z", "000Z")} for row in given]
        assert sorted(({**row, "id": int(row["id"])} for row in found), key=lambda row: row["id"]) == micros
    place = tmp_path / "source"
    place.mkdir()
    with Source(zoned, kafka, place, format=format, path=str(sink.folder), schema=schema) as source:
        source.start()
        back = sorted(source.wait(len(given)), key=lambda row: row["id"])
    assert back == [{name: row[name] for name in ("id", "day", "at")} for row in ROWS]


def test_orc_is_refused_where_it_would_take_one_hour_for_another(zoned: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    schema = "id INT, at TIMESTAMP"
    with Sink(zoned, kafka, kafka.create_topic(partitions=1), tmp_path / "table", format="orc", schema=schema) as sink:
        sink.produce({"id": 1, "at": "2026-10-25T01:30:00Z"})
        sink.start()
        assert f"Java of Spark's executors has the time zone {EXECUTORS}" in sink.failure()
