"""Files that don't fit their schema: nothing in them is lost or misplaced in silence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import Source

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SCHEMA = "id INT, name STRING"


@pytest.fixture
def source(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> Callable[..., Source]:
    return lambda **config: Source(hosted, kafka, tmp_path, **{"schema": SCHEMA, **config})


def put(one: Source, file: str, text: str) -> Path:
    (one.folder / f".{file}").write_text(text)
    return (one.folder / f".{file}").rename(one.folder / file)


def by_id(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: row["id"])


@pytest.mark.parametrize("exactly_once", [True, False])
def test_columns_of_csv_are_found_by_their_names(source: Callable[..., Source], exactly_once: bool) -> None:
    with source(format="csv", option_header="true", exactly_once=exactly_once) as one:
        put(one, "1.csv", "id,name\n1,one\n")
        put(one, "2 [a]%20.csv", 'name,extra,id\n"two, three",x,2\n')
        put(one, "3.csv", "id,name\n")
        put(one, "4.csv", "")
        put(one, "5.csv", "NAME,Id\nfive,5\n")
        one.start()
        expected = [{"id": 1, "name": "one"}, {"id": 2, "name": "two, three"}, {"id": 5, "name": "five"}]
        assert by_id(one.wait(3)) == expected


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("", {"id": 1, "name": "one", "region": "eu"}),
        ("SELECT 'x' AS fixed FROM records", {"fixed": "x"}),
        ("SELECT name, region FROM records", {"name": "one", "region": "eu"}),
    ],
)
def test_csv_in_another_order_has_malformed_lines_and_columns_of_folders(
    source: Callable[..., Source], sql: str, row: dict[str, Any]
) -> None:
    """Spark does not read a file for the column of malformed lines alone."""
    with source(format="csv", option_header="true", sql=sql, errors_tolerance="all") as one:
        folder = one.folder / "region=eu"
        folder.mkdir()
        (folder / ".1.csv").write_text("name,id\none,1\ntwo,x\n")
        (folder / ".1.csv").rename(folder / "1.csv")
        one.start()
        assert one.wait(1) == [row]


def test_a_column_that_csv_lacks_is_named(source: Callable[..., Source]) -> None:
    with source(format="csv", option_header="true") as one:
        put(one, "1.csv", "id,label\n1,one\n")
        one.start()
        trace = one.failure()
        assert "1.csv has no column name, which `schema` has, but id, label" in trace


@pytest.mark.parametrize("sql", ["", "SELECT name FROM records"])
@pytest.mark.parametrize(
    ("format", "text", "line"),
    [
        ("json", '{"id":1,"name":"a"}\n{"id":"x","name":"b"}\n', 2),
        ("json", '{"id":3000000000,"name":"b"}\n', 1),
        ("csv", "1,a\n2,b\nx,c\n", 3),
    ],
)
def test_a_value_that_does_not_fit_fails_the_task(
    source: Callable[..., Source], format: str, text: str, line: int, sql: str
) -> None:
    with source(format=format, sql=sql) as one:
        put(one, f"1.{format}", text)
        one.start()
        trace = one.failure()
        assert f"1.{format}, line {line} does not fit the schema in column id (int): {text.splitlines()[-1]}" in trace


@pytest.mark.parametrize(("format", "text"), [("json", '{"id":1,\n'), ("csv", "1,a,b\n"), ("csv", "1\n")])
def test_a_line_that_is_no_record_fails_the_task(source: Callable[..., Source], format: str, text: str) -> None:
    with source(format=format) as one:
        put(one, f"1.{format}", text)
        one.start()
        assert f"1.{format}, line 1 does not fit the schema" in one.failure()


@pytest.mark.parametrize("exactly_once", [True, False])
@pytest.mark.parametrize("sql", ["", "SELECT id, upper(name) AS name FROM records"])
def test_records_that_do_not_fit_are_dead_letters_with_tolerance(
    source: Callable[..., Source], kafka: Kafka, exactly_once: bool, sql: str
) -> None:
    letters = kafka.create_topic()
    errors = {
        "errors.tolerance": "all",
        "penstock.errors.deadletterqueue.topic.name": letters,
        "penstock.errors.deadletterqueue.topic.replication.factor": "1",
        "penstock.errors.deadletterqueue.context.headers.enable": "true",
    }
    with source(sql=sql, exactly_once=exactly_once, **errors) as one:
        put(one, "1.json", '{"id":1,"name":"A"}\n{"id":"x","name":"B"}\nnothing\n{"id":2,"name":"C"}\n')
        one.start()
        assert by_id(one.wait(2)) == [{"id": 1, "name": "A"}, {"id": 2, "name": "C"}]
        one.batch(0)
        values = one.figures(lambda values: values.get("total-records-skipped") == 2)
        assert values["total-record-errors"] == 2
        found = kafka.read_all(letters)
        assert len(found) == 2
        assert any(b"nothing" in (each.value or b"") for each in found)


@pytest.mark.parametrize(
    ("format", "table", "schema", "misfit"),
    [
        ("parquet", {"n": pa.array([1, 300], pa.int32())}, "n TINYINT", "300"),
        ("orc", {"n": pa.array([1, 3_000_000_000])}, "n INT", "3000000000"),
        ("orc", {"n": ["1", "x"]}, "n INT", "x"),
        ("orc", {"n": [1.0, 1.5]}, "n INT", "1.5"),
    ],
)
def test_values_of_other_types_in_files_with_types_are_refused(
    source: Callable[..., Source], format: str, table: dict[str, Any], schema: str, misfit: str
) -> None:
    write = pq.write_table if format == "parquet" else orc.write_table
    with source(format=format, schema=schema) as one:
        write(pa.table(table).slice(0, 1), one.folder / f"1.{format}")
        one.start()
        assert one.wait(1) == [{"n": 1}]
        one.batch(0)
        write(pa.table(table), one.folder / f".2.{format}")
        (one.folder / f".2.{format}").rename(one.folder / f"2.{format}")
        trace = one.failure()
        assert f"{misfit} does not fit column n of type" in trace
        assert f"2.{format}" in trace


def test_a_number_of_json_that_is_too_large_for_a_byte_is_refused(source: Callable[..., Source]) -> None:
    with source(schema="n TINYINT") as one:
        put(one, "1.json", '{"n":200}\n')
        one.start()
        assert "does not fit the schema" in one.failure()


def test_permissive_is_what_spark_means_by_it_if_it_is_asked_for(source: Callable[..., Source]) -> None:
    with source(option_mode="PERMISSIVE") as one:
        put(one, "1.json", '{"id":"x","name":"b"}\n')
        one.start()
        assert one.wait(1) == [{"id": None, "name": "b"}]


def test_a_file_with_an_old_time_is_read(source: Callable[..., Source]) -> None:
    with source() as one:
        put(one, "1.json", '{"id":1,"name":"new"}\n')
        one.start()
        one.batch(0)
        file = one.folder / ".2.json"
        file.write_text('{"id":2,"name":"restored"}\n')
        os.utime(file, (1_000_000_000, 1_000_000_000))
        file.rename(one.folder / "2.json")
        assert by_id(one.wait(2))[1] == {"id": 2, "name": "restored"}
