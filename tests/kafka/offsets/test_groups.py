"""Offsets of consumer groups."""

from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer
from confluent_kafka import TopicPartition as ClientPartition

from kafka import errors as group_errors
from penstock.api.sink import TopicPartition
from penstock.kafka.offsets.groups import GroupOffsets
from support.kafka.client import READ_SECONDS, Kafka, answered
from support.tasks.runs import eventually, new_name

pytestmark = pytest.mark.integration


def test_committed_offsets_are_read_again(kafka: Kafka, bootstrap: str) -> None:
    topic, group = kafka.create_topic(partitions=3), new_name("group")
    expected = {TopicPartition(topic, 0): (7, "as of noon"), TopicPartition(topic, 2): (0, "")}
    with closing(GroupOffsets({"bootstrap.servers": bootstrap}, "admin")) as offsets:
        assert offsets.committed(group, 60) == {}
        offsets.commit(group, expected)
        assert offsets.committed(group, 60) == expected
        offsets.close()
        assert offsets.committed(group, 60) == expected, "with a new connection"
    with closing(Consumer({"bootstrap.servers": bootstrap, "group.id": group})) as consumer:
        wanted = [ClientPartition(topic, number) for number in range(3)]
        found = answered(lambda: consumer.committed(wanted, timeout=READ_SECONDS))
    assert [(each.offset, each.metadata) for each in found] == [(7, "as of noon"), (OFFSET_INVALID, None), (0, None)]
    assert kafka.committed(group) == {(topic, 0): 7, (topic, 2): 0}


def test_a_group_with_members_refuses_commits_of_others(kafka: Kafka, bootstrap: str) -> None:
    topic, group = kafka.create_topic(), new_name("group")
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.subscribe([topic])
    with closing(consumer), closing(GroupOffsets({"bootstrap.servers": bootstrap}, "admin")) as offsets:
        eventually(lambda: consumer.poll(0.1) or consumer.assignment())
        with pytest.raises(group_errors.UnknownMemberIdError):
            offsets.commit(group, {TopicPartition(topic, 0): (1, "")})
        assert offsets.committed(group, 60) == {}
