"""A connector of another repository that reads Kafka with the runtime's clients, by the public API alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.api.kafka import NoKafkaClients, TopicAcl, TopicSpec
from penstock.api.sink import TopicPartition
from penstock.api.source import SourceTask
from penstock.core.config.internal_topics import InternalTopicError, InternalTopics
from penstock.kafka.connector_clients import ConnectorClients
from penstock.plugins.registry import Plugins
from support.import_graph import imported_names
from support.kafka.client import Kafka, Record
from support.mirror.setup import BYTES, started
from support.tasks.runs import TaskRun, eventually, new_name

PLUGINS = Path(__file__).parent / "plugins"


def test_it_imports_nothing_but_the_api() -> None:
    used = imported_names((PLUGINS / "foreign_kafka.py").read_text("utf-8"), "")
    outside = {name for name in used if not name.startswith(("penstock.api.", "__future__", "collections"))}
    assert outside == set()


@pytest.mark.integration
def test_it_copies_a_topic_and_continues_where_it_was(kafka: Kafka, bootstrap: str) -> None:
    origin, copy = kafka.create_topic(partitions=3), kafka.create_topic()
    records = [
        Record(f"v{n}".encode(), None if n % 2 else b"k", n % 3, (("h", b"1"),) if n == 4 else ()) for n in range(9)
    ]
    kafka.produce(origin, records)
    config = {"name": new_name(), "servers": bootstrap, "from": origin, "to": copy}
    config |= {f"{each}.converter": BYTES for each in ("key", "value", "header")}
    plugin = Plugins.discover((str(PLUGINS),)).connector({"connector.class": "foreign_kafka.TopicCopy"})
    with started(plugin(), config) as connector:
        task_class: type[SourceTask] = connector.task_class()
        tasks = connector.task_configs(2)
    assert [task["partitions"] for task in tasks] == ["0,2", "1"]
    for task in tasks:
        with TaskRun(task_class, bootstrap, config | task) as run:
            numbers = {int(number) for number in task["partitions"].split(",")}
            wanted = {record.value for record in records if record.partition in numbers}
            eventually(lambda wanted=wanted: wanted <= set(kafka.values(copy)))
            eventually(lambda run=run, numbers=numbers: {place["partition"] for place, _ in run.host.stored} == numbers)
    copied = [(record.key, record.value, record.headers) for record in kafka.read_all(copy)]
    assert sorted(copied, key=str) == sorted(((r.key, r.value, r.headers) for r in records), key=str)
    offsets = tuple(({"topic": origin, "partition": n}, {"next": 3}, None) for n in (0, 2))
    kafka.produce(origin, [Record(b"new", None, 0)])
    with TaskRun(task_class, bootstrap, config | tasks[0], offsets=offsets):
        eventually(lambda: b"new" in kafka.values(copy))
    assert len(kafka.values(copy)) == 10, "the others are there already"


def test_without_clients_the_reason_is_told() -> None:
    none = NoKafkaClients("there are none here")
    for ask in (none.consumer, none.producer, none.admin):
        with pytest.raises(ConnectError, match="there are none here"):
            ask({})


@pytest.mark.security
def test_internal_topics_are_refused_to_every_client_of_a_connector() -> None:
    """No broker is asked: the addresses show that the cluster is the worker's."""
    servers = "127.0.0.1:1"
    internal = InternalTopics({"configs": "the worker's topic"}, denied=("secret*",), servers=servers, cluster="here")
    clients, settings = ConnectorClients(lambda: internal), {"bootstrap.servers": servers, "client.id": "test"}
    consumer, admin = clients.consumer(settings), clients.admin(settings)
    producer, outcomes = clients.producer(settings), list[object]()
    changes: list[Callable[[str], object]] = [
        lambda topic: consumer.assign({TopicPartition("fine", 0): 0, TopicPartition(topic, 0): 0}),
        lambda topic: producer.send(topic, None, b"x", 0, outcomes.append),
        lambda topic: admin.create_topic(TopicSpec(topic), 0.01),
        lambda topic: admin.create_topics([TopicSpec(topic)], 0.01),
        lambda topic: admin.add_partitions({topic: 2}, 0.01),
        lambda topic: admin.alter_topic_settings({topic: {"retention.ms": "1"}}, 0.01),
        lambda topic: admin.create_topic_acls([TopicAcl(topic, "User:x", "*", "READ", "ALLOW")], 0.01),
        lambda topic: clients.check_topics(settings, [topic], writing=False),
        lambda topic: clients.check_topics(settings, [topic], writing=True),
    ]
    for change in changes:
        for topic in ("configs", "secret-1"):
            with pytest.raises(InternalTopicError, match=f"{topic} is "):
                change(topic)
    assert outcomes == []
    assert admin.usable(["a", "configs", "secret-2"], writing=True) == {"a"}
    consumer.close()
