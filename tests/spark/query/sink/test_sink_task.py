"""Spark sinks from the outside: on a real Spark, from a real topic, to files that others read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.core.model.tasks import (
    TaskEnded,
    TaskFailed,
    TaskPaused,
    TaskRunning,
    TopicSeen,
)
from support.kafka.client import Kafka
from support.spark.host import Hosted, files_of_spark
from support.spark.queries import COLUMNS, Sink, ids, make
from support.tasks.runs import eventually, new_name

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def sink(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> Callable[..., Sink]:
    return lambda partitions=2, **config: Sink(
        hosted, kafka, kafka.create_topic(partitions=partitions), tmp_path / "table", **config
    )


def test_json_becomes_columns_once(sink: Callable[..., Sink]) -> None:
    with sink(schema=COLUMNS) as one:
        one.produce(*make(0, 100))
        one.start()
        rows = one.wait(100)
        assert ids(rows) == list(range(100))
        assert {tuple(row) for row in rows} == {("id", "name")}
        assert TopicSeen(one.id, 1, one.topic) in one.until(TopicSeen)
        one.produce(*make(100, 110))
        one.wait(110)
        one.written(110)
        # Hadoop starts a process for each checksum that it writes, and scratch needs none.
        scratch = list(files_of_spark(one.hosted.query_driver.java_id).glob("penstock-query-*/offsets"))
        assert scratch
        assert [path.name for folder in scratch for path in folder.glob(".*.crc")] == []
        one.stop()
        assert all("end" not in metadata for _, metadata in one.committed().values())
        # The next run goes on from there.
        one.produce(*make(110, 120))
        one.start()
        assert ids(one.wait(120)) == list(range(120))


def test_sink_pauses_and_resumes(sink: Callable[..., Sink]) -> None:
    with sink(schema=COLUMNS) as one:
        one.produce(*make(0, 10))
        assert one.start(paused=True, until=TaskPaused)[-1] == TaskPaused(one.id, 1)
        one.hosted.resume(one.id)
        assert one.until(TaskRunning)[-1] == TaskRunning(one.id, 1)
        one.wait(10)
        one.hosted.pause(one.id)
        assert one.until(TaskPaused)[-1] == TaskPaused(one.id, 1)
        one.produce(*make(10, 20))
        one.while_another_runs()
        assert len(one.rows()) == 10
        one.hosted.resume(one.id)
        assert ids(one.wait(20)) == list(range(20))


def test_from_the_latest_means_from_where_it_has_begun(sink: Callable[..., Sink]) -> None:
    with sink(schema=COLUMNS, consumer_override_auto_offset_reset="latest") as one:
        one.produce(*make(0, 10))
        one.start()
        one.figures(lambda values: values.get("penstock-records-behind") == 0)
        one.hosted.pause(one.id)
        one.until(TaskPaused)
        one.produce(*make(10, 20))
        one.hosted.resume(one.id)
        assert ids(one.wait(10)) == list(range(10, 20))


def test_its_figures_tell_how_far_it_is_behind(sink: Callable[..., Sink]) -> None:
    def seconds(one: Sink, behind: int) -> Any:
        """Wait until it is this many records behind, and return its delay; Spark reports a batch's time a moment
        later.
        """
        values = one.figures(
            lambda values: (
                values.get("penstock-records-behind") == behind and values.get("penstock-stage-poll-seconds-total")
            )
        )
        stages = {name: spent for name, spent in values.items() if name.endswith("-seconds-total")}
        assert {"poll", "convert", "put", "commit"} <= {name.split("-")[2] for name, spent in stages.items() if spent}
        return values["penstock-seconds-behind"]

    # Spark begins batches at multiples of the interval since 1970: this one is in the year 2033.
    with sink(partitions=1, schema=COLUMNS, trigger_interval_ms="2000000000000", batch_max_records="1") as one:
        one.produce(*make(0, 5))
        one.start()
        assert 0 < seconds(one, 4) < 3600
        one.stop()
        one.start(batch_max_records="10")
        assert seconds(one, 0) == 0


def test_partition_by_makes_folders_of_column_values(sink: Callable[..., Sink]) -> None:
    with sink(schema=COLUMNS, partition_by="name") as one:
        one.produce(*make(0, 30))
        one.start()
        assert ids(one.wait(30)) == list(range(30))
        assert sorted(path.name for path in one.folder.glob("name=*")) == ["name=n0", "name=n1", "name=n2"]


def test_sql_shapes_the_rows(sink: Callable[..., Sink]) -> None:
    sql = "SELECT name, count(*) AS n, max(_offset) AS last, first(_topic) AS topic FROM records GROUP BY name;"
    with sink(partitions=1, schema=COLUMNS, sql=sql) as one:
        one.produce(*make(0, 30))
        one.start()
        rows = sorted(one.wait(3), key=lambda row: row["name"])
        assert [(row["name"], row["n"], row["last"]) for row in rows] == [
            ("n0", 10, 27),
            ("n1", 10, 28),
            ("n2", 10, 29),
        ]
        assert {row["topic"] for row in rows} == {one.topic}


def test_a_result_that_two_computations_would_mix_is_refused_where_batches_are_added_once(
    sink: Callable[..., Sink],
) -> None:
    sql = "SELECT name, count(*) AS n FROM (SELECT name FROM records LIMIT 7) GROUP BY name"
    with sink(schema=COLUMNS, sql=sql) as one:
        one.produce(*make(0, 30))
        one.start()
        assert "LIMIT without ORDER BY may give another result when Spark computes" in (reason := one.failure())
        assert "(line 1, column 59)" in reason
        assert not one.folder.exists()
    with sink(schema=COLUMNS, sql=sql, mode="overwrite") as one:
        one.produce(*make(0, 30))
        one.start()

        def counted() -> bool:
            try:
                return one.folder.exists() and sum(row["n"] for row in one.rows()) == 7
            except FileNotFoundError:  # the folder is being replaced
                return False

        eventually(lambda: one.fine() and counted())


def test_values_with_a_schema_bring_their_columns(sink: Callable[..., Sink]) -> None:
    def value(fields: dict[str, str], **payload: Any) -> dict[str, Any]:
        described = [{"field": name, "type": kind, "optional": True} for name, kind in fields.items()]
        return {"schema": {"type": "struct", "fields": described}, "payload": payload}

    with sink(**{"value.converter.schemas.enable": "true"}) as one:
        one.produce(value({"id": "int32"}, id=1))
        one.start()
        assert one.wait(1) == [{"id": 1}]
        # A new column and a wider one, in the middle of a batch.
        one.produce(
            value({"id": "int32"}, id=2),
            value({"id": "int64", "name": "string"}, id=2**40, name="three"),
            value({"id": "int32"}, id=4),
        )
        one.wait(4)
        found = sorted((row for path in one.folder.glob("*.parquet") for row in rows_of(path)), key=lambda r: r["id"])
        assert [(row["id"], row.get("name")) for row in found] == [(1, None), (2, None), (4, None), (2**40, "three")]


def test_columns_that_the_table_lacks_are_left_out_or_the_end_as_was_said(sink: Callable[..., Sink]) -> None:
    with sink(partitions=1, schema=COLUMNS, schema_evolution="ignore") as one:
        one.produce(*make(0, 3))
        one.start()
        one.wait(3)
        one.stop()
        # What counts is the table, not what this run has seen.
        one.produce({"id": 3, "name": "n0", "more": 1.5})
        one.start(schema=f"{COLUMNS}, more DOUBLE")
        assert {tuple(row) for row in one.wait(4)} == {("id", "name")}
        one.stop()
        one.produce({"id": 4, "name": "n1", "more": 2.5})
        one.start(schema_evolution="fail")
        trace = one.failure()
        assert f"more: not among the columns of {one.folder}, and schema.evolution=fail" in trace
        assert f"\tIn a batch of topic {one.topic}, partition " in trace
        one.start(schema_evolution="add")
        one.wait(5)
        assert {"id": 4, "name": "n1", "more": 2.5} in [
            row for path in one.folder.glob("*.parquet") for row in rows_of(path)
        ]


def with_schema(fields: dict[str, str], **payload: Any) -> dict[str, Any]:
    described = [{"field": name, "type": kind, "optional": True} for name, kind in fields.items()]
    return {"schema": {"type": "struct", "fields": described}, "payload": payload}


def test_records_with_columns_that_the_table_lacks_are_dead_letters(sink: Callable[..., Sink], kafka: Kafka) -> None:
    letters = new_name("dlq")
    errors = {**letters_of(letters, "all"), "errors.deadletterqueue.context.headers.enable": "true"}
    schemas = {"value.converter.schemas.enable": "true"}
    with sink(partitions=1, schema_drift="dead-letter", **errors, **schemas) as one:
        one.produce(with_schema({"id": "int32"}, id=1))
        one.start()
        one.wait(1)
        one.stop()
        one.produce(
            with_schema({"id": "int32", "more": "string"}, id=2, more="x"),
            with_schema({"id": "int32"}, id=3),
            with_schema({"more": "string"}, more="y"),
        )
        one.start()
        assert ids(one.wait(2)) == [1, 3]
        one.written(4)
        one.stop()
        one.start(errors_tolerance="none")
        one.produce(with_schema({"more": "string"}, more="z"))
        assert f"more: not among the columns of {one.folder}, and schema.drift=dead-letter" in one.failure()
    found = {record.value: dict(record.headers) for record in kafka.read_all(letters)}
    assert [json.loads(value)["payload"].get("id") for value in found] == [2, None, None]
    for headers in found.values():
        said = headers["__connect.errors.exception.message"].decode()
        assert said == f"more: not among the columns of {one.folder}, and schema.drift=dead-letter"


def rows_of(path: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read().to_pylist()


def test_transforms_run_before_values_are_fitted(sink: Callable[..., Sink]) -> None:
    rename = {
        "transforms": "r",
        "transforms.r.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.r.renames": "name:title",
    }
    with sink(schema="id BIGINT, title STRING", **rename) as one:
        one.produce(*make(0, 3))
        one.start()
        assert sorted(row["title"] for row in one.wait(3)) == ["n0", "n1", "n2"]


def test_a_record_nobody_can_read_fails_the_task(sink: Callable[..., Sink]) -> None:
    with sink(schema=COLUMNS) as one:
        one.kafka.produce(one.topic, ["{no json"])
        one.start()
        trace = one.failure()
        assert trace.startswith(
            "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler\n"
        )
        assert (
            "Caused by: org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data" in trace
        )
        assert f"topic {one.topic}, partition " in trace


def test_values_that_do_not_fit_become_dead_letters(sink: Callable[..., Sink], kafka: Kafka) -> None:
    letters = new_name("dlq")
    errors = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    with sink(schema=COLUMNS, **errors) as one:
        one.produce({"id": 1, "name": "a"}, {"id": "two", "name": "b"}, {"id": 3, "name": "c"})
        one.kafka.produce(one.topic, ["{"])
        one.start()
        assert ids(one.wait(2)) == [1, 3]
        one.written(4)
        one.stop()
    found = {record.value: dict(record.headers) for record in kafka.read_all(letters)}
    assert set(found) == {b'{"id": "two", "name": "b"}', b"{"}
    assert found[b"{"]["__connect.errors.stage"] == b"VALUE_CONVERTER"
    unfit = found[b'{"id": "two", "name": "b"}']
    assert unfit["__connect.errors.stage"] == b"TASK_PUT"
    assert unfit["__connect.errors.exception.message"] == b"'two' does not fit column value.id of type bigint"


def letters_of(topic: str, tolerance: str) -> dict[str, str]:
    return {
        "errors.tolerance": tolerance,
        "errors.deadletterqueue.topic.name": topic,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }


def test_a_dead_letter_is_sent_once_though_spark_tries_again(sink: Callable[..., Sink], kafka: Kafka) -> None:
    letters = new_name("dlq")
    with sink(schema=COLUMNS, **letters_of(letters, "none")) as one:
        one.produce({"id": 1, "name": "a"})
        one.kafka.produce(one.topic, ["{"])
        one.start()
        assert "Tolerance exceeded in error handler" in one.failure()
    assert kafka.values(letters) == [b"{"]


def test_topics_that_come_later_are_read_too(sink: Callable[..., Sink], kafka: Kafka) -> None:
    prefix = new_name("many")
    settings = {"topics": "", "topics.regex": f"{prefix}-.*", "consumer.override.metadata.max.age.ms": "1000"}
    with sink(schema=COLUMNS, **settings) as one:
        one.start()
        for number in range(2):
            one.topic = kafka.create_topic(f"{prefix}-{number}")
            one.produce(*make(5 * number, 5 * number + 5))
            assert ids(one.wait(5 * number + 5)) == list(range(5 * number + 5))


def test_values_without_a_schema_are_json_and_strings_text(sink: Callable[..., Sink]) -> None:
    with sink() as one:
        one.produce({"a": [1, 2]}, "text")
        one.start()
        assert sorted(row["value"] for row in one.wait(2)) == ["text", '{"a":[1,2]}']


def test_settings_that_can_not_be_followed_fail_at_the_start(sink: Callable[..., Sink]) -> None:
    with sink(schema="id NUMBERISH") as one:
        one.start(until=TaskEnded)
        one.running = False
    with sink(schema=COLUMNS, value_converter="no.such.Converter") as one:
        events = one.start(until=TaskEnded)
        one.running = False
        assert "no.such.Converter" in next(event.trace for event in events if isinstance(event, TaskFailed))
