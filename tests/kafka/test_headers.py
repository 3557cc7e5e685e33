"""Headers whose names are not UTF-8. With librdkafka's own mock of a broker."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from penstock.api.record import Header
from penstock.api.schema import BYTES
from penstock.api.sink import TopicPartition
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS
from penstock.kafka.connector_consumer import ConnectorConsumer
from penstock.kafka.headers import headers_of
from penstock.kafka.topic_guard import guard_of
from penstock.pipeline.sink.fetch import raw_batch
from penstock.trial.topics import line

RECORDS: Sequence[Sequence[tuple[bytes, bytes]]] = (
    [(b"a", b"1")],
    [(b"a", b"1"), (b"b\xff", b"2"), (b"c", b"3")],
    [],
    [(b"\xff\xfe", b"4"), (b"d", b"5"), (b"e\xff", b"6")],
    [(b"f", b"7")],
)
READ: list[Any] = [
    [("a", b"1")],
    [("a", b"1"), ("b\ufffd", b"2"), ("c", b"3")],
    None,
    [("\ufffd\ufffd", b"4"), ("d", b"5"), ("\ufffd", b"6")],
    [("f", b"7")],
]


def library() -> ctypes.CDLL:
    """Load the client's librdkafka, which accepts names of any bytes."""
    (path,) = (Path(ck.__file__).parent.parent / "confluent_kafka.libs").glob("librdkafka-*")
    found = ctypes.CDLL(str(path))
    for each in (found.rd_kafka_conf_new, found.rd_kafka_new):
        each.restype = ctypes.c_void_p
    return found


def produce(bootstrap: str) -> None:
    kafka, why, size = library(), ctypes.create_string_buffer(512), ctypes.c_size_t(512)
    conf = ctypes.c_void_p(kafka.rd_kafka_conf_new())
    assert kafka.rd_kafka_conf_set(conf, b"bootstrap.servers", bootstrap.encode(), why, size) == 0, why.value
    producer = ctypes.c_void_p(kafka.rd_kafka_new(0, conf, why, size))
    for headers in RECORDS:
        arguments: list[Any] = [1, ctypes.c_char_p(b"t"), 3, 0, 4, ctypes.c_char_p(b"v"), ctypes.c_size_t(1), 7, 2]
        for name, value in headers:
            arguments += [9, ctypes.c_char_p(name), ctypes.c_char_p(value), ctypes.c_ssize_t(len(value))]
        assert kafka.rd_kafka_producev(producer, *arguments, 0) == 0
    assert kafka.rd_kafka_flush(producer, 60_000) == 0
    kafka.rd_kafka_destroy(producer)


@pytest.fixture
def consumer() -> Iterator[ck.Consumer]:
    """A consumer of a topic with RECORDS."""
    broker = ck.Producer({"bootstrap.servers": "unused:1", "test.mock.num.brokers": 1, "log_level": 0})
    (address,) = broker.list_topics(timeout=60).brokers.values()
    bootstrap = f"{address.host}:{address.port}"
    produce(bootstrap)
    found = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "log_level": 0})
    yield found
    found.close()


def messages(consumer: ck.Consumer) -> list[ck.Message]:
    consumer.assign([ck.TopicPartition("t", 0, 0)])
    found: list[ck.Message] = []
    while len(found) < len(RECORDS):
        found += [each for each in consumer.consume(len(RECORDS), 60) if each.error() is None]
    return found


def test_names_that_are_not_utf8_are_read_as_java_reads_them(consumer: ck.Consumer) -> None:
    found = messages(consumer)
    assert headers_of(found) == READ
    assert headers_of(found) == READ, "also when they are read again"
    assert [line(each).split("\t")[3:] for each in found][1] == ["a=1", "b\ufffd=2", "c=3"]


def test_a_sink_gets_a_record_with_such_a_name(consumer: ck.Consumer) -> None:
    assert raw_batch(messages(consumer)).headers == [tuple(each or ()) for each in READ]


def test_a_connectors_consumer_gets_a_record_with_such_a_name(consumer: ck.Consumer) -> None:
    client = ConnectorConsumer(lambda **_: consumer, guard_of(NO_INTERNAL_TOPICS, {}))
    client.assign({TopicPartition("t", 0): 0})
    found: list[Any] = []
    while len(found) < len(RECORDS):
        if (records := client.fetch(100, 60)) is not None:
            found += records.headers or [()] * len(records.offsets)
    assert found == [tuple(Header(name, BYTES, value) for name, value in each or ()) for each in READ]
