"""Heartbeats."""

from __future__ import annotations

import pytest

from penstock.connectors.mirror import MirrorHeartbeatConnector
from penstock.connectors.mirror.heartbeat import MirrorHeartbeatTask
from penstock.connectors.mirror.records import Heartbeat
from support.kafka.client import Kafka
from support.mirror.setup import aliases, mirror_config, started
from support.tasks.runs import TaskRun, eventually


def test_a_task_beats_when_it_is_time() -> None:
    task = MirrorHeartbeatTask()
    task.start(mirror_config("unused:1", "a", "b", emit_heartbeats_interval_seconds="3600"))
    assert task.poll() == []
    assert 3500 < task.idle() <= 3600


def test_every_poll_beats_without_an_interval() -> None:
    task = MirrorHeartbeatTask()
    task.start(mirror_config("unused:1", "a", "b", emit_heartbeats_interval_seconds="0"))
    [record] = task.poll()
    assert record.timestamp is not None
    beat = Heartbeat("a", "b", record.timestamp)
    assert (record.topic, record.partition, record.key, record.value) == ("heartbeats", 0, beat.key(), beat.value())
    assert record.source_partition == {"sourceClusterAlias": "a", "targetClusterAlias": "b"}
    assert record.source_offset == {"offset": 0}


@pytest.mark.integration
def test_no_task_without_heartbeats(bootstrap: str) -> None:
    policy = {"replication_policy_class": "support.mirror.setup.OwnHeartbeats"}
    config = mirror_config(bootstrap, *aliases(), emit_heartbeats_enabled="false", **policy)
    with started(MirrorHeartbeatConnector(), config) as connector:
        assert connector.task_configs(1) == []


@pytest.mark.integration
def test_heartbeats_arrive_in_the_target_topic(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    config = mirror_config(bootstrap, source, target, replication_policy_class="support.mirror.setup.OwnHeartbeats")
    with started(MirrorHeartbeatConnector(), config) as connector:
        [config] = connector.task_configs(5)
    topic = f"heartbeats-{source}"
    with TaskRun(MirrorHeartbeatTask, bootstrap, config):
        eventually(lambda: len(kafka.values(topic)) >= 2)
    found = {(record.key, record.partition) for record in kafka.read_all(topic)}
    assert found == {(Heartbeat(source, target, 0).key(), 0)}
