"""Offsets of consumer groups."""

from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import Consumer

from kafka import errors as group_errors
from penstock.api.sink import TopicPartition
from penstock.kafka.offsets.groups import GroupOffsets
from support.kafka.client import Kafka
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
