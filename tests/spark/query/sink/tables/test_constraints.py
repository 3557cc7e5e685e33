"""Rows that a Delta table refuses become dead letters one by one, or end the task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from penstock.spark.query.sink.writer import MAX_REFUSED
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
    "spaces": (
        {"id": 2, "n": 1, "name": "b", "code": "abc  "},
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


IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
DEFAULT = {"CURRENT_DEFAULT": "7", "EXISTS_DEFAULT": "7"}
MADE = {
    "identity": (IDENTITY, [1, 2]),
    "generated": ({"delta.generationExpression": "n + 1"}, [6, 7]),
    "default": (DEFAULT, [7, 7]),
}
N, TEXT = ("n", "int32"), ("name", "string")


def table_of(
    spark: Hosted, kafka: Kafka, folder: Path, letters: str, columns: dict[str, Any], check: str, **more: Any
) -> Rows:
    delta.create(folder, columns, constraints={"positive": check}, **more)
    settings = {"format": "delta", "value_converter_schemas_enable": "true", **queue(letters)}
    return Rows(spark, kafka, kafka.create_topic(partitions=1), folder, **settings)


def send(one: Rows, fields: list[tuple[str, str]], *rows: dict[str, Any]) -> None:
    kafka_records = [one._record({"id": 0, **row}, fields) for row in rows]
    one.kafka.produce(one.topic, kafka_records)


@pytest.mark.parametrize("kind", MADE)
def test_values_that_delta_makes_are_not_missing(spark: Hosted, kafka: Kafka, tmp_path: Path, kind: str) -> None:
    metadata, expected = MADE[kind]
    letters, columns = new_name("dlq"), {"made": "BIGINT" if kind == "identity" else "INT", "n": "INT"}
    with table_of(
        spark, kafka, tmp_path / "table", letters, columns, "n > 0", required=["made"], metadata={"made": metadata}
    ) as one:
        send(one, [N], {"n": 5}, {"n": 6}, {"n": -1})
        one.start()
        one.written(3)
        one.stop()
        assert sorted(row["n"] for row in one.rows()) == [5, 6]
        made = sorted(row["made"] for row in one.rows())
        assert made == expected if kind != "identity" else len(set(made)) == 2
    (letter,) = headers(kafka, letters)
    assert (letter["offset"], letter["column"], letter["sqlstate"]) == ("2", "n", "23001")


@pytest.mark.parametrize("kind", ["identity", "default"])
def test_a_constraint_of_a_value_that_delta_makes_ends_the_task(
    spark: Hosted, kafka: Kafka, tmp_path: Path, kind: str
) -> None:
    letters, columns = new_name("dlq"), {"made": "BIGINT" if kind == "identity" else "INT", "n": "INT"}
    with table_of(
        spark, kafka, tmp_path / "table", letters, columns, "made + n > 0", metadata={"made": MADE[kind][0]}
    ) as one:
        send(one, [N], {"n": 5}, {"n": -100})
        one.start()
        failure = one.failure()
        assert f"{one.folder} refuses a row: " in failure
        assert "CHECK constraint positive" in failure
        assert one.rows() == []


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_a_row_with_which_a_constraint_cannot_be_computed_is_refused(
    spark: Hosted, kafka: Kafka, tmp_path: Path, tolerance: str
) -> None:
    letters, numbers = new_name("dlq"), [5, 0, 200, 20]
    with table_of(spark, kafka, tmp_path / "table", letters, {"n": "INT"}, "100 / n > 1 AND 100 / n < 50") as one:
        send(one, [N], *({"n": n} for n in numbers))
        if tolerance == "none":
            one.start(errors_tolerance="none")
            assert f"{one.folder} refuses the row of topic {one.topic}, partition 0, offset " in one.failure()
            return
        one.start()
        one.written(4)
        one.stop()
        assert sorted(row["n"] for row in one.rows()) == [5, 20]
    found = headers(kafka, letters)
    assert [(each["offset"], each["sqlstate"]) for each in found] == [("1", "23001"), ("2", "23001")]
    assert found[0]["exception.message"].endswith('with values: {"n":0}')


def test_a_null_struct_with_a_required_field_is_refused(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    required = {"name": "b", "type": "integer", "nullable": False, "metadata": {}}
    letters, columns = new_name("dlq"), {"n": "INT", "a": {"type": "struct", "fields": [required]}}
    inner = {"field": "a", "type": "struct", "optional": True, "fields": [{"field": "b", "type": "int32"}]}
    kind = {"type": "struct", "fields": [{"field": "n", "type": "int32"}, inner]}
    rows = [{"n": 1, "a": {"b": 1}}, {"n": 2, "a": None}]
    with table_of(spark, kafka, tmp_path / "table", letters, columns, "n > 0") as one:
        kafka.produce(one.topic, [orjson.dumps({"schema": kind, "payload": row}) for row in rows])
        one.start()
        one.written(2)
        one.stop()
        assert one.rows() == rows[:1]
    (letter,) = headers(kafka, letters)
    assert (letter["offset"], letter["column"], letter["sqlstate"]) == ("1", "a.b", "23502")


def test_more_refused_rows_than_are_reported_at_once_and_a_later_column(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    letters, count, columns = new_name("dlq"), MAX_REFUSED + 1, {"n": "INT", "name": "STRING"}
    with table_of(spark, kafka, tmp_path / "table", letters, columns, "n > 0") as one:
        send(one, [N], *({"n": -1} for _ in range(count)))
        send(one, [N, TEXT], {"n": 1, "name": "a"})
        one.start()
        one.written(count + 1)
        one.stop()
        assert one.rows() == [{"n": 1, "name": "a"}]
    assert [int(each["offset"]) for each in headers(kafka, letters)] == list(range(count))


def test_a_dead_letter_of_a_refused_row_that_cannot_be_sent_ends_the_task(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    with table_of(spark, kafka, tmp_path / "table", new_name("dlq"), {"n": "INT"}, "n > 0") as one:
        send(one, [N], {"n": -1})
        one.start(**{"producer.override.max.request.size": "10"})
        lost = (
            "org.apache.kafka.connect.errors.ConnectException: A record could not be written to the dead letter queue"
        )
        assert one.failure().startswith(lost)
        assert one.rows() == []
