"""Task loops read and write no internal topic, however a record comes to its topic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.api.sink import SinkTask
from penstock.core.config.internal_topics import InternalTopics
from penstock.kafka.admin import cluster_id
from penstock.kafka.clients import new_admin
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually, new_name
from support.tasks.scripted_source import record, scripted

pytestmark = [pytest.mark.integration, pytest.mark.security]

REFUSED = "penstock.errors.InternalTopicException: "


def internal(bootstrap: str, *topics: str, servers: str | None = None) -> InternalTopics:
    """These topics of the broker, which the worker knows by another address if ``servers`` is one."""
    found = cluster_id(new_admin({"bootstrap.servers": bootstrap}))
    owners = dict.fromkeys(topics, "the worker's `config.storage.topic`")
    return InternalTopics(owners, denied=("denied-*",), servers=servers or bootstrap, cluster=found)


def returning(*polls: list[str]) -> Any:
    """Return a source whose polls return records for these topics."""
    return scripted(*([record(topic, "p", 1) for topic in topics] for topics in polls))


@pytest.mark.parametrize("alias", [False, True])
def test_a_record_for_an_internal_topic_fails_the_task_and_no_record_of_the_batch_is_sent(
    kafka: Kafka, bootstrap: str, topic: str, alias: bool
) -> None:
    config = kafka.create_topic()
    known = internal(bootstrap, config, servers="worker.example:9092" if alias else None)
    tolerant = {"errors.tolerance": "all", "errors.log.enable": "true"}
    run = TaskRun(returning([topic], [topic, config]), bootstrap, tolerant, internal_topics=known)
    assert run.failure().startswith(f"{REFUSED}{config} is the worker's `config.storage.topic`, which no connector may")
    assert (kafka.values(config), kafka.values(topic)) == ([], [b"v"])


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "denied-1"])
def test_kafkas_topics_and_denied_ones_are_not_written(kafka: Kafka, bootstrap: str, name: str) -> None:
    own = {"producer.override.client.id": "__admin_client"}
    run = TaskRun(returning([name]), bootstrap, own, internal_topics=internal(bootstrap))
    assert run.failure().startswith(f"{REFUSED}{name} is a topic ")


def test_an_internal_topic_is_not_created_by_rules_of_a_connector(kafka: Kafka, bootstrap: str) -> None:
    missing = new_name("missing")
    rules = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    run = TaskRun(returning([missing]), bootstrap, rules, internal_topics=internal(bootstrap, missing))
    assert run.failure().startswith(f"{REFUSED}{missing} is ")
    assert missing not in kafka.topics()


def test_dead_letters_go_to_no_internal_topic(kafka: Kafka, bootstrap: str, topic: str) -> None:
    missing = new_name("missing")
    own = {"errors.tolerance": "all", "penstock.errors.deadletterqueue.topic.name": missing}
    run = TaskRun(returning([topic]), bootstrap, own, internal_topics=internal(bootstrap, missing))
    assert run.failure().startswith(f"{REFUSED}{missing} is ")
    letters = {"topics": topic, "errors.deadletterqueue.topic.name": missing}
    run = TaskRun(Keeping, bootstrap, letters, internal_topics=internal(bootstrap, missing))
    assert run.failure().startswith(f"{REFUSED}{missing} is ")
    assert missing not in kafka.topics()


class Keeping(SinkTask):
    """Keeps the topics of its records."""

    topics: list[str] = []

    def start(self, config: Any) -> None:
        pass

    def put(self, records: Any) -> None:
        self.topics += [record.topic for record in records]

    def stop(self) -> None:
        pass


@pytest.mark.parametrize("alias", [False, True])
def test_a_sink_reads_no_internal_topic(kafka: Kafka, bootstrap: str, topic: str, alias: bool) -> None:
    config = kafka.create_topic()
    kafka.produce(config, ["session-key"])
    known = internal(bootstrap, config, servers="worker.example:9092" if alias else None)
    run = TaskRun(Keeping, bootstrap, {"topics": f"{topic},{config}"}, internal_topics=known)
    assert run.failure().startswith(f"{REFUSED}{config} is ")
    assert Keeping.topics == []
    kafka.produce(topic, ["a"])
    with TaskRun(Keeping, bootstrap, {"topics.regex": f"{topic}|{config}"}, internal_topics=known):
        eventually(lambda: topic in Keeping.topics)
    assert config not in Keeping.topics
    Keeping.topics.clear()


def test_an_equal_name_on_another_cluster_is_usable(kafka: Kafka, bootstrap: str, topic: str, tmp_path: Path) -> None:
    other = InternalTopics({topic: "the worker's `config.storage.topic`"}, servers="worker:9092", cluster="another")
    with TaskRun(returning([topic]), bootstrap, {}, internal_topics=other):
        assert eventually(lambda: kafka.values(topic) == [b"v"])
    with TaskRun(Keeping, bootstrap, {"topics": topic}, internal_topics=other):
        assert eventually(lambda: topic in Keeping.topics)
    Keeping.topics.clear()
