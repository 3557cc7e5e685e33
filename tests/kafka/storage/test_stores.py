from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.api.errors import ConnectError
from penstock.core.model.records import (
    ConfigRecord,
    ConnectorConfig,
    ConnectorStatus,
    StatusRecord,
    TargetState,
    TaskConfig,
    TasksCommit,
    TopicStatus,
)
from penstock.core.model.tasks import TaskId
from penstock.kafka.log.privileged_writer import FencedError, PrivilegedWriteError
from penstock.kafka.log.reader import LogRecord
from penstock.kafka.log.writer import RecordTooLargeError
from penstock.kafka.storage.stores import ConfigStore, StatusStore, exactly_once_support, internal_topic
from support.kafka.client import Kafka, Record
from support.waiting import Inbox, answer

WORKER = {
    "group.id": "g",
    "config.storage.topic": "configs",
    "config.storage.replication.factor": "1",
    "config.storage.min.insync.replicas": "2",
    "config.storage.cleanup.policy": "delete",
    "status.storage.topic": "statuses",
    "status.storage.replication.factor": "-1",
    "status.storage.partitions": "7",
}


def test_the_topics_are_as_the_settings_want_them():
    config = internal_topic(WORKER, "config", "p", 1)
    assert (config.spec.name, config.spec.partitions, config.spec.replication_factor) == ("configs", 1, 1)
    assert config.spec.configs == {"min.insync.replicas": "2", "cleanup.policy": "compact"}
    assert (config.setting, config.single_partition) == ("config.storage.topic", True)
    status = internal_topic(WORKER, "status", "p", 5)
    assert (status.spec.partitions, status.spec.replication_factor, status.single_partition) == (7, -1, False)


@pytest.mark.parametrize(
    ("worker", "support"),
    [
        ({}, "disabled"),
        ({"exactly.once.source.support": "PREPARING"}, "preparing"),
        ({"exactly.once.source.enabled": "true"}, "enabled"),
    ],
)
def test_exactly_once_support(worker: dict[str, str], support: str):
    assert exactly_once_support(worker) == support


def test_invalid_json_does_not_move_the_position():
    """It does not in Java, and a group whose workers never agree on positions never comes to rest."""
    read: list[ConfigRecord] = []
    store = ConfigStore(WORKER, read.extend)
    values = [b'{"properties":{"a":"1"}}', b"[1]", b"", b"garbage", b"\xff"]
    for offset, value in enumerate(values):
        store._decode([LogRecord(0, offset, b"connector-c", value)])
    assert read == [ConfigRecord(0, ConnectorConfig("c", {"a": "1"})), ConfigRecord(1, None)]


@contextmanager
def config_store(worker: dict[str, str]) -> Iterator[tuple[ConfigStore, Inbox]]:
    records, caught_up = Inbox(), Inbox()
    store = ConfigStore(worker, records, on_caught_up=caught_up)
    store.start()
    try:
        caught_up.next()
        yield store, records
    finally:
        store.close()


def worker(kafka: Kafka, support: str = "disabled") -> dict[str, str]:
    name = kafka.create_topic()
    return {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": name,
        "config.storage.topic": f"{name}-configs",
        "config.storage.replication.factor": "1",
        "status.storage.topic": f"{name}-status",
        "status.storage.replication.factor": "1",
        "exactly.once.source.support": support,
    }


@pytest.mark.integration
def test_records_are_appended_and_read_back(kafka: Kafka):
    with config_store(worker(kafka)) as (store, records):
        answer(store.claim_write_privileges)
        answer(store.append, [TargetState("c", "STOPPED"), ConnectorConfig("c", {"a": "1"})])
        answer(store.read_to_end)
        assert records.records(2) == [
            ConfigRecord(0, TargetState("c", "STOPPED")),
            ConfigRecord(1, ConnectorConfig("c", {"a": "1"})),
        ]


@pytest.mark.integration
@pytest.mark.parametrize("support", ["disabled", "enabled"])
def test_task_configurations_and_their_commit_are_written_together_or_not_at_all(kafka: Kafka, support: str):
    fits, too_large = TaskConfig(TaskId("c", 0), {"a": "1"}), TaskConfig(TaskId("c", 1), {"a": "x" * 2**20})
    with config_store(worker(kafka, support)) as (store, records):
        answer(store.claim_write_privileges)
        with pytest.raises(ConnectError):
            answer(store.append, [fits, too_large, TasksCommit("c", 2)])
        answer(store.claim_write_privileges)
        answer(store.append, [fits, TasksCommit("c", 1), TargetState("c", "STARTED")])
        answer(store.read_to_end)
        read = records.records(3 if support == "enabled" else 4)
        assert [each.record for each in read][-3:] == [fits, TasksCommit("c", 1), TargetState("c", "STARTED")]
        assert TasksCommit("c", 2) not in [each.record for each in read]


