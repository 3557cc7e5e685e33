"""Offsets of groups, translated and committed where a cluster is mirrored to itself under another name."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from faults.broker import FaultyBroker
from penstock.api.origin import IdentifiedDict
from penstock.api.sink import TopicPartition
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.mirror import MirrorCheckpointConnector
from penstock.connectors.mirror.checkpoint import task as checkpoint_task
from penstock.connectors.mirror.checkpoint.task import MirrorCheckpointTask
from penstock.connectors.mirror.config import MirrorConfig
from penstock.connectors.mirror.records import Checkpoint, OffsetSync
from penstock.connectors.mirror.settings import CHECKPOINT_SETTINGS
from penstock.kafka.connector_clients import ConnectorClients
from support.kafka.client import Kafka, Record, answered
from support.mirror.setup import aliases, mirror_config, started
from support.tasks.runs import TaskRun, eventually


def commit(kafka: Kafka, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    try:
        answered(lambda: consumer.commit(offsets=[ClientPartition(topic, 0, offset)], asynchronous=False))
    finally:
        consumer.close()


def committed(kafka: Kafka, group: str, topic: str) -> int | None:
    return kafka.committed(group).get((topic, 0))


@pytest.mark.integration
def test_groups_are_looked_at_again_when_all_connections_were_lost(tmp_path: Path) -> None:
    with FaultyBroker(tmp_path) as broker:
        kafka = Kafka(broker.bootstrap)
        task: Any = MirrorCheckpointTask()
        task._config = MirrorConfig(CHECKPOINT_SETTINGS, mirror_config(broker.proxied, "a", "b"))
        task._target = task._config.new_admin(ConnectorClients(), "target", "checkpoint-target-admin", asks_groups=True)
        task._timeout, task._groups, task._idle = 60.0, ["g"], {}
        topic = kafka.create_topic()
        for offset in range(3):
            if offset == 1:
                broker.proxy.reset()
            if offset == 2:
                broker.kill_and_start()
            time.sleep(1)  # the client has noticed it
            commit(kafka, "g", topic, offset)
            task._look_for_idle()
            assert not task._unanswered
            assert task._idle["g"][topic, 0][0] == offset
        task._target.close()


@pytest.mark.integration
def test_partitions_that_do_not_exist_have_no_end(kafka: Kafka, bootstrap: str) -> None:
    topic, admin = kafka.create_topic(), ConnectorClients().admin({"bootstrap.servers": bootstrap})
    kafka.produce(topic, ["a", "b"])
    asked = [TopicPartition(topic, 0), TopicPartition(topic, 7), TopicPartition(f"{topic}-missing", 0)]
    assert admin.ends(asked, 900.0) == {asked[0]: 2}
    assert admin.ends(asked[1:], 900.0) == {}
    assert admin.ends([], 900.0) == {}


def checkpoints(kafka: Kafka, source: str) -> list[Checkpoint]:
    records: list[Any] = kafka.read_all(f"{source}.checkpoints.internal")
    return [Checkpoint.read(record.key, record.value) for record in records]


def sync(kafka: Kafka, target: str, *syncs: OffsetSync) -> None:
    records = [Record(each.value(), each.key(), 0) for each in syncs]
    kafka.produce(f"mm2-offset-syncs.{target}.internal", records)


@pytest.mark.integration
def test_groups_are_translated_and_committed(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic, group, other = kafka.create_topic(), f"g-{uuid.uuid4().hex}", f"h-{uuid.uuid4().hex}"
    remote = f"{source}.{topic}"
    kafka.create_topic(remote)
    kafka.produce(remote, map(str, range(20)))
    kafka.create_topic(f"mm2-offset-syncs.{target}.internal")
    sync(kafka, target, OffsetSync(TopicPartition(topic, 0), 5, 2), OffsetSync(TopicPartition(topic, 0), 10, 4))
    commit(kafka, group, topic, 10)
    commit(kafka, other, kafka.create_topic(), 1)
    config = mirror_config(
        bootstrap,
        source,
        target,
        topics=topic,
        groups=f"{group},{other}",
        emit_checkpoints_interval_seconds="1",
        refresh_groups_interval_seconds="1",
        sync_group_offsets_enabled="true",
        sync_group_offsets_interval_seconds="1",
    )
    with started(MirrorCheckpointConnector(), config) as connector:
        [task] = connector.task_configs(3)
        assert task["task.assigned.groups"] == group, "the other one has no offset in a mirrored topic"
        assert not connector.context.wanted.is_set()
        with TaskRun(MirrorCheckpointTask, bootstrap, task) as run:
            eventually(lambda: checkpoints(kafka, source) == [Checkpoint(group, TopicPartition(remote, 0), 10, 4, "")])
            eventually(lambda: committed(kafka, group, remote) == 4)
            commit(kafka, group, topic, 15)
            eventually(lambda: len(checkpoints(kafka, source)) == 2)
            assert checkpoints(kafka, source)[1] == Checkpoint(group, TopicPartition(remote, 0), 15, 5, "")
            assert run.host.topics == [f"{source}.checkpoints.internal"]
            eventually(lambda: run.host.stored)
            assert run.host.stored[0] == ({"partition": 0, "topic": remote, "group": group}, {"offset": 0})


@pytest.mark.integration
def test_a_later_run_knows_what_was_written(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic, group = kafka.create_topic(), f"g-{uuid.uuid4().hex}"
    remote = f"{source}.{topic}"
    kafka.create_topic(f"mm2-offset-syncs.{target}.internal")
    kafka.create_topic(f"{source}.checkpoints.internal")
    written = Checkpoint(group, TopicPartition(remote, 0), 10, 4, "")
    kafka.produce(f"{source}.checkpoints.internal", [Record(written.value(), written.key(), 0)])
    sync(kafka, target, *(OffsetSync(TopicPartition(topic, 0), *offsets) for offsets in [(5, 2), (10, 4), (20, 9)]))
    commit(kafka, group, topic, 10)
    config = mirror_config(bootstrap, source, target, topics=topic, emit_checkpoints_interval_seconds="1")
    with TaskRun(MirrorCheckpointTask, bootstrap, config | {"task.assigned.groups": group}):
        commit(kafka, group, topic, 20)
        eventually(lambda: len(checkpoints(kafka, source)) == 2)
        # Since the checkpoints are known, so are syncs from before: a group that goes back is followed.
        commit(kafka, group, topic, 6)
        eventually(lambda: len(checkpoints(kafka, source)) == 3)
    found = [(each.upstream, each.downstream) for each in checkpoints(kafka, source)]
    assert found == [(10, 4), (20, 9), (6, 3)]


@pytest.mark.integration
def test_a_group_that_comes_later_is_found(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic, group = kafka.create_topic(), f"g-{uuid.uuid4().hex}"
    config = mirror_config(bootstrap, source, target, topics=topic, groups=group, refresh_groups_interval_seconds="1")
    with started(MirrorCheckpointConnector(), config) as connector:
        assert connector.task_configs(1) == []
        commit(kafka, group, topic, 1)
        assert connector.context.wanted.wait(900)
        assert [task["task.assigned.groups"] for task in connector.task_configs(1)] == [group]


@pytest.mark.integration
def test_a_topic_that_the_connector_could_not_create_is_created_by_the_broker(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic, group = kafka.create_topic(), f"g-{uuid.uuid4().hex}"
    kafka.create_topic(f"mm2-offset-syncs.{target}.internal")
    sync(kafka, target, OffsetSync(TopicPartition(topic, 0), 5, 2))
    commit(kafka, group, topic, 5)
    config = mirror_config(bootstrap, source, target, topics=topic, emit_checkpoints_interval_seconds="1")
    with TaskRun(MirrorCheckpointTask, bootstrap, config | {"task.assigned.groups": group}):
        eventually(lambda: f"{source}.checkpoints.internal" in kafka.admin.list_topics(timeout=900).topics)
        eventually(lambda: [(each.upstream, each.downstream) for each in checkpoints(kafka, source)] == [(5, 2)])


@pytest.mark.integration
def test_without_its_topic_a_task_goes_on_with_what_comes_after_its_start(
    kafka: Kafka, bootstrap: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(checkpoint_task, "TOPIC_PATIENCE", 1.0)
    source, target = aliases()
    topic, group = kafka.create_topic(), f"g-{uuid.uuid4().hex}"
    kafka.create_topic(f"mm2-offset-syncs.{target}.internal")
    commit(kafka, group, topic, 5)
    config = mirror_config(bootstrap, source, target, topics=topic, emit_checkpoints_interval_seconds="1")
    config |= {"target.consumer.allow.auto.create.topics": "false", "task.assigned.groups": group}
    task = MirrorCheckpointTask()
    task.context = MemorySourceContext(config, MemoryOffsets(), kafka=ConnectorClients())
    task.start(config)
    try:
        eventually(lambda: "was not there within 1 s" in caplog.text)
        sync(kafka, target, OffsetSync(TopicPartition(topic, 0), 5, 2))
        batch = eventually(task.poll)
    finally:
        task.stop()
    assert f"{source}.checkpoints.internal could not be read" in caplog.text
    assert batch is not None
    assert [Checkpoint.read(*row) for row in zip(batch.keys, batch.values, strict=True)] == [
        Checkpoint(group, TopicPartition(f"{source}.{topic}", 0), 5, 2, "")
    ]


def mirrored(kafka: Kafka, bootstrap: str) -> tuple[dict[str, str], str, str, str]:
    """Make a mirrored topic of 20 records, whose syncs lead up to offset 10, and a group at 10 on the source.

    Returns the configuration of its task, the source's alias, the topic on the source, and the group.
    """
    source, target = aliases()
    topic, group = kafka.create_topic(), f"g-{uuid.uuid4().hex}"
    kafka.create_topic(f"{source}.{topic}")
    kafka.produce(f"{source}.{topic}", map(str, range(20)))
    kafka.create_topic(f"mm2-offset-syncs.{target}.internal")
    sync(kafka, target, *(OffsetSync(TopicPartition(topic, 0), offset, offset) for offset in (5, 10)))
    commit(kafka, group, topic, 10)
    config = mirror_config(
        bootstrap,
        source,
        target,
        topics=topic,
        emit_checkpoints_interval_seconds="1",
        sync_group_offsets_enabled="true",
        sync_group_offsets_interval_seconds="1",
    )
    return config | {"task.assigned.groups": group}, source, topic, group


def mirror_again(kafka: Kafka, config: dict[str, str], topic: str) -> None:
    """Do what a mirror does that continues with the records 20 to 29 in a mirrored topic that is empty now."""
    kafka.produce(f"{config['source.cluster.alias']}.{topic}", map(str, range(20, 30)))
    syncs = [OffsetSync(TopicPartition(topic, 0), 20 + number, number) for number in (0, 9)]
    sync(kafka, config["target.cluster.alias"], *syncs)


def assert_leads_to_end(task: MirrorCheckpointTask, group: str, remote: str) -> None:
    """Poll up to the checkpoint by both syncs of ``mirror_again``; there may be one before, by the first alone."""
    found: list[Checkpoint] = []

    def poll() -> bool:
        batch = task.poll()
        if batch is not None:
            found.extend(Checkpoint.read(*row) for row in zip(batch.keys, batch.values, strict=True))
        return found[-1:] == [Checkpoint(group, TopicPartition(remote, 0), 29, 9, "")]

    eventually(poll)
    assert found[:-1] in ([], [Checkpoint(group, TopicPartition(remote, 0), 29, 1, "")])


@pytest.mark.integration
def test_no_group_is_committed_at_an_offset_of_a_mirrored_topic_that_was_deleted(
    kafka: Kafka, bootstrap: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With the syncs of the earlier topic it would be at 10 in the new one, and skip the records 20 to 29."""
    config, source, topic, group = mirrored(kafka, bootstrap)
    remote = f"{source}.{topic}"
    with TaskRun(MirrorCheckpointTask, bootstrap, config):
        eventually(lambda: committed(kafka, group, remote) == 10)
        kafka.renew_topic(remote)
        eventually(
            lambda: f"Topic {remote} of cluster {config['target.cluster.alias']} was created later" in caplog.text
        )
        mirror_again(kafka, config, topic)
        commit(kafka, group, topic, 29)
        eventually(lambda: committed(kafka, group, remote) == 9)
    found = [(each.upstream, each.downstream) for each in checkpoints(kafka, source)]
    assert found[0] == (10, 10)
    assert found[-1] == (29, 9)
    assert all(downstream < 10 for _, downstream in found[1:])


