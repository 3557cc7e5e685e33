"""Topics to which a task writes its source offsets."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.api.errors import ConnectError
from penstock.kafka.clients import new_producer
from penstock.pipeline.source import offset_log
from penstock.pipeline.source.offset_log import OffsetCopies, TopicOffsetLog
from penstock.pipeline.source.offsets import SourceOffset
from penstock.pipeline.task import TaskFencedError
from support.kafka.client import Kafka
from support.kafka.lost import lose, reporting_no_broker
from support.waiting import SECONDS, until


def offset(position: int) -> SourceOffset:
    return SourceOffset({"file": "a"}, {"position": position}, b"a", str(position).encode())


def test_a_copy_that_the_producer_refuses_is_logged_and_the_others_are_made(caplog: pytest.LogCaptureFixture) -> None:
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "message.max.bytes": 1000})
    copies = OffsetCopies(lambda **_: producer, "copies")
    copies.copy([SourceOffset({"file": "a"}, {"position": 1}, b"a", b"x" * 2000), offset(1)])
    assert [row.levelno for row in caplog.records] == [logging.WARNING]
    producer.purge()
    assert producer.flush(SECONDS) == 0
    assert len(caplog.records) == 2, "the other one was on its way"


def test_nothing_is_copied_to_the_topic_that_has_the_offsets() -> None:
    """Copying ends once the task knows that both are the same topic."""
    made: list[Producer] = []
    answers: list[bool | KafkaException] = [KafkaException(KafkaError(KafkaError._TRANSPORT)), True]

    def is_own() -> bool:
        answer = answers.pop(0)
        if isinstance(answer, bool):
            return answer
        raise answer

    def make(**_: Any) -> Producer:
        made.append(Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}))
        return made[-1]

    copies = OffsetCopies(make, "offsets", is_own)
    for position in range(3):
        copies.copy([offset(position)])
    copies.close()
    assert (made, answers) == ([], [])


@pytest.mark.integration
def test_the_producer_of_offsets_is_closed_while_there_are_none(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, copies = kafka.create_topic(), kafka.create_topic()
    made = 0

    def make(**native: Any) -> Producer:
        nonlocal made
        made += 1
        return new_producer({"bootstrap.servers": kafka.bootstrap}, **native)

    copied = OffsetCopies(make, copies)
    log = TopicOffsetLog(make, topic, copied)
    log.write([offset(1)], 60.0)
    log.idle()
    log.write([offset(2)], 60.0)
    assert made == 2
    monkeypatch.setattr(offset_log, "IDLE_SECONDS", 0.0)

    def closed() -> bool:
        log.idle()
        return copied._producer is None  # nothing has waited for the copies

    until(closed, "the end of the copies' producer", SECONDS)
    log.write([offset(3)], 60.0)
    log.close()
    assert made == 4
    for each in (topic, copies):
        assert [record.value for record in kafka.read_all(each)] == [b"1", b"2", b"3"]


def nobody(**native: Any) -> Producer:
    """Make a producer that reaches no broker."""
    return Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **native})


def test_a_producer_of_offsets_that_has_lost_its_brokers_ends_the_run() -> None:
    log = TopicOffsetLog(nobody, "offsets", OffsetCopies(nobody, None))
    with pytest.raises(ConnectError, match="Timed out") as late:
        log.write([offset(1)], 0.0)
    assert not isinstance(late.value, TaskFencedError)
    lose(log._statistics)
    with pytest.raises(TaskFencedError, match="The producer of offsets in topic offsets has lost all its brokers"):
        log.write([offset(2)], 0.0)


@pytest.mark.integration
def test_a_producer_of_copies_that_has_lost_its_brokers_is_replaced(kafka: Kafka) -> None:
    copies, made = kafka.create_topic(), list[Producer]()

    def make(**native: Any) -> Producer:
        made.append(new_producer({"bootstrap.servers": kafka.bootstrap}, **native))
        return made[-1]

    log = OffsetCopies(make, copies)
    log.copy([offset(1)])
    made[0].flush(SECONDS)

    def replaced() -> bool:
        log.copy([offset(2)])
        return len(made) > 1

    until(reporting_no_broker(replaced, log._statistics), "another producer", SECONDS)
    log.close()
    assert {record.value for record in kafka.read_all(copies)} >= {b"1", b"2"}