@pytest.mark.integration
@pytest.mark.parametrize("support", ["disabled", "enabled"])
def test_a_record_that_is_too_large_for_the_topic_is_an_error_that_says_so(kafka: Kafka, support: str):
    settings = worker(kafka, support)
    topic = kafka.create_topic(config={"cleanup.policy": "compact", "max.message.bytes": "20000"})
    with config_store({**settings, "config.storage.topic": topic}) as (store, records):
        answer(store.claim_write_privileges)
        with pytest.raises(RecordTooLargeError, match=f"A record of 3....? bytes is too large for topic `{topic}`"):
            answer(store.append, [ConnectorConfig("c", {"a": "x" * 30_000})])
        answer(store.claim_write_privileges)
        answer(store.append, [ConnectorConfig("c", {"a": "1"})])
        assert records.records(1)[-1].record == ConnectorConfig("c", {"a": "1"})


@pytest.mark.integration
def test_a_transaction_that_failed_hides_no_later_record(kafka: Kafka):
    """Readers of committed records waited until it timed out, for a minute."""
    settings = worker(kafka, "enabled")
    topic = kafka.create_topic(config={"cleanup.policy": "compact", "max.message.bytes": "20000"})
    with config_store({**settings, "config.storage.topic": topic}) as (store, records):
        answer(store.claim_write_privileges)
        with pytest.raises(RecordTooLargeError):
            answer(store.append, [ConnectorConfig("c", {"a": "1"}), ConnectorConfig("d", {"a": "x" * 30_000})])
        began = time.monotonic()
        answer(store.append, [TargetState("c", "PAUSED")], privileged=False)
        assert records.records(1)[-1].record == TargetState("c", "PAUSED")
        assert time.monotonic() - began < 55


@pytest.mark.integration
def test_unknown_records_only_move_the_position(kafka: Kafka):
    settings = worker(kafka)
    with config_store(settings) as (store, records):
        kafka.produce(settings["config.storage.topic"], [Record("[1]", key="x")])
        answer(store.read_to_end)
        assert records.records(1) == [ConfigRecord(0, None)]


@pytest.mark.integration
@pytest.mark.parametrize("support", ["preparing", "enabled"])
def test_a_new_leader_fences_the_old_one(kafka: Kafka, support: str):
    settings = worker(kafka, support)
    with config_store(settings) as (old, records), config_store(settings) as (new, _):
        with pytest.raises(PrivilegedWriteError, match="without claiming write privileges first"):
            answer(old.append, [TasksCommit("c", 0)])
        answer(old.claim_write_privileges)
        answer(old.append, [TasksCommit("c", 1)])
        answer(new.claim_write_privileges)
        answer(new.append, [TasksCommit("c", 2)])
        with pytest.raises(FencedError, match="Failed to perform fencable send to config topic"):
            answer(old.append, [TasksCommit("c", 3)])
        answer(old.append, [TargetState("c", "PAUSED")], privileged=False)
        answer(old.read_to_end)
        read = [r.record for r in records.records(3)]
        assert read == [TasksCommit("c", 1), TasksCommit("c", 2), TargetState("c", "PAUSED")]
        answer(old.claim_write_privileges)
        answer(old.append, [TasksCommit("c", 4)])


@pytest.mark.integration
def test_statuses(kafka: Kafka):
    settings, records, caught_up = worker(kafka), Inbox(), Inbox()
    store = StatusStore(settings, records, on_caught_up=caught_up)
    store.start()
    try:
        caught_up.next()
        kafka.produce(settings["status.storage.topic"], [Record("garbage", key="x")])
        answer(store.append, [ConnectorStatus("c", "RUNNING", "w", 1), ConnectorStatus("c", None)])
        answer(store.append, [TopicStatus("t", "c", 0, 5)])
        answer(store.read_to_end)
        found: list[StatusRecord] = records.records(3)
        assert [r.record for r in found if isinstance(r.record, ConnectorStatus)] == [
            ConnectorStatus("c", "RUNNING", "w", 1),
            ConnectorStatus("c", None),
        ]
        assert TopicStatus("t", "c", 0, 5) in [r.record for r in found]
    finally:
        store.close()
