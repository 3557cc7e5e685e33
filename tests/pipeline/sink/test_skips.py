"""Records that a sink's tasks leave out on request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.api.record import SinkRecord
from penstock.core.model.skips import Skip
from support.kafka.client import Kafka, Record
from support.tasks.recording_sink import RecordingSink, recording, values
from support.tasks.runs import JSON, TaskRun, eventually, new_name

pytestmark = pytest.mark.integration

NEVER = {"offset.flush.interval.ms": "600000"}
"""The task commits only when it is asked to, or ends."""
PLAIN_JSON = {"value.converter": JSON, "value.converter.schemas.enable": "false"}


def picky() -> type[RecordingSink]:
    """Return a task that fails in ``put`` for each batch with the record ``poison``."""

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if any(record.value == "poison" for record in records):
            raise ValueError("poison")
        self.log += [record.value for record in records]

    return recording(put=put)


def dead_letters() -> dict[str, str]:
    return {
        "errors.deadletterqueue.topic.name": new_name("dlq"),
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }


def test_a_discarded_record_does_not_reach_put_and_is_committed(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "poison", "c"])
    failed = TaskRun(picky(), bootstrap, {"topics": topic})
    assert "ValueError: poison" in failed.failure()
    task, skip = picky(), Skip(topic, 0, 1, 1, kafka.topic_id(topic))
    with TaskRun(task, bootstrap, {"topics": topic}, NEVER, failed.connector, skips=(skip,)) as run:
        eventually(lambda: run.host.skipped == [skip])
        assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 3}
        assert values(task) == ["a", "c"]


def test_a_put_of_one_record_names_the_record_that_fails(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "poison", "d"])
    run = TaskRun(picky(), bootstrap, {"topics": topic, "consumer.override.max.poll.records": "1"})
    assert f"In a put of 1 record: topic {topic}, partition 0, offset 2\n" in run.failure()


def test_a_record_skipped_to_the_queue_is_there_as_it_was_read_before_its_offset_is_committed(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, ["1", Record(b"{broken", b"k", 0, (("mine", b"1"),), 1234), "3"])
    config, skip = {"topics": topic, **PLAIN_JSON, **dead_letters()}, Skip(topic, 0, 1, 1, to="dead-letters")
    task = recording()
    with TaskRun(task, bootstrap, config, NEVER, skips=(skip,)) as run:
        eventually(lambda: run.host.skipped == [skip])
        assert [each for each in task.log if isinstance(each, int)] == [1, 3]
        (letter,) = kafka.read_all(config["errors.deadletterqueue.topic.name"])
    assert (letter.key, letter.value, letter.timestamp) == (b"k", b"{broken", 1234)
    headers = dict(letter.headers)
    prefix = "__connect.errors."
    assert headers["mine"] == b"1"
    assert [headers[f"{prefix}{name}"] for name in ("topic", "partition", "offset", "exception.message")] == [
        topic.encode(),
        b"0",
        b"1",
        b"The record was skipped by request",
    ]


def test_a_batch_of_nothing_but_skipped_records_is_committed(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["poison", "poison", "poison"])
    task, skip = picky(), Skip(topic, 0, 0, 2)
    with TaskRun(task, bootstrap, {"topics": topic}, NEVER, skips=(skip,)) as run:
        eventually(lambda: run.host.skipped == [skip])
        assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 3}
        kafka.produce(topic, ["d"])
        eventually(lambda: values(task) == ["d"])


def test_a_skip_of_a_topic_that_was_created_again_does_not_apply(kafka: Kafka, bootstrap: str, topic: str) -> None:
    skip = Skip(topic, 0, 1, 1, kafka.topic_id(topic))
    kafka.renew_topic(topic)
    kafka.produce(topic, ["a", "b", "c"])
    task = recording()
    with TaskRun(task, bootstrap, {"topics": topic}, skips=(skip,)) as run:
        eventually(lambda: values(task) == ["a", "b", "c"])
        assert run.host.skipped == [skip]


def test_a_skip_behind_the_committed_offset_is_over_at_once(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, ["a", "b"])
    with TaskRun(recording(), bootstrap, {"topics": topic}) as first:
        eventually(lambda: kafka.committed(f"connect-{first.connector}") == {(topic, 0): 2})
    skip = Skip(topic, 0, 0, 0)
    task = recording()
    with TaskRun(task, bootstrap, {"topics": topic}, NEVER, first.connector, skips=(skip,)) as run:
        eventually(lambda: run.host.skipped == [skip])
        assert values(task) == []
        assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 2}


def test_a_skip_to_a_queue_that_is_not_configured_any_more_fails_the_task(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, ["a", "b"])
    run = TaskRun(recording(), bootstrap, {"topics": topic}, skips=(Skip(topic, 0, 1, 1, to="dead-letters"),))
    named = f"The record of topic {topic}, partition 0, offset 1"
    assert f"{named} is to be skipped to the dead letter queue, but the connector has none" in run.failure()
    assert kafka.committed(f"connect-{run.connector}") == {}
