"""Commits of a sink task, and the offsets from which it starts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.api.record import SinkRecord
from penstock.api.sink import OffsetAndMetadata, TopicPartition
from penstock.connectors.file_sink import FileStreamSinkTask
from penstock.pipeline.sink import loop
from support.kafka.client import Kafka, Record
from support.tasks.recording_sink import recording, values
from support.tasks.runs import TaskRun, eventually, new_name

pytestmark = pytest.mark.integration


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


def test_what_the_group_keeps_with_an_offset_is_committed_when_it_alone_changes(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, ["a"])
    seen: list[tuple[int, str, int | None]] = []

    def pre_commit(self: Any, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        if not any(offsets.values()):  # the record has not come yet
            return {}
        known = self.context.member.committed(offsets)
        seen.extend((each, each.metadata, each.leader_epoch) for each in known.values() if each is not None)
        text = "first" if not seen else "second"
        return {partition: OffsetAndMetadata(offset, text, 0) for partition, offset in offsets.items()}

    with TaskRun(recording(pre_commit=pre_commit), bootstrap, {"topics": topic}, {"offset.flush.interval.ms": "200"}):
        eventually(lambda: (1, "second", 0) in seen)
    assert seen[0] == (1, "first", 0)


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
    assert values(task) == ["a", "b", "b"], "committed records are not read again"


def test_a_partition_without_offsets_is_read_again_from_its_first_record_after_a_failing_pre_commit(
    kafka: Kafka, bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its start position could not be looked up when it was assigned."""
    monkeypatch.setattr(loop, "positions", lambda *_: {})
    kafka.produce(topic, ["a", "b"])
    failures = [ConnectError("disk full")]

    def pre_commit(self: Any, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        if failures:
            raise failures.pop()
        return offsets

    task = recording(pre_commit=pre_commit)
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 2})
    assert values(task) == ["a", "b", "a", "b"]


def test_a_negative_offset_of_pre_commit_is_not_where_to_read_again(kafka: Kafka, bootstrap: str) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, [Record(b"a", partition=0), Record(b"b", partition=1)])
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    answers: list[Any] = [{first: 1, second: -1}, ConnectError("disk full")]

    def pre_commit(self: Any, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        if list(offsets.values()) != [1, 1] or not answers:
            return {partition: offset for partition, offset in offsets.items() if offset or not answers}
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    task = recording(pre_commit=pre_commit)
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: kafka.committed(f"connect-{run.connector}") == {tuple(first): 1, tuple(second): 1})
    assert sorted(values(task)) == ["a", "b", "b"]


def test_the_task_may_ask_for_a_commit(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a"])

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            self.context.request_commit()

    worker = {"offset.flush.interval.ms": "600000"}
    with TaskRun(recording(put=put), bootstrap, {"topics": topic}, worker) as run:
        eventually(lambda: kafka.committed(f"connect-{run.connector}"))
        assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 1}


def test_what_the_task_asks_for_again_as_it_ends_is_not_committed(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"])
    runs: list[TaskRun] = []

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            self.context.offset({TopicPartition(topic, 0): 1})
            eventually(lambda: runs)
            runs[0].control.stop()

    with TaskRun(recording(put=put), bootstrap, {"topics": topic}) as run:
        runs.append(run)
        run.thread.join()
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


def test_other_groups_and_starts(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["old"])
    group, task = new_name("group"), recording()
    config = {
        "topics": topic,
        "consumer.override.group.id": group,
        "consumer.override.auto.offset.reset": "latest",
    }
    with TaskRun(task, bootstrap, config) as run:
        # Records produced before the consumer has found the end of the topic are not read, as configured.
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


def test_lost_contact_commits_nothing(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a"])
    task = recording()
    run = TaskRun(task, bootstrap, {"topics": topic}, {"offset.flush.interval.ms": "600000"}).started()
    eventually(lambda: values(task))
    run.control.abort()
    run.join()
    assert task.log == [("open", [0]), "a", ("close", [0]), "stop"]
    assert kafka.committed(f"connect-{run.connector}") == {}


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


def test_offsets_are_those_of_the_topic_that_was_read_though_a_transform_renames_it(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    router = {"type": "org.apache.kafka.connect.transforms.RegexRouter", "regex": ".*", "replacement": "elsewhere"}
    renamed = {"transforms": "a", **{f"transforms.a.{key}": value for key, value in router.items()}}
    kafka.produce(topic, ["a", "b"])
    task, asked = recording(), list[Mapping[TopicPartition, int]]()

    def pre_commit(self: Any, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        asked.append(offsets)
        return {TopicPartition("elsewhere", 0): 1, **offsets}

    for each in (task, recording(pre_commit=pre_commit)):
        with TaskRun(each, bootstrap, {"topics": topic, **renamed}) as run:
            eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 2})
    assert asked[-1] == {TopicPartition(topic, 0): 2}
