"""One partition's rows to a real topic, as a process of Spark sends them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark import Accumulator
from pyspark.sql import types as t

from penstock.core.topic_creation.groups import uses_topic_creation
from penstock.pipeline.task import TaskSpec
from penstock.spark.query.safe import Safe
from penstock.spark.query.source.schemas import Records, TopicRecordMaker
from penstock.spark.query.source.sending import (
    FAILURE,
    AllReports,
    PartitionReport,
    SendPartition,
    send,
    spec_of_partitions,
)
from support.kafka.client import Kafka
from support.tasks.runs import JSON, STRING, new_name, resolve

COLUMNS = t.StructType([t.StructField("id", t.LongType()), t.StructField("name", t.StringType())])
CAST = {
    "transforms": "cast",
    "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.cast.spec": "name:int32",
}


def spec(bootstrap: str, connector: dict[str, str] | None = None, **worker: str) -> TaskSpec:
    plain = {"value.converter": JSON, "value.converter.schemas.enable": "false", "key.converter": STRING}
    config = {**plain, **(connector or {})}
    known: dict[str, Any] = {"offsets": (({"query": "c"}, {"batch": 6}, None),), "offsets_topic": "offsets"}
    return spec_of_partitions(
        TaskSpec(
            connector=new_name(),
            task=0,
            run=1,
            kind="query",
            task_class="",
            config=config,
            connector_config=config,
            worker_config={"bootstrap.servers": bootstrap, **worker},
            known_topics=("t",),
            **known,
        )
    )


def records(topic: str) -> TopicRecordMaker:
    return TopicRecordMaker(topic, Records(COLUMNS, ["name"]), {"query": "c"}, {"batch": 6})


def rows(*names: str) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(range(len(names)), pa.int64()), "name": pa.array(names, pa.string())})


def values(kafka: Kafka, topic: str) -> list[Any]:
    return [json.loads(value or b"null") for value in kafka.values(topic)]


def test_a_partition_has_no_offsets_and_an_idempotent_producer() -> None:
    found = spec("b:1", {"producer.override.linger.ms": "1"})
    assert (found.offsets, found.offsets_topic, found.global_offsets_topic, found.known_topics) == ((), None, None, ())
    assert found.connector_config["producer.override.enable.idempotence"] == "true"
    assert found.connector_config["producer.override.linger.ms"] == "1"


@pytest.mark.parametrize("enabled", ["false", "true"])
def test_a_partition_warns_of_no_rules_that_have_no_effect(enabled: str) -> None:
    """Each of each batch would."""
    rules = {"topic.creation": "r", "topic.creation.r.regex": ".*"}
    found = spec("b:1", rules, **{"topic.creation.enable": enabled})
    assert (rules.items() <= found.connector_config.items()) == (enabled == "true")
    assert uses_topic_creation(found.connector_config) == (enabled == "true")


def test_the_reports_of_all_partitions_come_together() -> None:
    first, second = PartitionReport(1.0), PartitionReport(2.0)
    all_reports = AllReports()
    value = all_reports.zero(deque())
    for each in (first, second):
        value = all_reports.addInPlace(value, deque([each]))
    assert list(value) == [first, second]


@pytest.mark.integration
def test_rows_are_sent_in_their_order(kafka: Kafka) -> None:
    topic = new_name()
    creation = {f"topic.creation.default.{what}": "1" for what in ("partitions", "replication.factor")}
    batches = [rows(*(f"n{i}" for i in range(700))), rows(), rows("last")]
    report = send(spec(kafka.bootstrap, creation), records(topic), batches, resolve)
    assert (report.failure, report.topics) == (None, (topic,))
    assert report.values["source-record-poll-total"] == report.values["source-record-write-total"] == 701
    found = kafka.read_all(topic)
    assert [record.key for record in found] == [*(f"n{i}".encode() for i in range(700)), b"last"]
    assert json.loads(found[699].value or b"") == {"id": 699, "name": "n699"}


@pytest.mark.integration
def test_records_that_fail_are_dead_letters_in_their_places(kafka: Kafka) -> None:
    topic, queue = kafka.create_topic(), kafka.create_topic()
    config = {**CAST, "penstock.errors.deadletterqueue.topic.name": queue, "errors.tolerance": "all"}
    report = send(spec(kafka.bootstrap, config), records(topic), [rows("1", "two", "3")], resolve)
    assert report.failure is None
    assert [value["name"] for value in values(kafka, topic)] == [1, 3]
    (letter,) = kafka.read_all(queue)
    assert json.loads(letter.value or b"")["payload"] == {"id": 1, "name": "two"}
    assert report.values["total-records-skipped"] == report.values["deadletterqueue-produce-requests"] == 1
    assert report.topics == (topic,)


@pytest.mark.integration
def test_a_record_that_fails_is_reported_and_not_raised(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    report = send(spec(kafka.bootstrap, CAST), records(topic), [rows("1", "two", "3"), rows("4")], resolve)
    assert "Tolerance exceeded in error handler" in (report.failure or "")
    assert [value["name"] for value in values(kafka, topic)] == [1]


def test_a_partition_without_rows_needs_no_producer() -> None:
    assert send(spec("not an address"), records("t"), [rows(), rows()], resolve).failure is None


@pytest.mark.integration
def test_a_partition_waits_for_its_records_longer_than_commits_do(kafka: Kafka) -> None:
    impatient = spec(kafka.bootstrap, **{"offset.flush.timeout.ms": "0"})
    topic = kafka.create_topic()
    report = send(impatient, records(topic), [rows("first"), rows(*map(str, range(5000)))], resolve)
    assert report.failure is None
    assert len(values(kafka, topic)) == 5001


@pytest.mark.integration
def test_an_error_of_spark_is_sparks(kafka: Kafka) -> None:
    def lost() -> Iterator[pa.RecordBatch]:
        yield rows("1")
        raise EOFError

    with pytest.raises(EOFError):
        send(spec(kafka.bootstrap), records(kafka.create_topic()), lost(), resolve)


def test_a_plugin_that_is_missing_is_the_answer_and_the_report_of_a_partition() -> None:
    missing = {"transforms": "x", "transforms.x.type": "no.Such"}
    reports = Accumulator(0, deque[PartitionReport](), AllReports())
    with Safe("127.0.0.1") as safe:
        sending = SendPartition(safe.keep_spec(spec("127.0.0.1:1", missing)), records("t"), reports)
        (answer,) = sending([rows("1")])
    (report,) = reports.value
    assert "no.Such" in (report.failure or "")
    assert answer.to_pylist() == [{FAILURE: report.failure}]
