"""Values that arrive unchanged, or are refused with the name of their column: old days, infinity, durations."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from support.kafka.client import Kafka
from support.mariadb import MariaDb
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import ID, JdbcSink, JdbcSource, field

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DAYS = {
    "0001-01-01": -719162,
    "1582-10-10": -141432,
    "1582-10-15": -141427,
    "1500-02-28": -171606,
    "9999-12-31": 2932896,
}
"""Days since 1970, by ISO 8601."""
DAY = field("day", "int32") | {"name": "org.apache.kafka.connect.data.Date", "version": 1}
AT = field("at", "int64") | {"name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
MORE = {"value.converter.schemas.enable": "true"}


@pytest.mark.parametrize("calendar", ["LEGACY", "PROLEPTIC_GREGORIAN"])
@pytest.mark.parametrize("kind", ["copy", "insert", "mariadb", "sqlite"])
def test_days_are_the_same_in_the_table_and_in_both_topics(
    spark: Hosted, kafka: Kafka, postgres: Postgres, mariadb: MariaDb, tmp_path: Path, kind: str, calendar: str
) -> None:
    if calendar == "LEGACY" and kind != "copy":
        pytest.skip("the setting is the same for all")
    table = f"days_{kind}_{calendar.lower()}"
    url = {"mariadb": mariadb.url, "sqlite": f"jdbc:sqlite:{tmp_path}/db"}.get(kind, postgres.url)
    if kind in ("copy", "insert"):
        postgres.execute(f"CREATE TABLE {table} (id INT, day DATE, at TIMESTAMP, zoned TIMESTAMPTZ)")
    rows = [
        {"id": i, "day": days, "at": (days * 86_400 + 3_723) * 1000 + 45, "zoned": days * 86_400_000}
        for i, days in enumerate(DAYS.values())
    ]
    zoned = {**AT, "field": "zoned"}
    config = {"table.name.format": table, "date.calendar.system": calendar, "connection.reWriteBatchedInserts": "false"}
    if kind not in ("insert",):
        del config["connection.reWriteBatchedInserts"]
    with JdbcSink(spark, kafka, url, **config) as sink:
        sink.add([ID, DAY, AT, zoned], *rows)
        sink.start()
        sink.written(len(rows))
    texts = [[str(i), day, f"{day} 01:02:03.045"] for i, day in enumerate(DAYS)]
    match kind:
        case "mariadb":
            assert mariadb.rows(f"SELECT id, day, at FROM {table} ORDER BY id") == texts
        case "copy" | "insert":
            assert postgres.rows(f"SELECT id, day, at FROM {table} ORDER BY id") == texts
            same = f"SELECT count(*) FROM {table} WHERE zoned = day::timestamp AT TIME ZONE 'UTC'"
            assert postgres.rows(same) == [[str(len(rows))]]
    read = {"mode": "bulk", "poll.interval.ms": "1000000", "table.whitelist": table, "date.calendar.system": calendar}
    if kind == "sqlite":
        with sqlite3.connect(tmp_path / "db") as database:
            database.execute("CREATE TABLE texts (id INT, day DATE, at TIMESTAMP)")
            database.executemany("INSERT INTO texts VALUES (?, ?, ?)", texts)
        read |= {"table.whitelist": "texts"}
        table = "texts"
    with JdbcSource(spark, kafka, url, **read, **MORE) as source:
        source.start()
        found = [value["payload"] for value in source.wait(table, len(rows))]
    assert sorted((row["id"], row["day"], row["at"]) for row in found) == [
        (row["id"], row["day"], row["at"]) for row in rows
    ]
    if kind in ("copy", "insert"):
        assert sorted(row["zoned"] for row in found) == sorted(row["zoned"] for row in rows)


REFUSED = {
    "postgresql": {
        "c DATE": ("'infinity'", "infinity is no point in time"),
        "c TIMESTAMP": ("'-infinity'", "-infinity is no point in time"),
        "c TIMESTAMPTZ": ("'infinity'", "infinity is no point in time"),
        "c DATE NULL": ("'10000-01-01'", "beyond the years 1 to 9999"),
        "c DATE CHECK (true)": ("'4000-01-01 BC'", "beyond the years 1 to 9999"),
        "c TIME": ("'24:00'", "24:00:00 is no time of a day"),
        "c TIMETZ": ("'24:00+02'", "24:00:00+02 is no time of a day"),
        "c NUMERIC": ("'NaN'", "NaN"),
        "c NUMERIC(20, 2)": ("'NaN'", "NaN"),
    },
    "mariadb": {
        "c TIME": ("'36:30:00'", "36:30:00 is no time of a day: set penstock.time.mapping=string"),
        "c TIME(3)": ("'-10:00:00'", "-10:00:00.000 is no time of a day"),
        "c DATE": ("'0000-00-00'", "0000-00-00 is no date"),
        "c DATETIME": ("'0000-00-00'", "0000-00-00 00:00:00 is no date"),
        "c BIGINT UNSIGNED": ("18446744073709551615", ""),
        "c BIT(64)": ("18446744073709551615", "18446744073709551615 is more than 127"),
        "c BIT(9)": ("b'100000001'", "257 is more than 127"),
    },
    "sqlite": {
        "c INTEGER": ("'abc'", "`abc` is none"),
        "c BIGINT": ("1.5", "`1.5` is none"),
        "c BOOLEAN": ("2", "`2` is none"),
        "c DOUBLE": ("'x'", "`x` is none"),
        "c TEXT": ("x'00ff'", "a BLOB of 2 bytes is none"),
        "c DATE": ("'2026-02-30'", "2026-02-30"),
        "c DECIMAL": ("'x'", ""),
    },
}


@pytest.mark.parametrize(("kind", "column"), [(kind, each) for kind, found in REFUSED.items() for each in found])
def test_a_value_that_connect_does_not_have_fails_with_the_name_of_its_column(
    spark: Hosted, kafka: Kafka, postgres: Postgres, mariadb: MariaDb, tmp_path: Path, kind: str, column: str
) -> None:
    value, message = REFUSED[kind][column]
    table = "odd_" + "".join(letter for letter in column.lower() if letter.isalnum())
    script = f"CREATE TABLE {table} (id INT, {column}); INSERT INTO {table} VALUES (1, {{}}); "
    url = {"postgresql": postgres.url, "mariadb": mariadb.url, "sqlite": f"jdbc:sqlite:{tmp_path}/db"}[kind]
    match kind:
        case "postgresql":
            postgres.execute(script.format(value))
        case "mariadb":
            mariadb.execute("SET sql_mode = '';" + script.format(value))
        case _:
            with sqlite3.connect(tmp_path / "db") as database:
                if column in ("c INTEGER", "c BIGINT", "c SMALLINT", "c BOOLEAN", "c DOUBLE", "c TEXT"):
                    # The driver tells the declared type only of a column whose first value has it.
                    database.executescript(script.format("'1'" if column == "c TEXT" else "1"))
                    database.execute(f"INSERT INTO {table} VALUES (2, {value})")
                else:
                    database.executescript(script.format(value))
    read = {"mode": "bulk", "poll.interval.ms": "1000000", "table.whitelist": table}
    with JdbcSource(spark, kafka, url, **read) as source:
        source.start()
        trace = source.failure()
    assert "column c" in trace.splitlines()[0].lower()
    assert message in trace.splitlines()[0]


def test_durations_are_sent_as_text_on_request(
    spark: Hosted, kafka: Kafka, postgres: Postgres, mariadb: MariaDb
) -> None:
    mariadb.execute(
        "CREATE TABLE spans (id INT, c TIME(1), d TIME, e TIME(6)); INSERT INTO spans VALUES"
        "(1, '36:30:00.5', '838:59:59', '-838:59:59.999999'), (2, '-10:00:00', '-00:00:01', '-00:00:00.5'),"
        "(3, NULL, '00:00:00', '00:00:00')"
    )
    postgres.execute(
        "CREATE TABLE spans (id INT, c TIME, d INTERVAL);"
        "INSERT INTO spans VALUES (1, '24:00', '1 mon 2 days'), (2, '01:02:03', NULL)"
    )
    read = {
        "mode": "bulk",
        "poll.interval.ms": "1000000",
        "table.whitelist": "spans",
        "penstock.time.mapping": "string",
    }
    wanted: dict[str, list[dict[str, Any]]] = {
        mariadb.url: [
            {"id": 1, "c": "36:30:00.5", "d": "838:59:59", "e": "-838:59:59.999999"},
            {"id": 2, "c": "-10:00:00.0", "d": "-00:00:01", "e": "-00:00:00.500000"},
            {"id": 3, "c": None, "d": "00:00:00", "e": "00:00:00.000000"},
        ],
        postgres.url: [{"id": 1, "c": "24:00:00", "d": "1 mon 2 days"}, {"id": 2, "c": "01:02:03", "d": None}],
    }
    for url, rows in wanted.items():
        with JdbcSource(spark, kafka, url, **read) as source:
            source.start()
            assert source.wait("spans", len(rows)) == rows
