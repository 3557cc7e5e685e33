"""Looks at the topics and offsets of sinks on a real broker."""

from __future__ import annotations

import re
import uuid

import pytest
from confluent_kafka import KafkaException, Producer

from penstock.core.attention.sinks import Position, SinkLook
from penstock.embedded.ports import free_port
from penstock.java.regex import compile_regex
from penstock.kafka.offsets import sink_looks
from penstock.kafka.offsets.sink_looks import LookedAt, look, places_with_records
from support.kafka.client import Kafka


def test_topics_and_offsets_of_many_sinks(bootstrap: str, kafka: Kafka) -> None:
    consumer = {"bootstrap.servers": bootstrap, "isolation.level": "read_uncommitted", "max.poll.records": "7"}
    topic, missing, group = kafka.create_topic(partitions=2), f"no-{uuid.uuid4().hex}", f"connect-{uuid.uuid4().hex}"
    kafka.produce(topic, [b"a", b"b", b"c"])
    ends = {(topic, 0): 0, (topic, 1): 0}
    kafka.commit(group, topic, 1)
    new, pattern, nothing = (
        LookedAt(f"{group}-new", (topic,)),
        LookedAt(group, (), compile_regex(re.escape(topic))),
        LookedAt(group, (), compile_regex(missing)),
    )
    named, of_new, matched, unmatched = look(consumer, [LookedAt(group, (topic, missing)), new, pattern, nothing])
    assert isinstance(named, SinkLook)
    assert isinstance(of_new, SinkLook)
    assert named.missing == (missing,)
    assert {place: at.committed for place, at in named.positions.items()} == {(topic, 0): 1, (topic, 1): None}
    assert sum(at.end for at in named.positions.values()) == 3
    assert {at.committed for at in of_new.positions.values()} == {None}
    assert isinstance(matched, SinkLook)
    assert matched.positions == named.positions
    assert isinstance(unmatched, SinkLook)
    assert (unmatched.positions, unmatched.unmatched, unmatched.missing) == ({}, missing, ())
    ends |= {place: at.end for place, at in named.positions.items()}
    assert missing not in kafka.topics()


def test_markers_of_a_transaction_are_told_from_records(bootstrap: str, kafka: Kafka) -> None:
    consumer = {"bootstrap.servers": bootstrap, "isolation.level": "read_committed", "enable.auto.commit": "false"}
    topic, group = kafka.create_topic(), f"connect-{uuid.uuid4().hex}"
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"one")
    producer.commit_transaction()
    kafka.commit(group, topic, 1)
    (found,) = look(consumer, [LookedAt(group, (topic,))])
    assert isinstance(found, SinkLook)
    place = (topic, 0)
    assert found.positions == {place: Position(1, 0, 2)}
    assert places_with_records(consumer, {place: 2}, {place: 1}) == {place: False}
    assert places_with_records(consumer, {place: 2}, {place: 0}) == {place: True}
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush()
    (again,) = look(consumer, [LookedAt(group, (topic,))])
    assert isinstance(again, SinkLook)
    assert again.positions == found.positions  # what is open is no lag
    producer.abort_transaction()


def test_brokers_that_are_not_there_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_looks, "LIMIT_S", 0.5)
    consumer = {"bootstrap.servers": f"127.0.0.1:{free_port()}"}
    with pytest.raises(KafkaException):
        look(consumer, [LookedAt("g", ("t",))])
