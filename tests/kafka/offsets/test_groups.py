"""Offsets of consumer groups."""

from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as ClientPartition

from kafka import errors as group_errors
from penstock.api.sink import TopicPartition
from penstock.kafka.offsets.groups import GroupOffsets
from support.kafka.client import Kafka
from support.tasks.runs import new_name

pytestmark = pytest.mark.integration


def commit(kafka: Kafka, group: str, *offsets: ClientPartition) -> None:
    request = [ConsumerGroupTopicPartitions(group, list(offsets))]
    kafka.admin.alter_consumer_group_offsets(request)[group].result(60)


def test_what_groups_have_committed_with_its_metadata(kafka: Kafka, bootstrap: str) -> None:
    topic, group = kafka.create_topic(partitions=3), new_name("group")
    with closing(GroupOffsets({"bootstrap.servers": bootstrap}, "reader")) as offsets:
        assert offsets.committed(group, 60) == {}
        commit(kafka, group, ClientPartition(topic, 0, 7, "as of noon"), ClientPartition(topic, 2, 0))
        expected = {TopicPartition(topic, 0): (7, "as of noon"), TopicPartition(topic, 2): (0, "")}
        assert offsets.committed(group, 60) == expected
        offsets.close()
        assert offsets.committed(group, 60) == expected, "with a new connection"


def test_a_broker_that_is_down_is_an_error_after_the_timeout() -> None:
    settings = {"bootstrap.servers": "127.0.0.1:1", "request.timeout.ms": "1000"}
    offsets = GroupOffsets(settings, "reader")
    with pytest.raises(group_errors.KafkaError):
        offsets.committed("group", 0.1)
