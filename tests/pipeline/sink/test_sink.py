"""The loop of sink tasks against a broker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import SinkRecord
from penstock.api.transform import Transformation
from penstock.connectors.file_sink import FileStreamSinkTask
from penstock.kafka.clients import init_transactions, new_producer
from penstock.pipeline import retry_status
from support.kafka.client import Kafka, Record
from support.tasks.recording_sink import recording, values
from support.tasks.runs import TaskRun, eventually, new_name, register

pytestmark = pytest.mark.integration


def test_records_to_a_file_and_their_offsets(kafka: Kafka, bootstrap: str, topic: str, tmp_path: Path) -> None:
    kafka.produce(topic, ["one", None, "three"])
    file = tmp_path / "out"
    with TaskRun(FileStreamSinkTask, bootstrap, {"file": str(file), "topics": topic}) as run:
        eventually(lambda: file.read_text() == "one\nnull\nthree\n")
        eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 3})
        assert run.host.topics == [topic]
    with TaskRun(FileStreamSinkTask, bootstrap, run.spec.config, connector=run.connector):
        kafka.produce(topic, ["four"])
        eventually(lambda: file.read_text() == "one\nnull\nthree\nfour\n")


def test_the_life_of_a_task(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a"])
    task = recording()
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: values(task))
    assert task.log == [("open", [0]), "a", ("close", [0]), "stop"]
    assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 1}


def test_records_have_all_that_was_read(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, [Record("v", "k", 0, (("h", b"1"), ("h", None)), 1234)])
    found: list[SinkRecord] = []
    with TaskRun(recording(put=lambda self, records: found.extend(records)), bootstrap, {"topics": topic}):
        eventually(lambda: found)
    (record,) = found
    assert (record.topic, record.partition, record.offset, record.key, record.value) == (topic, 0, 0, "k", "v")
    assert (record.timestamp, record.timestamp_type) == (1234, "CreateTime")
    assert [header.key for header in record.headers] == ["h", "h"]
    assert (record.original_topic, record.original_partition, record.original_offset) == (topic, 0, 0)


def test_topics_by_a_regular_expression_as_they_come(kafka: Kafka, bootstrap: str) -> None:
    prefix = new_name("re")
    kafka.create_topic(f"{prefix}-a")
    kafka.create_topic(f"other-{prefix}-a")
    kafka.produce(f"{prefix}-a", ["a"])
    kafka.produce(f"other-{prefix}-a", ["other"])
    task = recording()
    config = {"topics.regex": f"{prefix}-\\p{{Lower}}", "consumer.override.metadata.max.age.ms": "500"}
    with TaskRun(task, bootstrap, config) as run:
        eventually(lambda: values(task) == ["a"])
        kafka.create_topic(f"{prefix}-b")
        kafka.produce(f"{prefix}-b", ["b"])
        eventually(lambda: values(task) == ["a", "b"])
        assert run.host.topics == [f"{prefix}-a", f"{prefix}-b"]


def test_no_put_has_more_records_than_asked_for(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, [str(i) for i in range(20)])
    sizes: list[int] = []
    task = recording(put=lambda self, records: sizes.append(len(records)))
    with TaskRun(task, bootstrap, {"topics": topic, "consumer.override.max.poll.records": "3"}):
        eventually(lambda: sum(sizes) == 20)
    assert max(sizes) <= 3


def test_a_retriable_error_puts_the_same_records_again(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b"])
    tries: list[list[str]] = []

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            tries.append([record.value for record in records])
            if len(tries) < 3:
                self.context.timeout(20)
                raise RetriableError("not yet")

    with TaskRun(recording(put=put), bootstrap, {"topics": topic}) as run:
        eventually(lambda: len(tries) >= 3)
        kafka.produce(topic, ["c"])
        eventually(lambda: tries[3:] == [["c"]])
        eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 3})
    assert tries[0] == tries[1] == tries[2] == ["a", "b"]


class AwayError(Exception):
    """An error like that of a driver that only the plugin has."""

    pgcode = "57P03"


def test_a_put_that_is_retried_shows_the_error_with_its_cause_until_it_succeeds(
    kafka: Kafka, bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry_status, "SHOWN_AFTER", 0.1)
    kafka.produce(topic, ["a"])
    away = [True]

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records and away:
            self.context.timeout(50)
            raise RetriableError("not written") from AwayError("the database starts")

    with TaskRun(recording(put=put), bootstrap, {"topics": topic}) as run:
        eventually(lambda: len(run.host.reasons) > 1)
        assert run.host.reasons[0] is None
        lines = (run.host.reasons[1] or "").splitlines()
        assert lines[0].startswith("Retrying automatically since ")
        assert lines[1] == "org.apache.kafka.connect.errors.RetriableException: not written"
        assert lines[2].startswith("Caused by: ")
        assert lines[2].endswith("AwayError: the database starts")
        assert "\tSQLSTATE 57P03" in lines
        assert any(line.startswith("\tat put(") for line in lines)
        eventually(lambda: str(told(run, "penstock-last-error")[0]).endswith("AwayError: the database starts"))
        away.clear()
        eventually(lambda: run.host.reasons[-1] is None)


def test_a_failing_put_fails_the_task_and_its_records_are_not_committed(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, ["good"])

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if any(record.value == "bad" for record in records):
            raise ValueError("no room")

    run = TaskRun(recording(put=put), bootstrap, {"topics": topic}).started()
    eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 1})
    kafka.produce(topic, ["bad"])
    trace = run.failure()
    assert trace.startswith(
        "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception.\n"
        "Caused by: ValueError: no room\n"
        f"\tIn a put of 1 record: topic {topic}, partition 0, offset 1\n"
    )
    assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 1}


def test_pause_and_resume(kafka: Kafka, bootstrap: str, topic: str) -> None:
    task = recording()
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        kafka.produce(topic, ["a"])
        eventually(lambda: values(task) == ["a"])
        run.control.pause()
        eventually(lambda: run.host.states == ["running", "paused"])
        kafka.produce(topic, ["b"])
        run.turns("pausing", 10)
        assert values(task) == ["a"]
        run.control.resume()
        eventually(lambda: values(task) == ["a", "b"])
        assert run.host.states == ["running", "paused", "running"]


def test_put_is_called_with_no_records_while_a_task_is_idle(bootstrap: str, topic: str) -> None:
    puts: list[int] = []
    with TaskRun(recording(put=lambda self, records: puts.append(len(records))), bootstrap, {"topics": topic}):
        eventually(lambda: len(puts) >= 2)
    assert set(puts) == {0}


def test_put_is_called_with_no_records_while_a_task_is_paused(kafka: Kafka, bootstrap: str, topic: str) -> None:
    puts: list[int] = []
    with TaskRun(recording(put=lambda self, records: puts.append(len(records))), bootstrap, {"topics": topic}) as run:
        eventually(lambda: puts)
        run.control.pause()
        eventually(lambda: run.host.states[-1] == "paused")
        kafka.produce(topic, ["a"])
        before = len(puts)
        eventually(lambda: len(puts) >= before + 2)
        assert set(puts) == {0}
        run.control.resume()
        eventually(lambda: 1 in puts)


def test_a_failing_open_fails_the_task(bootstrap: str, topic: str) -> None:
    def fail(self: Any, partitions: Any) -> None:
        raise ConnectError("no such table")

    assert "ConnectException: no such table" in TaskRun(recording(open=fail), bootstrap, {"topics": topic}).failure()


def told(run: TaskRun, *names: str) -> list[Any]:
    """Return the figures of these names from the last report."""
    return [run.host.reported.get(name) for name in names]


def test_metrics_have_javas_names(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b"])
    with TaskRun(recording(), bootstrap, {"topics": topic}) as run:
        # A commit of nothing counts too, and a report may be sent between two records.
        eventually(lambda: told(run, "sink-record-read-total", "sink-record-active-count") == [2, 0])
        assert told(run, "sink-record-send-total", "partition-count") == [2, 1]
        assert run.host.reported["offset-commit-completion-total"] > 0


def test_a_marker_of_a_transaction_is_no_lag(kafka: Kafka, bootstrap: str, topic: str) -> None:
    producer = new_producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-t"})
    init_transactions(producer, 900)
    producer.begin_transaction()
    producer.produce(topic, b"a")
    producer.commit_transaction()
    with TaskRun(recording(), bootstrap, {"topics": topic}) as run:
        eventually(lambda: [(at["position"], at["end"]) for at in told(run, "penstock-places")[0] or ()] == [(2, 2)])
        assert told(run, "sink-record-send-total", "penstock-records-behind") == [1, 0]


def test_it_is_behind_by_records_that_can_not_be_transformed_yet(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"])
    attempts: list[int] = []
    away = ["for now"]

    @register
    class Waiting(Transformation):
        java_name = "x.Waiting"

        def configure(self, config: Any) -> None:
            pass

        def apply_batch(self, batch: Batch) -> Batch:
            attempts.append(len(batch))
            if away:
                raise RetriableError("the registry is away")
            return batch

    waits = {"errors.retry.timeout": "-1", "errors.retry.delay.max.ms": "100"}
    chain = {"transforms": "w", "transforms.w.type": "x.Waiting"}
    task = recording()
    with TaskRun(task, bootstrap, {"topics": topic, **chain, **waits}) as run:
        eventually(lambda: told(run, "penstock-records-behind") == [3])
        before = len(attempts)
        eventually(lambda: len(attempts) > before + 20)
        assert told(run, "penstock-records-behind") == [3]
        away.clear()
        eventually(lambda: told(run, "penstock-records-behind") == [0])
    assert values(task) == ["a", "b", "c"]


def test_how_far_it_is_behind_and_why_it_waits(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"])
    away: list[str] = ["for now"]

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records and away:
            raise RetriableError("the database is away")

    with TaskRun(recording(put=put), bootstrap, {"topics": topic}) as run:
        eventually(lambda: told(run, "penstock-records-behind", "penstock-retrying") == [3, 1])
        (error,) = told(run, "penstock-last-error")
        assert error == "org.apache.kafka.connect.errors.RetriableException: the database is away"
        assert told(run, "penstock-seconds-behind")[0] > 0
        away.clear()
        names = [f"penstock-{name}" for name in ("records-behind", "retrying", "seconds-behind")]
        eventually(lambda: told(run, *names) == [0, 0, 0])
        ((place,),) = told(run, "penstock-places")
        at = {"direction": "from", "topic": topic, "partition": 0, "position": 3, "end": 3, "behind": 0}
        assert place.items() >= at.items()
        stages = [f"penstock-stage-{stage}-seconds-total" for stage in ("poll", "convert", "put", "commit")]
        eventually(lambda: all(told(run, *stages)))
        eventually(lambda: told(run, "penstock-clients")[0][0]["values"]["connection-count"] > 0)
