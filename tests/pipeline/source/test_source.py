"""The loop of source tasks against a broker."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import Header, SourceRecord
from penstock.api.schema import STRING
from penstock.api.topic_settings import TopicSettings
from penstock.connectors.file_source import FileStreamSourceTask
from penstock.kafka.offsets.entries import OffsetEntries
from penstock.pipeline.task import CommittedOffset
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually, new_name
from support.tasks.scripted_source import records, scripted

pytestmark = pytest.mark.integration


def stored(kafka: Kafka, topic: str, connector: str) -> list[bytes | None]:
    return [r.value for r in kafka.read_all(topic) if str(r.key).startswith(f'b\'["{connector}"')]


def lines(file: Path, *values: str) -> None:
    with file.open("a") as out:
        out.write("".join(f"{value}\n" for value in values))


def test_lines_and_offsets(kafka: Kafka, bootstrap: str, tmp_path: Path, topic: str, offsets_topic: str) -> None:
    lines(tmp_path / "in", "one", "two")
    config = {"file": str(tmp_path / "in"), "topic": topic}
    with TaskRun(FileStreamSourceTask, bootstrap, config, offsets_topic=offsets_topic) as run:
        eventually(lambda: kafka.values(topic) == [b"one", b"two"])
        eventually(lambda: stored(kafka, offsets_topic, run.connector) == [b'{"position":8}'])
        assert run.host.topics == [topic]
        assert run.host.states == ["running"]
        lines(tmp_path / "in", "three")
        eventually(lambda: len(kafka.values(topic)) == 3)
    key = f'["{run.connector}",{{"filename":"{tmp_path / "in"}"}}]'.encode()
    assert [(r.key, r.value) for r in kafka.read_all(offsets_topic)][-1] == (key, b'{"position":14}')


def test_offsets_go_to_the_host_where_there_is_no_topic(
    kafka: Kafka, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    lines(tmp_path / "in", "one")
    with TaskRun(FileStreamSourceTask, bootstrap, {"file": str(tmp_path / "in"), "topic": topic}) as run:
        eventually(lambda: run.host.stored)
    assert run.host.stored == [({"filename": str(tmp_path / "in")}, {"position": 4})]


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_file_that_was_replaced_while_no_task_ran_fails_the_next_run(
    kafka: Kafka, bootstrap: str, tmp_path: Path, topic: str, offsets_topic: str, exactly_once: bool
) -> None:
    file, copies, name = tmp_path / "in", kafka.create_topic(), new_name("c")
    lines(file, "one", "two")
    config = {"file": str(file), "topic": topic}
    spec = {"connector": name, "group_id": new_name("g"), "exactly_once": exactly_once, "offsets_topic": offsets_topic}
    with TaskRun(FileStreamSourceTask, bootstrap, config, **spec, global_offsets_topic=copies):
        eventually(lambda: kafka.values(topic) == [b"one", b"two"])
    committed = []
    for each in (offsets_topic, copies):
        eventually(lambda each=each: kafka.read_all(each))
        entries = OffsetEntries()
        entries.put([(record.key, record.value, record.headers) for record in kafka.read_all(each)])
        committed.append(entries.snapshot(name))
    assert committed[0] == committed[1]
    [stored_offset] = committed[0]
    file.write_text("ONE\nTWO\nthree\n")

    def again(offset: CommittedOffset) -> TaskRun:
        run = TaskRun(FileStreamSourceTask, bootstrap, config, **spec, offsets=(offset,))
        run.host.committed = (offset,)
        return run

    failure = again(CommittedOffset(*stored_offset)).failure()
    assert f"File {file} is not what the connector has read up to its position 8" in failure
    with again(CommittedOffset(*stored_offset[:3])):  # an offset of Java's, or set by REST
        eventually(lambda: kafka.values(topic) == [b"one", b"two", b"three"])


def test_reading_continues_at_the_offset_given(kafka: Kafka, bootstrap: str, tmp_path: Path, topic: str) -> None:
    file = tmp_path / "in"
    lines(file, "one", "two")
    offsets = (({"filename": str(file)}, {"position": 4}, None),)
    with TaskRun(FileStreamSourceTask, bootstrap, {"file": str(file), "topic": topic}, offsets=offsets):
        eventually(lambda: kafka.values(topic))
    assert kafka.values(topic) == [b"two"]


def test_offsets_of_an_own_topic_are_copied(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    copies = kafka.create_topic()
    topics = {"offsets_topic": offsets_topic, "global_offsets_topic": copies}
    with TaskRun(scripted(records(topic, "a")), bootstrap, {}, **topics) as run:
        eventually(lambda: stored(kafka, copies, run.connector) == [b'{"o":1}'])
        assert stored(kafka, offsets_topic, run.connector) == [b'{"o":1}']


def test_a_pause_stops_polling_and_a_stop_commits(
    kafka: Kafka, bootstrap: str, tmp_path: Path, topic: str, offsets_topic: str
) -> None:
    file, worker = tmp_path / "in", {"offset.flush.interval.ms": "600000"}
    lines(file, "one")
    config = {"file": str(file), "topic": topic}
    with TaskRun(FileStreamSourceTask, bootstrap, config, worker, offsets_topic=offsets_topic) as run:
        eventually(lambda: kafka.values(topic) == [b"one"])
        run.control.pause()
        eventually(lambda: run.host.states == ["running", "paused"])
        assert stored(kafka, offsets_topic, run.connector) == [b'{"position":4}']
        lines(file, "two")
        run.turns("pausing", 5)
        assert kafka.values(topic) == [b"one"]
        run.control.resume()
        eventually(lambda: kafka.values(topic) == [b"one", b"two"])
        assert run.host.states == ["running", "paused", "running"]
    assert stored(kafka, offsets_topic, run.connector)[-1] == b'{"position":8}'


def test_a_task_that_begins_paused_is_not_started(bootstrap: str, topic: str) -> None:
    started: list[int] = []
    task = scripted(start=lambda self, config: started.append(1))
    with TaskRun(task, bootstrap, {}, paused=True) as run:
        assert (run.host.states, started) == (["paused"], [])
        run.control.resume()
        eventually(lambda: run.host.states == ["paused", "running"])
        assert started == [1]


def test_stop_ends_a_poll_that_blocks(bootstrap: str) -> None:
    polling, ended = threading.Event(), threading.Event()

    def poll(self: Any) -> None:
        polling.set()
        ended.wait()

    run = TaskRun(scripted(poll=poll, stop=lambda self: ended.set()), bootstrap, {}).started()
    eventually(polling.is_set)
    run.stop()
    run.check()


def test_a_failing_poll_fails_the_task_and_what_was_sent_is_committed(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str
) -> None:
    task = scripted(records(topic, "a"), ConnectError("the source is gone"))
    run = TaskRun(task, bootstrap, {}, {"offset.flush.interval.ms": "600000"}, offsets_topic=offsets_topic)
    assert run.failure().startswith("org.apache.kafka.connect.errors.ConnectException: the source is gone\n")
    assert kafka.values(topic) == [b"a"]
    assert stored(kafka, offsets_topic, run.connector) == [b'{"o":1}']


def test_a_poll_that_may_be_tried_again_is(kafka: Kafka, bootstrap: str, topic: str) -> None:
    with TaskRun(scripted(RetriableError("not yet"), records(topic, "a")), bootstrap, {}) as run:
        eventually(lambda: kafka.values(topic))
    assert kafka.values(topic) == [b"a"]
    assert run.host.states == ["running"]


def test_a_poll_that_is_tried_again_shows_in_the_figures_and_is_logged_once_as_long_as_its_error_stays_the_same(
    kafka: Kafka, bootstrap: str, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    errors, goes_on = iter(["away"] * 20 + ["full"] * 20), threading.Event()

    def poll(self: Any) -> Any:
        for reason in errors:
            raise RetriableError(reason)
        return list(records(topic, "a")) if goes_on.is_set() else again()

    def again() -> Any:
        raise RetriableError("full")

    with TaskRun(scripted(poll=poll), bootstrap, {}) as run:
        eventually(lambda: run.host.reported.get("penstock-retrying") == 1.0)
        full = "org.apache.kafka.connect.errors.RetriableException: full"
        eventually(lambda: run.host.reported.get("penstock-last-error") == full)
        goes_on.set()
        eventually(lambda: run.host.reported["penstock-retrying"] == 0.0)
    said = [record for record in caplog.records if "Will retry operation" in record.getMessage()]
    assert [str((record.exc_info or (None, ""))[1]) for record in said if record.levelno == logging.WARNING] == [
        "away",
        "full",
    ]


def test_a_failing_start_fails_the_task_which_is_stopped(bootstrap: str) -> None:
    stopped: list[int] = []

    def start(self: Any, config: Any) -> None:
        raise ConnectError("no such database")

    run = TaskRun(scripted(start=start, stop=lambda self: stopped.append(1)), bootstrap, {})
    assert "no such database" in run.failure()
    assert (stopped, run.host.states) == ([1], [])


def test_records_with_everything(kafka: Kafka, bootstrap: str) -> None:
    topic = kafka.create_topic(partitions=3)
    record = SourceRecord(
        topic=topic,
        partition=2,
        key_schema=STRING,
        key="k",
        value="v",
        timestamp=1234,
        headers=(Header("h", STRING, "x"), Header("h", None, None)),
    )
    with TaskRun(scripted([record]), bootstrap, {}):
        found = eventually(lambda: kafka.read_all(topic))[0]
    assert (found.partition, found.key, found.value, found.timestamp) == (2, b"k", b"v", 1234)
    assert found.headers == (("h", b"x"), ("h", None))


def test_a_record_that_is_too_large_fails_the_task(bootstrap: str, topic: str, offsets_topic: str) -> None:
    config = {"producer.override.max.request.size": "2000"}
    run = TaskRun(scripted(records(topic, "x" * 3000)), bootstrap, config, offsets_topic=offsets_topic)
    trace = run.failure()
    assert "RecordTooLargeException" in trace
    assert "The message is 3086 bytes when serialized which is larger than 2000" in trace
    assert "source offset {'o': 1}" in trace


def test_limits_may_be_as_low_as_in_java(bootstrap: str, topic: str) -> None:
    run = TaskRun(scripted(records(topic, "a")), bootstrap, {"producer.override.max.request.size": "1"})
    assert "The message is 86 bytes when serialized which is larger than 1, which is the value of the" in run.failure()


def test_a_record_that_is_too_large_is_skipped_if_tolerated(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str
) -> None:
    config = {"producer.override.max.request.size": "2000", "errors.tolerance": "all"}
    task = scripted(records(topic, "a", "x" * 3000, "c"))
    with TaskRun(task, bootstrap, config, offsets_topic=offsets_topic) as run:
        eventually(lambda: stored(kafka, offsets_topic, run.connector))
    assert kafka.values(topic) == [b"a", b"c"]
    assert stored(kafka, offsets_topic, run.connector) == [b'{"o":3}']


def test_a_record_that_the_broker_refuses_fails_the_task(kafka: Kafka, bootstrap: str, offsets_topic: str) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "2000"})
    run = TaskRun(scripted(records(topic, "x" * 3000)), bootstrap, {}, offsets_topic=offsets_topic)
    assert "RecordTooLargeException" in run.failure()
    assert stored(kafka, offsets_topic, run.connector) == []
    assert run.host.topics == []


def test_each_topic_is_reported_once_until_a_reset(kafka: Kafka, bootstrap: str) -> None:
    a, b = kafka.create_topic(), kafka.create_topic()
    task = scripted(records(a, "1"), records(b, "2"), records(a, "3"))
    with TaskRun(task, bootstrap, {}, known_topics=(b,)) as run:
        eventually(lambda: len(kafka.values(a)) == 2 and run.host.topics == [a])
        run.control.reset_topics()
        task.batches.append(records(b, "4"))
        eventually(lambda: b in run.host.topics)
    assert run.host.topics == [a, b]


def test_no_topic_is_reported_without_tracking(kafka: Kafka, bootstrap: str, topic: str) -> None:
    with TaskRun(scripted(records(topic, "1")), bootstrap, {}, track_topics=False) as run:
        eventually(lambda: kafka.values(topic))
    assert run.host.topics == []


def test_topics_are_created_by_the_rules_which_the_task_may_change(kafka: Kafka, bootstrap: str) -> None:
    ruled, changed, vetoed = new_name("t"), new_name("t"), new_name("t")

    def settings(self: Any, settings: TopicSettings) -> TopicSettings | None:
        if settings.name == vetoed:
            return None
        return settings.with_partitions(4) if settings.name == changed else settings

    config = {"topic.creation.default.partitions": "2", "topic.creation.default.replication.factor": "1"}
    task = scripted(records(ruled, "1") + records(changed, "2") + records(vetoed, "3"), settings_for_new_topic=settings)
    with TaskRun(task, bootstrap, config):
        eventually(lambda: {ruled, changed, vetoed} <= kafka.topics())
        eventually(lambda: kafka.values(vetoed) == [b"3"])
    topics = kafka.admin.list_topics(timeout=900).topics
    assert [len(topics[name].partitions) for name in (ruled, changed, vetoed)] == [2, 4, 1]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"replication.factor": "77"}, "Unable to create topic(s) '{}': Unable to replicate the partition 77 time(s)"),
        ({"no.such": "1"}, "Unable to create topic(s) '{}': Unknown topic config name: no.such"),
        ({"partitions": "2147483647"}, "Error while attempting to create/find topic(s) '{}'"),
    ],
)
def test_a_topic_that_cannot_be_created_fails_the_task(bootstrap: str, settings: dict[str, str], problem: str) -> None:
    topic, given = new_name("t"), {"partitions": "1", "replication.factor": "1", **settings}
    config = {f"topic.creation.default.{name}": value for name, value in given.items()}
    run = TaskRun(scripted(records(topic, "1")), bootstrap, config)
    assert problem.format(topic) in run.failure()


def test_commit_and_commit_record_are_called(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    told: list[Any] = []
    commits: list[int] = []

    def commit_record(self: Any, record: SourceRecord, topic: str, partition: int, offset: int) -> None:
        told.append((record.value, topic, partition, offset))

    drop = {
        "transforms": "f",
        "transforms.f.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.f.predicate": "p",
        "predicates": "p",
        "predicates.p.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
    }
    batch = records(topic, "a", "b")
    batch.insert(1, batch[0].with_(value=None, source_offset={"o": 9}))
    task = scripted(batch, commit_record=commit_record, commit=lambda self: commits.append(1))
    with TaskRun(task, bootstrap, drop, offsets_topic=offsets_topic) as run:
        eventually(lambda: len(told) == 3)
        eventually(lambda: stored(kafka, offsets_topic, run.connector) == [b'{"o":2}'])
    assert sorted(told, key=str) == sorted([(None, topic, -1, -1), ("a", topic, 0, 0), ("b", topic, 0, 1)], key=str)
    assert commits


def test_lost_contact_stores_no_more_offsets(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    worker = {"offset.flush.interval.ms": "600000"}
    run = TaskRun(scripted(records(topic, "a")), bootstrap, {}, worker, offsets_topic=offsets_topic).started()
    eventually(lambda: kafka.values(topic) == [b"a"])
    run.control.abort()
    run.join()
    assert stored(kafka, offsets_topic, run.connector) == []


def test_dropped_records_do_not_count_as_written(bootstrap: str, topic: str) -> None:
    drop = {"transforms": "drop", "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter"}
    with TaskRun(scripted(records(topic, "a", "b")), bootstrap, drop) as run:
        eventually(lambda: run.host.reported.get("source-record-poll-total") == 2)
    assert run.host.reported["source-record-write-total"] == 0


def test_metrics_have_javas_names(bootstrap: str, topic: str) -> None:
    with TaskRun(scripted(records(topic, "a", "b")), bootstrap, {}) as run:
        eventually(lambda: run.host.reported.get("source-record-poll-total") == 2)
    assert run.host.reported["source-record-write-total"] == 2
    assert run.host.reported["batch-size-max"] == 2
