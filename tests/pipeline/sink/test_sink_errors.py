"""Sink tasks with records that can't be read, transformed or put, and their dead letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.api.record import SinkRecord
from support.kafka.client import Kafka, Record
from support.tasks.recording_sink import recording
from support.tasks.runs import JSON, TaskRun, eventually, new_name

pytestmark = pytest.mark.integration

PLAIN_JSON = {"value.converter": JSON, "value.converter.schemas.enable": "false"}


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
    run = TaskRun(recording(), bootstrap, {"topics": topic, **PLAIN_JSON})
    lines = run.failure().splitlines()
    assert lines[0] == "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler"
    assert lines[1].startswith("Caused by: org.apache.kafka.connect.errors.DataException: ")
    where = f"\tIn stage VALUE_CONVERTER, class {JSON}, topic {topic}, partition 0, offset 0"
    assert where in lines
    assert kafka.committed(f"connect-{run.connector}") == {}


def test_filtered_and_skipped_records_are_committed_and_their_topic_counts(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, [None, "{broken"])
    config = chain(("Filter", {"predicate": "p"}), p="RecordIsTombstone")
    config |= {"topics": topic, "errors.tolerance": "all", **PLAIN_JSON}
    with TaskRun(recording(), bootstrap, config) as run:
        eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 2})
        assert run.host.topics == [topic]


Dead = Callable[..., Any]


@pytest.fixture
def dead(kafka: Kafka, bootstrap: str, topic: str) -> Dead:
    """Run a sink with a dead letter queue over these records until there is a dead letter; run, letters, task."""

    def run(given: list[Any], letters: int = 1, task: Any = None, **config: str) -> Any:
        kafka.produce(topic, given)
        queue, task = new_name("dlq"), task or recording()
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


def test_headers_of_dead_letters_describe_the_error(dead: Dead, topic: str) -> None:
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


def test_a_dead_letter_that_cannot_be_produced_fails_the_task(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["{broken" + "x" * 2000, "2"])
    queue = kafka.create_topic(config={"max.message.bytes": "500"})
    config = {"topics": topic, "errors.tolerance": "all", "errors.deadletterqueue.topic.name": queue, **PLAIN_JSON}
    run = TaskRun(recording(), bootstrap, config)
    assert f"A record could not be written to the dead letter queue {queue}" in run.failure()
    assert kafka.committed(f"connect-{run.connector}") == {}


def test_tasks_can_report_errant_records(dead: Dead) -> None:
    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        for record in records:
            if record.value == "odd":
                self.context.errant_record_reporter.report(record, ValueError("odd one"))

    _, letters, _ = dead(["even", "odd"], task=recording(put=put), errors_deadletterqueue_context_headers_enable="true")
    headers = dict(letters[0].headers)
    assert letters[0].value == b"odd"
    assert headers["__connect.errors.stage"] == b"TASK_PUT"
    assert headers["__connect.errors.class.name"] == b"org.apache.kafka.connect.sink.SinkTask"
    assert headers["__connect.errors.exception.message"] == b"odd one"


def test_a_record_reported_after_later_ones_were_put_is_a_dead_letter_as_it_was_read(dead: Dead) -> None:
    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        self.log += records
        if len(self.log) == 3:
            for record in self.log:
                self.context.errant_record_reporter.report(record, ValueError("late"))

    given = ['{ "a" : 1.50, "pw": "x" }', '{ "a":2 }', "{}"]
    config = {**PLAIN_JSON, **chain(("ReplaceField$Value", {"exclude": "pw"}))}
    config["consumer.override.max.poll.records"] = "1"
    _, letters, _ = dead(given, 3, recording(put=put, open=lambda *_: None), **config)
    assert [letter.value.decode() for letter in letters] == given


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

    run = TaskRun(recording(put=put), bootstrap, {"topics": topic, "errors.log.enable": "true"})
    assert "Tolerance exceeded in error handler" in run.failure()
    assert kafka.committed(f"connect-{run.connector}") == {}


def test_without_anything_to_report_to_there_is_no_reporter(kafka: Kafka, bootstrap: str, topic: str) -> None:
    seen: list[Any] = []
    task = recording(open=lambda self, partitions: seen.append(self.context.errant_record_reporter))
    with TaskRun(task, bootstrap, {"topics": topic}):
        eventually(lambda: seen)
    assert seen == [None]


def reporting(swallowing: bool = False) -> Any:
    """Return a task that buffers its records, and reports them all when its offsets are to be committed."""

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        self.log += records

    def pre_commit(self: Any, offsets: Any) -> Any:
        for record in self.log:
            try:
                self.context.errant_record_reporter.report(record, ValueError("not mine"))
            except ConnectError:
                if not swallowing:
                    raise
        return offsets

    return recording(put=put, pre_commit=pre_commit, open=lambda *_: None, close=lambda *_: None, stop=lambda _: None)


def test_records_reported_in_pre_commit_are_in_the_queue_before_the_offsets_are_committed(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, ["x" * 2000])
    queue = kafka.create_topic(config={"max.message.bytes": "500"})
    config = {"topics": topic, "errors.tolerance": "all", "errors.deadletterqueue.topic.name": queue}
    run = TaskRun(reporting(), bootstrap, config, {"offset.flush.interval.ms": "200"})
    assert f"A record could not be written to the dead letter queue {queue}" in run.failure()
    assert kafka.committed(f"connect-{run.connector}") == {}


def test_a_report_in_pre_commit_that_is_not_tolerated_ends_the_task_though_it_is_swallowed(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, ["a"])
    config = {"topics": topic, "errors.log.enable": "true"}
    run = TaskRun(reporting(swallowing=True), bootstrap, config, {"offset.flush.interval.ms": "200"})
    assert "not mine" in run.failure()
    assert kafka.committed(f"connect-{run.connector}") == {}
