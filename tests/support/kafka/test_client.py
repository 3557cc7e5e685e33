from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from faults.broker import FaultyBroker
from support.kafka.client import Kafka, Record, answered


def replies(*codes: int) -> list[KafkaException]:
    return [KafkaException(KafkaError(code)) for code in codes]


def ask(errors: list[KafkaException]) -> str:
    if errors:
        raise errors.pop(0)
    return "the answer"


def test_a_request_is_sent_again_while_its_error_passes() -> None:
    errors = replies(KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError._TIMED_OUT)
    assert answered(lambda: ask(errors)) == "the answer"
    assert errors == []


@pytest.mark.parametrize(
    ("code", "final"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, ()),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, (KafkaError.UNKNOWN_TOPIC_OR_PART,)),
    ],
)
def test_an_error_that_does_not_pass_is_raised(code: int, final: tuple[int, ...]) -> None:
    errors = replies(code, code)
    with pytest.raises(KafkaException):
        answered(lambda: ask(errors), *final)
    assert len(errors) == 1


def test_an_error_that_does_not_end_is_raised() -> None:
    errors = replies(*[KafkaError.NOT_COORDINATOR] * 1000)
    with pytest.raises(KafkaException):
        answered(lambda: ask(errors), seconds=0.05)


@pytest.mark.integration
def test_what_was_produced_is_read_partition_by_partition(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(
        topic, [Record("b", partition=1), Record("a", partition=0, headers=(("h", b"1"),)), Record(None, "k", 1)]
    )
    assert [(r.partition, r.key, r.value, r.headers) for r in kafka.read_all(topic)] == [
        (0, None, b"a", (("h", b"1"),)),
        (1, None, b"b", ()),
        (1, b"k", None, ()),
    ]


@pytest.mark.integration
def test_an_aborted_transaction_is_seen_only_with_read_uncommitted(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    producer.init_transactions()
    for value, end in ((b"kept", producer.commit_transaction), (b"dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush()
        end()
    assert kafka.values(topic) == [b"kept"]
    assert kafka.values(topic, "read_uncommitted") == [b"kept", b"dropped"]


@pytest.mark.integration
def test_a_topic_can_be_empty(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    assert topic in kafka.topics()
    assert kafka.read_all(topic) == []


@pytest.mark.integration
def test_what_a_producer_does_not_send_another_one_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.kafka.client.PATIENCE_SECONDS", 0.5)
    with FaultyBroker(tmp_path) as broker:
        kafka = Kafka(broker.bootstrap)
        topic = kafka.create_topic(partitions=2)
        given_up: list[int] = []
        send = kafka._send

        def counted(topic: str, records: list[Record]) -> list[Record]:
            unsent = send(topic, records)
            given_up.append(len(unsent))
            if len(given_up) == 2:
                monkeypatch.setattr("support.kafka.client.PATIENCE_SECONDS", 60)
                broker.thaw()
            return unsent

        monkeypatch.setattr(kafka, "_send", counted)
        values = [str(number).encode() for number in range(100)]
        broker.freeze()
        kafka.produce(topic, [Record(value, partition=number % 2) for number, value in enumerate(values)])
        assert given_up[:2] == [100, 100]
        assert given_up[-1] == 0
        assert kafka.values(topic) == values[::2] + values[1::2]
