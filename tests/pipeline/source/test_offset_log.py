"""Topics to which a task writes its source offsets."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.kafka.clients import new_producer
from penstock.pipeline.source import offset_log
from penstock.pipeline.source.offset_log import OffsetCopies, TopicOffsetLog
from penstock.pipeline.source.offsets import SourceOffset
from support.kafka.client import Kafka
from support.waiting import SECONDS, until


def offset(position: int) -> SourceOffset:
    return SourceOffset({"file": "a"}, {"position": position}, b"a", str(position).encode())


def test_a_copy_that_the_producer_refuses_is_logged_and_the_others_are_made(caplog: pytest.LogCaptureFixture) -> None:
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "message.max.bytes": 1000})
    copies = OffsetCopies(lambda: producer, "copies")
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

    def make() -> Producer:
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

    def make() -> Producer:
        nonlocal made
        made += 1
        return new_producer({"bootstrap.servers": kafka.bootstrap})

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
