"""Rows that a Delta table refuses become dead letters one by one, or end the task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from support.kafka.client import Kafka, Record
from support.spark import delta
from support.spark.host import Hosted
from support.tasks.runs import JSON, STRING, new_name

pytestmark = [pytest.mark.integration, pytest.mark.slow]

COLUMNS = {"id": "INT", "n": "INT", "name": "STRING", "code": "varchar(3)"}
FINE: list[dict[str, Any]] = [
    {"id": 1, "n": 10, "name": "a", "code": "x"},
    {"id": 3, "n": 30, "name": "c", "code": None},
]
CHECK = {"positive": "n > 0 AND name <> 'no'"}
FIELDS = [("id", "int32"), ("n", "int32"), ("name", "string"), ("code", "string")]
REFUSED = {
    "check": ({"id": 2, "n": -1, "name": "b"}, "CHECK constraint", '{"n":-1,"name":"b"}', "n, name", "23001"),
    "null": (
        {"id": 2, "n": None, "name": "b"},
        "CHECK constraint",
        '{"n":null,"name":"b"}',
        "n, name",
        "23001",
    ),
    "missing": ({"id": 2, "n": 1}, "NOT NULL constraint", "violated for column: name", "name", "23502"),
    "long": (
        {"id": 2, "n": 1, "name": "b", "code": "four"},
        "Value exceeds char",
        "varchar(3)",
        "code",
        "22001",
    ),
}
UPSERT = {"insert_mode": "upsert", "pk_mode": "record_key", "pk_fields": "id", "key_converter": JSON}
PREFIX = "__connect.errors."


def queue(letters: str) -> dict[str, str]:
    return {
        "errors_tolerance": "all",
        "errors_deadletterqueue_topic_name": letters,
        "errors_deadletterqueue_topic_replication_factor": "1",
        "errors_deadletterqueue_context_headers_enable": "true",
    }


class Rows(delta.DeltaSink):
    """Writes rows with their schema, and keys."""

    def add(self, *rows: dict[str, Any]) -> None:
        self.kafka.produce(self.topic, [self._record(row) for row in rows])

    @staticmethod
    def _record(row: dict[str, Any], fields: list[tuple[str, str]] = FIELDS) -> Record:
        typed = [{"field": name, "type": type, "optional": True} for name, type in fields]
        value = {"schema": {"type": "struct", "fields": typed}, "payload": {name: row.get(name) for name, _ in fields}}
        key = {"schema": {"type": "struct", "fields": typed[:1]}, "payload": {"id": row["id"]}}
        return Record(orjson.dumps(value), orjson.dumps(key))

    def by_id(self) -> list[dict[str, Any]]:
        return sorted(self.rows(), key=lambda row: row["id"])


def sink(spark: Hosted, kafka: Kafka, folder: Path, **settings: str) -> Rows:
    delta.create(folder, COLUMNS, required=["id", "name"], constraints=CHECK)
    settings = {"format": "delta", "value_converter_schemas_enable": "true", **settings}
    return Rows(spark, kafka, kafka.create_topic(partitions=1), folder, **settings)


def headers(kafka: Kafka, letters: str) -> list[dict[str, str]]:
    return [
        {name.removeprefix(PREFIX): (value or b"").decode() for name, value in record.headers}
        for record in kafka.read_all(letters)
    ]


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_a_row_that_delta_refuses_is_a_dead_letter(
    spark: Hosted, kafka: Kafka, tmp_path: Path, mode: str, case: str
) -> None:
    bad, message, values, column, state = REFUSED[case]
    letters = new_name("dlq")
    more = UPSERT if mode == "upsert" else {}
    with sink(spark, kafka, tmp_path / "table", **queue(letters), **more) as one:
        one.add(FINE[0], bad, FINE[1])
        one.start()
        one.written(3)
        assert one.by_id() == FINE
        one.add({**bad, "id": 4}, {**FINE[0], "id": 5})
        one.written(5)
        one.stop()
        assert one.by_id() == [*FINE, {**FINE[0], "id": 5}]
    found = headers(kafka, letters)
    assert [each["offset"] for each in found] == ["1", "3"]
    assert found[0]["exception.message"].startswith(message)
    assert values in found[0]["exception.message"]
    assert found[0]["table"] == str(tmp_path / "table")
    assert (found[0]["column"], found[0]["sqlstate"], found[0]["topic"]) == (column, state, one.topic)


def test_an_earlier_change_of_a_key_counts_if_the_last_is_refused(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    letters = new_name("dlq")
    with sink(spark, kafka, tmp_path / "table", **queue(letters), **UPSERT) as one:
        one.add(FINE[0], {**FINE[0], "n": 20}, {**FINE[0], "n": -1}, FINE[1], {**FINE[1], "n": 0}, {**FINE[1], "n": 31})
        one.start()
        one.written(6)
        one.stop()
        assert one.by_id() == [{**FINE[0], "n": 20}, {**FINE[1], "n": 31}]
    assert [each["offset"] for each in headers(kafka, letters)] == ["2", "4"]


def test_a_number_that_the_column_of_a_merge_cannot_have_is_a_dead_letter(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    letters = new_name("dlq")
    wide = [("id", "int32"), ("n", "int64"), ("name", "string"), ("code", "string")]
    with sink(spark, kafka, tmp_path / "table", **queue(letters), **UPSERT) as one:
        rows = [FINE[0], {**FINE[0], "id": 2, "n": 2**31}, FINE[1]]
        kafka.produce(one.topic, [one._record(row, wide) for row in rows])
        one.start()
        one.written(3)
        one.stop()
        assert one.by_id() == FINE
    (letter,) = headers(kafka, letters)
    assert letter["exception.message"] == "The value 2147483648 does not fit column n of the type int."
    assert (letter["offset"], letter["column"], letter["sqlstate"]) == ("1", "n", "22003")


@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_a_row_that_delta_refuses_ends_the_task_without_tolerance(
    spark: Hosted, kafka: Kafka, tmp_path: Path, mode: str
) -> None:
    more = UPSERT if mode == "upsert" else {}
    # Errors that may pass would be retried without end.
    with sink(spark, kafka, tmp_path / "table", errors_retry_timeout="-1", **more) as one:
        one.add(FINE[0], REFUSED["check"][0], FINE[1])
        one.start()
        failure = one.failure()
        assert f"{one.folder} refuses the row of topic {one.topic}, partition 0, offset 1: CHECK constraint" in failure
        assert one.rows() == []


def test_a_row_of_sql_that_delta_refuses_ends_the_task_with_the_cause(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    sql = "SELECT id, n - 20 AS n, name FROM records"
    with sink(spark, kafka, tmp_path / "table", sql=sql, errors_retry_timeout="-1", **queue(new_name("dlq"))) as one:
        one.add(*FINE)
        one.start()
        failure = one.failure()
        assert f"{one.folder} refuses a row: " in failure
        assert "CHECK constraint positive" in failure
        assert one.rows() == []


def test_a_text_that_delta_refuses_is_a_dead_letter(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    """Spark writes texts without Python as long as the table takes them."""
    letters, folder = new_name("dlq"), tmp_path / "table"
    delta.create(folder, {"value": "STRING"}, constraints={"short": "length(value) < 4"})
    settings = {"format": "delta", "value_converter": STRING, **queue(letters)}
    with delta.DeltaSink(spark, kafka, kafka.create_topic(partitions=1), folder, **settings) as one:
        kafka.produce(one.topic, ["a", "long", "b"])
        one.start()
        one.written(3)
        kafka.produce(one.topic, ["c"])
        one.written(4)
        one.stop()
        assert sorted(row["value"] for row in one.rows()) == ["a", "b", "c"]
    assert [(each["offset"], each["column"]) for each in headers(kafka, letters)] == [("1", "value")]
