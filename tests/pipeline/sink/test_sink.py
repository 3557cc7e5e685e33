"""The loop of sink tasks against a broker."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import SinkRecord
from penstock.api.sink import TopicPartition
from penstock.connectors.file_sink import FileStreamSinkTask
from support.kafka.client import Kafka, Record
from support.tasks.recording_sink import recording, values
from support.tasks.runs import TaskRun, eventually, new_name

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
    )
    assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 1}


def test_the_offsets_of_pre_commit_are_committed(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"])
    asked: list[Mapping[TopicPartition, int]] = []

    def pre_commit(self: Any, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        asked.append(offsets)
        return {p: min(offset, 2) for p, offset in offsets.items()} | {TopicPartition("foreign", 7): 1}

    with TaskRun(recording(pre_commit=pre_commit), bootstrap, {"topics": topic}) as run:
        eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 2})
    assert asked[-1] == {TopicPartition(topic, 0): 3}
    assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 2}


def test_after_a_failing_pre_commit_the_task_reads_from_the_committed_offsets(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, ["a"])
    failures = [ConnectError("disk full")]

    def pre_commit(self: Any, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        if "b" in self.log and failures:
            raise failures.pop()
        return offsets

    task = recording(pre_commit=pre_commit)
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 1})
        kafka.produce(topic, ["b"])
        eventually(lambda: values(task) == ["a", "b", "b"])
        eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 2})
    assert failures == []
    assert values(task) == ["a", "b", "b"], "what is committed does not come again"


def test_the_task_may_ask_for_a_commit(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a"])

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            self.context.request_commit()

    worker = {"offset.flush.interval.ms": "600000"}
    with TaskRun(recording(put=put), bootstrap, {"topics": topic}, worker) as run:
        eventually(lambda: kafka.committed(f"connect-{run.connector}"))
        assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 1}


def test_the_task_may_begin_where_it_wants(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"])
    task = recording(open=lambda self, partitions: self.context.offset(dict.fromkeys(partitions, 2)))
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: values(task))
    assert values(task) == ["c"]
    assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 3}


def test_the_task_may_go_back(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b"])
    wishes = [0]

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        self.log += [record.value for record in records]
        if "b" in self.log and wishes:
            self.context.offset({TopicPartition(topic, 0): wishes.pop()})

    task = recording(put=put)
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: len(values(task)) == 4)
    assert values(task) == ["a", "b", "a", "b"]
    assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 2}


def test_the_task_may_pause_partitions(kafka: Kafka, bootstrap: str) -> None:
    """Records of the other partition arrive; by then those of the paused one would have come as well."""
    topic = kafka.create_topic(partitions=2)
    paused, other = TopicPartition(topic, 0), TopicPartition(topic, 1)

    def pause(self: Any, partitions: list[TopicPartition]) -> None:
        self.context.pause(paused)
        self.log.append(self)

    task = recording(open=pause)
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: task.log)
        context = task.log[0].context
        assert context.assignment == {paused, other}
        kafka.produce(topic, [Record("a", partition=0), Record("b", partition=1)])
        eventually(lambda: values(task))
        assert values(task) == ["b"]
        run.control.pause()
        eventually(lambda: run.host.states[-1] == "paused")
        run.control.resume()
        eventually(lambda: run.host.states[-1] == "running")
        kafka.produce(topic, [Record("c", partition=1)])
        eventually(lambda: "c" in values(task))
        assert values(task) == ["b", "c"]
        context.resume(paused)
        eventually(lambda: values(task) == ["b", "c", "a"])


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


def test_partitions_move_between_two_tasks_without_losing_or_repeating_a_record(kafka: Kafka, bootstrap: str) -> None:
    topic, connector = kafka.create_topic(partitions=4), new_name()
    first, second = recording(), recording()
    config = {"topics": topic}

    def write(word: str) -> None:
        kafka.produce(topic, [Record(f"{word}{p}", partition=p) for p in range(4)])

    write("a")
    with TaskRun(first, bootstrap, config, connector=connector):
        eventually(lambda: len(values(first)) == 4)
        with TaskRun(second, bootstrap, config, connector=connector, task=1):
            eventually(lambda: ("open", [2, 3]) in second.log)
            write("b")
            eventually(lambda: len(values(first)) + len(values(second)) == 8)
        write("c")
        eventually(lambda: len(values(first)) + len(values(second)) == 12)
    assert sorted(values(first) + values(second)) == sorted(f"{w}{p}" for w in "abc" for p in range(4))
    assert [each for each in second.log if isinstance(each, tuple)] == [("open", [2, 3]), ("close", [2, 3])]
    assert [each for each in first.log if isinstance(each, tuple)] == [
        ("open", [0, 1, 2, 3]),
        ("close", [0, 1, 2, 3]),
        ("open", [0, 1]),
        ("close", [0, 1]),
        ("open", [0, 1, 2, 3]),
        ("close", [0, 1, 2, 3]),
    ]


def test_partitions_move_incrementally_with_the_cooperative_assignor(kafka: Kafka, bootstrap: str) -> None:
    topic, connector = kafka.create_topic(partitions=2), new_name()
    first, second = recording(), recording()
    assignor = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    config = {"topics": topic, "consumer.override.partition.assignment.strategy": assignor}
    with TaskRun(first, bootstrap, config, connector=connector):
        eventually(lambda: ("open", [0, 1]) in first.log)
        with TaskRun(second, bootstrap, config, connector=connector, task=1):
            eventually(lambda: any(isinstance(each, tuple) and each[0] == "open" for each in second.log))
            kafka.produce(topic, [Record("a", partition=0), Record("b", partition=1)])
            eventually(lambda: len(values(first)) + len(values(second)) == 2)
    assert [each for each in first.log if isinstance(each, tuple)][1] in [("close", [0]), ("close", [1])]
    assert sorted(values(first) + values(second)) == ["a", "b"]


def test_records_that_wait_for_a_retry_are_dropped_with_their_partition(kafka: Kafka, bootstrap: str) -> None:
    """A batch that is put again and again must not hold up a rebalance, nor be put after its partitions are closed."""
    topic, connector = kafka.create_topic(partitions=2), new_name()
    kafka.produce(topic, [Record("a", partition=0), Record("b", partition=1)])

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            self.log.append(("put", sorted(record.value for record in records)))
            self.context.timeout(50)
            raise RetriableError("never")

    first, second = recording(put=put), recording()
    with TaskRun(first, bootstrap, {"topics": topic}, connector=connector):
        eventually(lambda: any(each[0] == "put" for each in first.log))
        with TaskRun(second, bootstrap, {"topics": topic}, connector=connector, task=1):
            eventually(lambda: values(second) == ["b"])
            closed = first.log.index(("close", [0, 1]))
            eventually(lambda: ("put", ["a"]) in first.log[closed:])
            assert not any("b" in each[1] for each in first.log[closed:])


def test_a_failing_open_fails_the_task(bootstrap: str, topic: str) -> None:
    def fail(self: Any, partitions: Any) -> None:
        raise ConnectError("no such table")

    assert "ConnectException: no such table" in TaskRun(recording(open=fail), bootstrap, {"topics": topic}).failure()


def test_other_groups_and_starts(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["old"])
    group, task = new_name("group"), recording()
    config = {
        "topics": topic,
        "consumer.override.group.id": group,
        "consumer.override.auto.offset.reset": "latest",
    }
    with TaskRun(task, bootstrap, config) as run:
        # What is produced before the consumer has found the end of the topic is not read, as it is told.
        eventually(lambda: kafka.produce(topic, ["new"]) or values(task))
        assert set(values(task)) == {"new"}
        eventually(lambda: kafka.committed(group) == {(topic, 0): len(kafka.values(topic))})
        assert kafka.committed(f"connect-{run.connector}") == {}


def test_partitions_without_records_are_committed_with_the_first_that_has_some(kafka: Kafka, bootstrap: str) -> None:
    topic = kafka.create_topic(partitions=3)
    kafka.produce(topic, [Record("a", partition=1), Record("b", partition=1)])
    with TaskRun(recording(), bootstrap, {"topics": topic}) as run:
        eventually(lambda: kafka.committed(f"connect-{run.connector}").get((topic, 1)) == 2)
        assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 0, (topic, 1): 2, (topic, 2): 0}


def test_without_a_start_the_task_fails(bootstrap: str, topic: str) -> None:
    config = {"topics": topic, "consumer.override.auto.offset.reset": "none"}
    assert (
        "org.apache.kafka.clients.consumer.NoOffsetForPartitionException: "
        f"Undefined offset with no reset policy for partitions: [{topic}-0]"
    ) in TaskRun(recording(), bootstrap, config).failure()


def told(run: TaskRun, *names: str) -> list[Any]:
    """Of what it has reported last."""
    return [run.host.reported.get(name) for name in names]


def test_metrics_have_javas_names(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b"])
    with TaskRun(recording(), bootstrap, {"topics": topic}) as run:
        # A commit of nothing is one too, and a report may come between two records.
        eventually(lambda: told(run, "sink-record-read-total", "sink-record-active-count") == [2, 0])
        assert told(run, "sink-record-send-total", "partition-count") == [2, 1]
        assert run.host.reported["offset-commit-completion-total"] > 0


def test_lost_contact_commits_nothing(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a"])
    task = recording()
    run = TaskRun(task, bootstrap, {"topics": topic}, {"offset.flush.interval.ms": "600000"}).started()
    eventually(lambda: values(task))
    run.control.abort()
    run.join()
    assert task.log == [("open", [0]), "a", ("close", [0]), "stop"]
    assert kafka.committed(f"connect-{run.connector}") == {}


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


def test_a_deleted_file_fails_the_task_and_its_lines_come_again(
    kafka: Kafka, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    file, worker = tmp_path / "out", {"offset.flush.interval.ms": "600000"}
    kafka.produce(topic, ["a"])
    config = {"file": str(file), "topics": topic}
    run = TaskRun(FileStreamSinkTask, bootstrap, config, worker)
    eventually(lambda: file.exists() and file.read_text() == "a\n")
    os.remove(file)
    kafka.produce(topic, ["b"])
    assert "was deleted while it was written to" in run.failure()
    with TaskRun(FileStreamSinkTask, bootstrap, config, connector=run.connector):
        eventually(lambda: file.read_text() == "a\nb\n")
