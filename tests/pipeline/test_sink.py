"""The loop of sink tasks against a broker."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions

from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import SinkRecord
from penstock.api.sink import SinkTask, TopicPartition
from penstock.connectors.file_sink import FileStreamSinkTask
from support import Kafka, Record
from task_runs import JSON, TaskRun, eventually, new_name

pytestmark = pytest.mark.integration

PLAIN_JSON = {"value.converter": JSON, "value.converter.schemas.enable": "false"}


@pytest.fixture
def topic(kafka: Kafka) -> str:
    return kafka.create_topic()


def committed(kafka: Kafka, group: str) -> dict[tuple[str, int], int]:
    """What a consumer group has committed."""
    found = kafka.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(30)
    return {(p.topic, p.partition): p.offset for p in found.topic_partitions or [] if p.offset >= 0}


class Keeping(SinkTask):
    """Keeps what it is given in ``log`` of its own subclass; members of that subclass say what else it does."""

    log: list[Any]

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self.log.append(("open", sorted(p.partition for p in partitions)))

    def put(self, records: Sequence[SinkRecord]) -> None:
        self.log += [record.value for record in records]

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.log.append(("close", sorted(p.partition for p in partitions)))

    def stop(self) -> None:
        self.log.append("stop")


def keeping(**members: Any) -> type[Keeping]:
    return type("Task", (Keeping,), {"log": [], "__module__": __name__, **members})


def values(task: type[Keeping]) -> list[Any]:
    return [each for each in task.log if isinstance(each, str) and each != "stop"]


def test_records_to_a_file_and_their_offsets(kafka: Kafka, bootstrap: str, topic: str, tmp_path: Path) -> None:
    kafka.produce(topic, ["one", None, "three"])
    file = tmp_path / "out"
    with TaskRun(FileStreamSinkTask, bootstrap, {"file": str(file), "topics": topic}) as run:
        eventually(lambda: file.read_text() == "one\nnull\nthree\n")
        eventually(lambda: committed(kafka, f"connect-{run.connector}") == {(topic, 0): 3})
        assert run.host.topics == [topic]
    with TaskRun(FileStreamSinkTask, bootstrap, run.spec.config, connector=run.connector):
        kafka.produce(topic, ["four"])
        eventually(lambda: file.read_text() == "one\nnull\nthree\nfour\n")


def test_the_life_of_a_task(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a"])
    task = keeping()
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: values(task))
    assert task.log == [("open", [0]), "a", ("close", [0]), "stop"]
    assert committed(kafka, f"connect-{run.connector}") == {(topic, 0): 1}


def test_records_have_all_that_was_read(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, [Record("v", "k", 0, (("h", b"1"), ("h", None)), 1234)])
    found: list[SinkRecord] = []
    with TaskRun(keeping(put=lambda self, records: found.extend(records)), bootstrap, {"topics": topic}):
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
    task = keeping()
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
    task = keeping(put=lambda self, records: sizes.append(len(records)))
    with TaskRun(task, bootstrap, {"topics": topic, "consumer.override.max.poll.records": "3"}):
        eventually(lambda: sum(sizes) == 20)
    assert max(sizes) <= 3


def test_a_put_that_may_be_tried_again_gets_the_same_records(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b"])
    tries: list[list[str]] = []

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            tries.append([record.value for record in records])
            if len(tries) < 3:
                self.context.timeout(20)
                raise RetriableError("not yet")

    with TaskRun(keeping(put=put), bootstrap, {"topics": topic}) as run:
        eventually(lambda: len(tries) >= 3)
        kafka.produce(topic, ["c"])
        eventually(lambda: tries[3:] == [["c"]])
        eventually(lambda: committed(kafka, f"connect-{run.connector}") == {(topic, 0): 3})
    assert tries[0] == tries[1] == tries[2] == ["a", "b"]


def test_a_failing_put_fails_the_task_and_its_records_are_not_committed(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, ["good"])

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if any(record.value == "bad" for record in records):
            raise ValueError("no room")

    run = TaskRun(keeping(put=put), bootstrap, {"topics": topic}).started()
    eventually(lambda: committed(kafka, f"connect-{run.connector}") == {(topic, 0): 1})
    kafka.produce(topic, ["bad"])
    trace = run.failure()
    assert trace.startswith(
        "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception.\n"
        "Caused by: ValueError: no room\n"
    )
    assert committed(kafka, f"connect-{run.connector}") == {(topic, 0): 1}


def test_the_task_says_what_may_be_committed(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"])
    asked: list[Mapping[TopicPartition, int]] = []

    def pre_commit(self: Any, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        asked.append(offsets)
        return {p: min(offset, 2) for p, offset in offsets.items()} | {TopicPartition("foreign", 7): 1}

    with TaskRun(keeping(pre_commit=pre_commit), bootstrap, {"topics": topic}) as run:
        eventually(lambda: committed(kafka, f"connect-{run.connector}") == {(topic, 0): 2})
    assert asked[-1] == {TopicPartition(topic, 0): 3}
    assert committed(kafka, f"connect-{run.connector}") == {(topic, 0): 2}


def test_a_failing_pre_commit_goes_back_to_what_is_committed(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a"])
    failures = [ConnectError("disk full")]

    def pre_commit(self: Any, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        if "b" in self.log and failures:
            raise failures.pop()
        return offsets

    task = keeping(pre_commit=pre_commit)
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: committed(kafka, f"connect-{run.connector}") == {(topic, 0): 1})
        kafka.produce(topic, ["b"])
        eventually(lambda: values(task) == ["a", "b", "b"])
        eventually(lambda: committed(kafka, f"connect-{run.connector}") == {(topic, 0): 2})


def test_the_task_may_ask_for_a_commit(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a"])

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            self.context.request_commit()

    worker = {"offset.flush.interval.ms": "600000"}
    with TaskRun(keeping(put=put), bootstrap, {"topics": topic}, worker) as run:
        eventually(lambda: committed(kafka, f"connect-{run.connector}") == {(topic, 0): 1})


def test_the_task_may_begin_where_it_wants(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"])
    task = keeping(open=lambda self, partitions: self.context.offset(dict.fromkeys(partitions, 2)))
    with TaskRun(task, bootstrap, {"topics": topic}):
        eventually(lambda: values(task) == ["c"])


def test_the_task_may_go_back(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b"])
    wishes = [0]

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        self.log += [record.value for record in records]
        if "b" in self.log and wishes:
            self.context.offset({TopicPartition(topic, 0): wishes.pop()})

    task = keeping(put=put)
    with TaskRun(task, bootstrap, {"topics": topic}):
        eventually(lambda: values(task) == ["a", "b", "a", "b"])


def test_the_task_may_pause_partitions(kafka: Kafka, bootstrap: str, topic: str) -> None:
    def pause(self: Any, partitions: list[TopicPartition]) -> None:
        self.context.pause(*partitions)
        self.log.append(self)

    task = keeping(open=pause)
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: task.log)
        context = task.log[0].context
        assert context.assignment == {TopicPartition(topic, 0)}
        kafka.produce(topic, ["a"])
        time.sleep(0.5)
        assert values(task) == []
        run.control.pause()
        eventually(lambda: run.host.states[-1] == "paused")
        run.control.resume()
        eventually(lambda: run.host.states[-1] == "running")
        time.sleep(0.3)
        assert values(task) == []
        context.resume(TopicPartition(topic, 0))
        eventually(lambda: values(task) == ["a"])


def test_pause_and_resume(kafka: Kafka, bootstrap: str, topic: str) -> None:
    task = keeping()
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        kafka.produce(topic, ["a"])
        eventually(lambda: values(task) == ["a"])
        run.control.pause()
        eventually(lambda: run.host.states == ["running", "paused"])
        kafka.produce(topic, ["b"])
        time.sleep(0.5)
        assert values(task) == ["a"]
        run.control.resume()
        eventually(lambda: values(task) == ["a", "b"])
        assert run.host.states == ["running", "paused", "running"]


def test_idle_tasks_are_put_nothing_now_and_then(bootstrap: str, topic: str) -> None:
    puts: list[int] = []
    with TaskRun(keeping(put=lambda self, records: puts.append(len(records))), bootstrap, {"topics": topic}):
        eventually(lambda: len(puts) >= 2)
    assert set(puts) == {0}


def test_partitions_move_between_two_tasks_and_no_record_is_lost_or_doubled(kafka: Kafka, bootstrap: str) -> None:
    topic, connector = kafka.create_topic(partitions=4), new_name()
    first, second = keeping(), keeping()
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


def test_partitions_move_a_few_at_a_time_where_that_is_asked_for(kafka: Kafka, bootstrap: str) -> None:
    topic, connector = kafka.create_topic(partitions=2), new_name()
    first, second = keeping(), keeping()
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


def test_records_that_wait_are_dropped_with_their_partition(kafka: Kafka, bootstrap: str) -> None:
    """A batch that is put again and again must not hold up a rebalance, nor be put after its partitions are closed."""
    topic, connector = kafka.create_topic(partitions=2), new_name()
    kafka.produce(topic, [Record("a", partition=0), Record("b", partition=1)])

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            self.log.append(("put", sorted(record.value for record in records)))
            self.context.timeout(50)
            raise RetriableError("never")

    first, second = keeping(put=put), keeping()
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

    assert "ConnectException: no such table" in TaskRun(keeping(open=fail), bootstrap, {"topics": topic}).failure()


def test_other_groups_and_starts(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["old"])
    group, task = new_name("group"), keeping()
    config = {
        "topics": topic,
        "consumer.override.group.id": group,
        "consumer.override.auto.offset.reset": "latest",
    }
    with TaskRun(task, bootstrap, config) as run:
        eventually(lambda: task.log)
        time.sleep(0.5)
        kafka.produce(topic, ["new"])
        eventually(lambda: values(task) == ["new"])
        eventually(lambda: committed(kafka, group) == {(topic, 0): 2})
        assert committed(kafka, f"connect-{run.connector}") == {}


def test_partitions_without_records_are_committed_with_the_first_that_has_some(kafka: Kafka, bootstrap: str) -> None:
    topic = kafka.create_topic(partitions=3)
    kafka.produce(topic, [Record("a", partition=1), Record("b", partition=1)])
    with TaskRun(keeping(), bootstrap, {"topics": topic}) as run:
        expected = {(topic, 0): 0, (topic, 1): 2, (topic, 2): 0}
        eventually(lambda: committed(kafka, f"connect-{run.connector}") == expected)


def test_without_a_start_the_task_fails(bootstrap: str, topic: str) -> None:
    config = {"topics": topic, "consumer.override.auto.offset.reset": "none"}
    assert (
        "org.apache.kafka.clients.consumer.NoOffsetForPartitionException: "
        f"Undefined offset with no reset policy for partitions: [{topic}-0]"
    ) in TaskRun(keeping(), bootstrap, config).failure()


def test_metrics_have_javas_names(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b"])
    with TaskRun(keeping(), bootstrap, {"topics": topic}) as run:
        eventually(lambda: run.host.reported.get("offset-commit-completion-total"))
    reported = run.host.reported
    assert (reported["sink-record-read-total"], reported["sink-record-send-total"]) == (2, 2)
    assert (reported["partition-count"], reported["sink-record-active-count"]) == (1, 0)


def test_lost_contact_commits_nothing(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a"])
    task = keeping()
    run = TaskRun(task, bootstrap, {"topics": topic}, {"offset.flush.interval.ms": "600000"}).started()
    eventually(lambda: values(task))
    run.control.abort()
    run.join()
    assert task.log == [("open", [0]), "a", ("close", [0]), "stop"]
    assert committed(kafka, f"connect-{run.connector}") == {}


def test_how_far_it_is_behind_and_why_it_waits(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"])
    away: list[str] = ["for now"]

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records and away:
            raise RetriableError("the database is away")

    def told(run: TaskRun, *names: str) -> list[Any]:
        return [run.host.reported.get(f"penstock-{name}") for name in names]

    with TaskRun(keeping(put=put), bootstrap, {"topics": topic}) as run:
        eventually(lambda: told(run, "records-behind", "retrying") == [3, 1])
        (error,) = told(run, "last-error")
        assert error == "org.apache.kafka.connect.errors.RetriableException: the database is away"
        assert told(run, "seconds-behind")[0] > 0
        away.clear()
        eventually(lambda: told(run, "records-behind", "retrying", "seconds-behind") == [0, 0, 0])


# -- errors


def chain(*transforms: tuple[str, dict[str, str]], **predicates: str) -> dict[str, str]:
    package = "org.apache.kafka.connect.transforms."
    config = {"transforms": ",".join(f"t{i}" for i in range(len(transforms)))}
    for i, (name, own) in enumerate(transforms):
        config |= {f"transforms.t{i}.type": package + name}
        config |= {f"transforms.t{i}.{key}": value for key, value in own.items()}
    for alias, name in predicates.items():
        config |= {"predicates": alias, f"predicates.{alias}.type": f"{package}predicates.{name}"}
    return config


def test_a_broken_record_fails_the_task_and_nothing_is_committed(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["{broken", "2"])
    run = TaskRun(keeping(), bootstrap, {"topics": topic, **PLAIN_JSON})
    lines = run.failure().splitlines()
    assert lines[0] == "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler"
    assert lines[1].startswith("Caused by: org.apache.kafka.connect.errors.DataException: ")
    where = f"\tIn stage VALUE_CONVERTER, class {JSON}, topic {topic}, partition 0, offset 0"
    assert where in lines
    assert committed(kafka, f"connect-{run.connector}") == {}


def test_filtered_and_skipped_records_are_committed_and_their_topic_counts(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, [None, "{broken"])
    config = chain(("Filter", {"predicate": "p"}), p="RecordIsTombstone")
    config |= {"topics": topic, "errors.tolerance": "all", **PLAIN_JSON}
    with TaskRun(keeping(), bootstrap, config) as run:
        eventually(lambda: committed(kafka, f"connect-{run.connector}") == {(topic, 0): 2})
        assert run.host.topics == [topic]


Dead = Callable[..., Any]


@pytest.fixture
def dead(kafka: Kafka, bootstrap: str, topic: str) -> Dead:
    """Run a sink with a dead letter queue over these records until there is a dead letter; run, letters, task."""

    def run(given: list[Any], letters: int = 1, task: Any = None, **config: str) -> Any:
        kafka.produce(topic, given)
        queue, task = new_name("dlq"), task or keeping()
        config = {key.replace("_", "."): value for key, value in config.items()}
        settings = {
            "topics": topic,
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": queue,
            "errors.deadletterqueue.topic.replication.factor": "1",
            **config,
        }
        with TaskRun(task, bootstrap, settings) as started:
            eventually(lambda: queue in kafka.topics())
            eventually(lambda: len(kafka.values(queue)) == letters)
        return started, kafka.read_all(queue), task

    return run


def test_dead_letters_are_records_as_they_were_read(dead: Dead, topic: str) -> None:
    record = Record("{broken", "k", 0, (("mine", b"1"),), 1234)
    run, letters, task = dead(["1", record, "3"], **PLAIN_JSON)
    letter = letters[0]
    assert (letter.key, letter.value, letter.headers, letter.timestamp) == (
        b"k",
        b"{broken",
        (("mine", b"1"),),
        1234,
    )
    assert [each for each in task.log if isinstance(each, int)] == [1, 3]
    assert run.host.topics == [topic]


def test_dead_letters_tell_what_happened(dead: Dead, topic: str) -> None:
    run, letters, _ = dead(["1", "{broken"], errors_deadletterqueue_context_headers_enable="true", **PLAIN_JSON)
    prefix = "__connect.errors."
    headers = dict(letters[0].headers)
    trace = headers.pop(f"{prefix}exception.stacktrace")
    message = headers.pop(f"{prefix}exception.message")
    assert headers == {
        f"{prefix}topic": topic.encode(),
        f"{prefix}partition": b"0",
        f"{prefix}offset": b"1",
        f"{prefix}connector.name": run.connector.encode(),
        f"{prefix}task.id": b"0",
        f"{prefix}stage": b"VALUE_CONVERTER",
        f"{prefix}class.name": JSON.encode(),
        f"{prefix}exception.class.name": b"org.apache.kafka.connect.errors.DataException",
    }
    assert message == b"Converting byte[] to Kafka Connect data failed due to serialization error: "
    assert trace.startswith(b"org.apache.kafka.connect.errors.DataException: " + message)


def test_dead_letters_of_transforms_are_the_records_before_them(dead: Dead) -> None:
    steps = chain(("Cast$Value", {"spec": "int32"}))
    config = {**PLAIN_JSON, **steps, "errors.deadletterqueue.context.headers.enable": "true"}
    _, letters, _ = dead(['"no number"', '"7"'], **config)
    assert letters[0].value == b'"no number"'
    headers = dict(letters[0].headers)
    assert headers["__connect.errors.stage"] == b"TRANSFORMATION"
    assert headers["__connect.errors.class.name"] == b"org.apache.kafka.connect.transforms.Cast$Value"


def test_a_dead_letter_that_does_not_arrive_fails_the_task(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["{broken" + "x" * 2000, "2"])
    queue = kafka.create_topic(config={"max.message.bytes": "500"})
    config = {"topics": topic, "errors.tolerance": "all", "errors.deadletterqueue.topic.name": queue, **PLAIN_JSON}
    run = TaskRun(keeping(), bootstrap, config)
    assert f"A record could not be written to the dead letter queue {queue}" in run.failure()
    assert committed(kafka, f"connect-{run.connector}") == {}


def test_tasks_can_report_records_themselves(dead: Dead) -> None:
    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        for record in records:
            if record.value == "odd":
                self.context.errant_record_reporter.report(record, ValueError("odd one"))

    _, letters, _ = dead(["even", "odd"], task=keeping(put=put), errors_deadletterqueue_context_headers_enable="true")
    headers = dict(letters[0].headers)
    assert letters[0].value == b"odd"
    assert headers["__connect.errors.stage"] == b"TASK_PUT"
    assert headers["__connect.errors.class.name"] == b"org.apache.kafka.connect.sink.SinkTask"
    assert headers["__connect.errors.exception.message"] == b"odd one"


def test_a_reported_record_that_is_not_tolerated_fails_the_task_even_if_it_hides_that(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, ["a"])

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        for record in records:
            try:
                self.context.errant_record_reporter.report(record, ValueError("bad"))
            except ConnectError:
                pass

    run = TaskRun(keeping(put=put), bootstrap, {"topics": topic, "errors.log.enable": "true"})
    assert "Tolerance exceeded in error handler" in run.failure()
    assert committed(kafka, f"connect-{run.connector}") == {}


def test_without_anything_to_report_to_there_is_no_reporter(kafka: Kafka, bootstrap: str, topic: str) -> None:
    seen: list[Any] = []
    task = keeping(open=lambda self, partitions: seen.append(self.context.errant_record_reporter))
    with TaskRun(task, bootstrap, {"topics": topic}):
        eventually(lambda: seen)
    assert seen == [None]


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
