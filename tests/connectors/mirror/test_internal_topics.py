"""Mirrors neither copy nor overwrite internal topics of the worker; equal names of other clusters stay usable."""

from __future__ import annotations

from functools import partial

import pytest

from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.mirror import MirrorHeartbeatConnector, MirrorSourceConnector
from penstock.connectors.mirror.source.task import MirrorSourceTask
from penstock.core.config.internal_topics import InternalTopicError, InternalTopics
from penstock.kafka.admin import cluster_id
from penstock.kafka.clients import new_admin
from penstock.kafka.connector_clients import ConnectorClients
from support.kafka.client import Kafka
from support.mirror.setup import Context, aliases, mirror_config

pytestmark = [pytest.mark.integration, pytest.mark.security]


def internal(bootstrap: str, *topics: str, cluster: str | None = None) -> InternalTopics:
    found = cluster or cluster_id(new_admin({"bootstrap.servers": bootstrap}))
    return InternalTopics(dict.fromkeys(topics, "the worker's topic"), servers="worker:1", cluster=found)


def known(bootstrap: str, known: InternalTopics, **settings: str) -> list[str]:
    """Return the partitions that a mirror of the cluster to itself would copy."""
    connector = MirrorSourceConnector()
    connector.context = Context(kafka=ConnectorClients(lambda: known))
    connector.start(mirror_config(bootstrap, *aliases(), **settings))
    try:
        tasks = connector.task_configs(1)
    finally:
        connector.stop()
    return tasks[0]["task.assigned.partitions"].split(",") if tasks else []


def test_internal_topics_are_not_mirrored(kafka: Kafka, bootstrap: str) -> None:
    config, orders = kafka.create_topic(), kafka.create_topic()
    topics = {"topics": f"{config},{orders}"}
    assert known(bootstrap, internal(bootstrap, config), **topics) == [f"{orders}-0"]
    elsewhere = internal(bootstrap, config, cluster="another")
    assert sorted(known(bootstrap, elsewhere, **topics)) == sorted([f"{config}-0", f"{orders}-0"])


def test_a_topic_of_the_target_that_is_internal_is_neither_made_nor_changed(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic = kafka.create_topic(config={"retention.ms": "77000"})
    mirrored = kafka.create_topic(f"{source}.{topic}", config={"retention.ms": "1000000"})
    connector = MirrorSourceConnector()
    connector.context = Context(kafka=ConnectorClients(lambda: internal(bootstrap, mirrored)))
    connector.start(mirror_config(bootstrap, source, target, topics=topic, sync_topic_configs_interval_seconds="1"))
    try:
        assert connector.task_configs(1) == []
        connector._copy_settings()
    finally:
        connector.stop()
    assert kafka.configs(mirrored)["retention.ms"].value == "1000000"


def test_a_task_reads_and_writes_no_internal_topic(kafka: Kafka, bootstrap: str) -> None:
    """A task's partitions are in the config topic: they need not be those that the connector has assigned."""
    config = kafka.create_topic()
    source, target = aliases()
    for assigned, hidden in ((config, config), ("other", f"mm2-offset-syncs.{target}.internal")):
        given = mirror_config(bootstrap, source, target) | {"task.assigned.partitions": f"{assigned}-0"}
        task = MirrorSourceTask()
        clients = ConnectorClients(partial(internal, bootstrap, hidden))
        task.context = MemorySourceContext(given, MemoryOffsets(), kafka=clients)
        with pytest.raises(InternalTopicError, match=f"{hidden} is the worker's topic"):
            task.start(given)
        task.stop()


def test_heartbeats_make_no_internal_topic(kafka: Kafka, bootstrap: str) -> None:
    connector = MirrorHeartbeatConnector()
    connector.context = Context(kafka=ConnectorClients(lambda: internal(bootstrap, "heartbeats")))
    config = mirror_config(bootstrap, *aliases())
    had = "heartbeats" in kafka.topics()
    connector.start(config)
    connector.stop()
    assert ("heartbeats" in kafka.topics()) is had
