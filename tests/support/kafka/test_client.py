import pytest
from confluent_kafka import Producer

from support.kafka.client import Kafka, Record

pytestmark = pytest.mark.integration


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


def test_a_topic_can_be_empty(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    assert topic in kafka.topics()
    assert kafka.read_all(topic) == []