@pytest.mark.integration
@pytest.mark.parametrize("mirrored_since", [False, True])
def test_a_later_run_notices_that_a_mirrored_topic_was_created_again(
    kafka: Kafka, bootstrap: str, mirrored_since: bool
) -> None:
    config, source, topic, group = mirrored(kafka, bootstrap)
    remote = f"{source}.{topic}"
    with TaskRun(MirrorCheckpointTask, bootstrap, config) as run:
        eventually(lambda: committed(kafka, group, remote) == 10)
        eventually(lambda: run.host.stored)
    stored = list(zip(run.host.stored, run.host.identities, strict=True))
    assert all(identity is not None for _, identity in stored)
    kafka.renew_topic(remote)
    if mirrored_since:
        mirror_again(kafka, config, topic)
        commit(kafka, group, topic, 29)
    offsets = MemoryOffsets([(key, IdentifiedDict(value, identity)) for (key, value), identity in stored])
    task: Any = MirrorCheckpointTask()
    task.context = MemorySourceContext(config, offsets, kafka=ConnectorClients())
    task.start(config)
    try:
        if not mirrored_since:
            eventually(lambda: task.poll() is not None or remote in task._checkpoints._ids)
            mirror_again(kafka, config, topic)
            commit(kafka, group, topic, 29)
        assert_leads_to_end(task, group, remote)
        eventually(lambda: committed(kafka, group, remote) == 9)
    finally:
        task.stop()


@pytest.mark.integration
def test_syncs_of_another_target_cluster_lead_nowhere(kafka: Kafka, bootstrap: str) -> None:
    """One that has taken the place of the cluster for which the syncs on the source cluster were written."""
    config, source, topic, group = mirrored(kafka, bootstrap)
    remote = f"{source}.{topic}"
    kafka.renew_topic(remote)
    task: Any = MirrorCheckpointTask()
    task.context = MemorySourceContext(config, MemoryOffsets(), kafka=ConnectorClients())
    task.start(config)
    try:
        eventually(lambda: task._loaded and task._translation.at_end)
        task._due = 0.0
        assert task.poll() is None
        assert committed(kafka, group, remote) is None
        mirror_again(kafka, config, topic)
        commit(kafka, group, topic, 29)
        assert_leads_to_end(task, group, remote)
        eventually(lambda: committed(kafka, group, remote) == 9)
    finally:
        task.stop()
