"""Topics and records mirrored from a cluster to itself under another name."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions

from penstock.api.connector import SourceConnector
from penstock.api.errors import ConfigError, KafkaError
from penstock.api.kafka import KafkaConsumer, KafkaRecords
from penstock.api.origin import OriginChangedError
from penstock.api.sink import TopicPartition
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.mirror import MirrorCheckpointConnector, MirrorHeartbeatConnector, MirrorSourceConnector
from penstock.connectors.mirror.records import OffsetSync
from penstock.connectors.mirror.source import task
from penstock.connectors.mirror.source.task import MirrorSourceTask
from penstock.kafka.connector_clients import ConnectorClients
from penstock.kafka.offsets.records import identity_in
from penstock.pipeline.task import CommittedOffset
from penstock.pipeline.trace import causes
from support.kafka.client import Kafka, Record, answered
from support.mirror.setup import aliases, mirror_config, started
from support.tasks.runs import TaskRun, eventually

pytestmark = pytest.mark.integration

RECORDS = [
    Record(b"v", b"k", 1, (("h", b"1"), ("n", None)), 1700000000000),
    Record(None, b"k", 1, (), 1700000000001),
    Record(b"\xff", None, 0, (), 1700000000002),
]


def settings(kafka: Kafka, topic: str) -> dict[str, Any]:
    """Return the topic's settings that differ from the default."""
    return {name: entry.value for name, entry in kafka.configs(topic).items() if not entry.is_default}


def syncs(kafka: Kafka, target: str) -> list[OffsetSync]:
    found = kafka.read_all(f"mm2-offset-syncs.{target}.internal")
    return [OffsetSync.read(bytes(record.key or b""), bytes(record.value or b"")) for record in found]


def contents(kafka: Kafka, topic: str) -> list[tuple[Any, ...]]:
    found = kafka.read_all(topic)
    return [(record.partition, record.key, record.value, record.headers, record.timestamp) for record in found]


# -- the connector


def partitions(kafka: Kafka, topic: str) -> int:
    """Return the number of partitions; 0 for a topic that the broker does not know yet."""
    found = kafka.admin.list_topics(timeout=900).topics.get(topic)
    return len(found.partitions) if found else 0


def test_topics_are_made_like_their_sources(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic = kafka.create_topic(partitions=3, config={"retention.ms": "77000", "min.insync.replicas": "1"})
    with started(MirrorSourceConnector(), mirror_config(bootstrap, source, target, topics=topic)) as connector:
        eventually(lambda: partitions(kafka, f"{source}.{topic}") == 3)
        assert settings(kafka, f"{source}.{topic}")["retention.ms"] == "77000"
        assert settings(kafka, f"mm2-offset-syncs.{target}.internal")["cleanup.policy"] == "compact"
        tasks = connector.task_configs(2)
    assert [task["task.assigned.partitions"] for task in tasks] == [f"{topic}-0,{topic}-2", f"{topic}-1"]
    assert [task["task.index"] for task in tasks] == ["0", "1"]
    assert tasks[0]["topics"] == topic


def test_new_partitions_and_settings_are_found(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic = kafka.create_topic(config={"retention.ms": "77000", "segment.ms": "60000"})
    config = mirror_config(
        bootstrap,
        source,
        target,
        topics=topic,
        refresh_topics_interval_seconds="1",
        sync_topic_configs_interval_seconds="1",
    )
    with started(MirrorSourceConnector(), config) as connector:
        remote = f"{source}.{topic}"
        answered(lambda: kafka.admin.create_partitions([NewPartitions(topic, 2)])[topic].result())
        changes = [
            ConfigEntry("retention.ms", "88000", incremental_operation=AlterConfigOpType.SET),
            ConfigEntry("segment.ms", None, incremental_operation=AlterConfigOpType.DELETE),
        ]
        resource = ConfigResource("topic", topic, incremental_configs=changes)
        answered(lambda: kafka.admin.incremental_alter_configs([resource])[resource].result())
        assert connector.context.wanted.wait(900)
        assert [task["task.assigned.partitions"] for task in connector.task_configs(1)] == [f"{topic}-0,{topic}-1"]
        eventually(lambda: partitions(kafka, remote) == 2)
        eventually(lambda: settings(kafka, remote).get("retention.ms") == "88000")
        assert "segment.ms" not in settings(kafka, remote)
        assert connector.context.errors == []


def test_no_topic_no_task(kafka: Kafka, bootstrap: str) -> None:
    config = mirror_config(bootstrap, *aliases(), topics="no-such-topic", emit_offset__syncs_enabled="false")
    with started(MirrorSourceConnector(), config) as connector:
        assert connector.task_configs(2) == []


def test_a_connector_that_is_disabled_does_nothing(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic = kafka.create_topic()
    with started(MirrorSourceConnector(), mirror_config(bootstrap, source, target, topics=topic, enabled="false")) as c:
        assert c.task_configs(2) == []
    assert not any(source in name or target in name for name in kafka.topics())


def test_a_source_that_can_not_be_reached_is_logged(bootstrap: str, caplog: pytest.LogCaptureFixture) -> None:
    config = mirror_config(bootstrap, *aliases(), admin_timeout_ms="1000", emit_offset__syncs_enabled="false")
    config["source.cluster.bootstrap.servers"] = "127.0.0.1:1"
    with started(MirrorSourceConnector(), config) as connector:
        assert connector.task_configs(1) == []
    assert "loading initial set of topic-partitions" in caplog.text
    assert "|replication-source-admin." in caplog.text, "the trace names the client, and with it the cluster"
    assert "|replication-target-admin" not in caplog.text


# -- the task


def task_config(bootstrap: str, topic: str, source: str, target: str, **more: str) -> dict[str, str]:
    config = mirror_config(bootstrap, source, target, topics=topic, sync_topic_configs_enabled="false", **more)
    with started(MirrorSourceConnector(), config) as connector:
        [task] = connector.task_configs(1)
    return dict(task)


@pytest.mark.parametrize("exactly_once", [False, True])
def test_records_stay_what_they_are(kafka: Kafka, bootstrap: str, exactly_once: bool) -> None:
    source, target = aliases()
    topic, offsets = kafka.create_topic(partitions=2), kafka.create_topic(config={"cleanup.policy": "compact"})
    kafka.produce(topic, RECORDS)
    config = task_config(bootstrap, topic, source, target)
    remote = f"{source}.{topic}"
    with TaskRun(MirrorSourceTask, bootstrap, config, offsets_topic=offsets, exactly_once=exactly_once) as run:
        eventually(lambda: len(contents(kafka, remote)) == 3)
        assert contents(kafka, remote) == contents(kafka, topic)
        key = f'["{run.connector}",{{"cluster":"{source}","partition":%d,"topic":"{topic}"}}]'
        last = {(key % 0).encode(): b'{"offset":0}', (key % 1).encode(): b'{"offset":1}'}
        # One of each partition; more precede it if the records arrived one by one.
        eventually(lambda: {each.key: each.value for each in kafka.read_all(offsets)} == last)
        eventually(
            lambda: (
                {sync.topic_partition for sync in syncs(kafka, target)}
                == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
            )
        )
        eventually(lambda: run.host.topics)
    assert run.host.topics == [remote]
    assert OffsetSync(TopicPartition(topic, 1), 1, 1) in syncs(kafka, target), "the last offset is told with a commit"


@pytest.mark.parametrize("exactly_once", [False, True])
def test_an_idle_mirror_writes_a_last_sync_of_each_partition(kafka: Kafka, bootstrap: str, exactly_once: bool) -> None:
    """KAFKA-14610, KAFKA-15906: there are more partitions than syncs that may be in flight, and no new records."""
    source, target = aliases()
    topic = kafka.create_topic(partitions=60)
    offsets = kafka.create_topic(config={"cleanup.policy": "compact"})
    kafka.produce(topic, [Record(b"v", None, number) for number in range(60) for _ in range(150)])
    config = task_config(bootstrap, topic, source, target)
    last = {TopicPartition(topic, number): 149 for number in range(60)}
    with TaskRun(MirrorSourceTask, bootstrap, config, offsets_topic=offsets, exactly_once=exactly_once):
        eventually(lambda: {each.topic_partition: each.upstream for each in syncs(kafka, target)} == last)
    assert {each.topic_partition: each.upstream for each in syncs(kafka, target)} == last


def stored(kafka: Kafka, offsets: str) -> tuple[CommittedOffset, ...]:
    """Return all committed offsets, for the next run."""
    last = {record.key: record for record in kafka.read_all(offsets)}
    return tuple(
        CommittedOffset(json.loads(key)[1], json.loads(record.value), None, identity_in(record.headers or ()))
        for key, record in last.items()
        if key and record.value
    )


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_topic_that_was_recreated_stops_the_task_or_is_mirrored_from_its_beginning(
    kafka: Kafka, bootstrap: str, exactly_once: bool
) -> None:
    source, target = aliases()
    topic, offsets = kafka.create_topic(), kafka.create_topic(config={"cleanup.policy": "compact"})
    kafka.produce(topic, ["a", "b", "c"])
    config = task_config(bootstrap, topic, source, target)
    spec: dict[str, Any] = {"offsets_topic": offsets, "exactly_once": exactly_once, "connector": f"c-{topic}"}
    remote = f"{source}.{topic}"
    with TaskRun(MirrorSourceTask, bootstrap, config, **spec):
        eventually(lambda: kafka.values(remote) == [b"a", b"b", b"c"])
        eventually(lambda: [each.offset for each in stored(kafka, offsets)] == [{"offset": 2}])
    (committed,) = stored(kafka, offsets)
    assert set(committed.identity or {}) == {"topic", "epoch"}
    kafka.renew_topic(topic)
    kafka.produce(topic, [f"new{number}" for number in range(6)])
    failing = TaskRun(MirrorSourceTask, bootstrap, config, **spec, offsets=stored(kafka, offsets))
    eventually(lambda: failing.error)
    failing.stop()
    assert isinstance(failing.error, OriginChangedError)
    assert f"Topic {topic} of cluster {source} was deleted and created again" in str(failing.error)
    assert kafka.values(remote) == [b"a", b"b", b"c"]
    restart = config | {"on.origin.changed": "restart"}
    with TaskRun(MirrorSourceTask, bootstrap, restart, **spec, offsets=stored(kafka, offsets)):
        eventually(lambda: len(kafka.values(remote)) == 9)
        eventually(lambda: [each.offset for each in stored(kafka, offsets)] == [{"offset": 5}])
    assert kafka.values(remote) == [b"a", b"b", b"c", *(b"new%d" % number for number in range(6))]
    kafka.produce(topic, ["last"])
    with TaskRun(MirrorSourceTask, bootstrap, config, **spec, offsets=stored(kafka, offsets)):
        eventually(lambda: kafka.values(remote)[9:] == [b"last"])


@pytest.mark.parametrize("more", [{}, {"epoch": 7}])
def test_continue_uses_the_offset_in_a_topic_that_was_recreated(
    kafka: Kafka, bootstrap: str, more: dict[str, int]
) -> None:
    """This also holds if all records of the new topic have lower leader epochs than those of the old one."""
    source, target = aliases()
    topic = kafka.create_topic()
    kafka.produce(topic, ["a", "b", "c"])
    config = task_config(bootstrap, topic, source, target, on_origin_changed="continue")
    partition = {"cluster": source, "partition": 0, "topic": topic}
    committed = CommittedOffset(partition, {"offset": 1}, None, {"topic": "another", **more})
    with TaskRun(MirrorSourceTask, bootstrap, config, offsets=(committed,)):
        eventually(lambda: kafka.values(f"{source}.{topic}"))
    assert kafka.values(f"{source}.{topic}") == [b"c"]


def test_a_topic_that_is_recreated_while_it_is_mirrored_is_noticed(
    kafka: Kafka, bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "LOOK_SECONDS", 0.2)
    source, target = aliases()
    topic = kafka.create_topic()
    kafka.produce(topic, ["a"])
    run = TaskRun(MirrorSourceTask, bootstrap, task_config(bootstrap, topic, source, target))
    eventually(lambda: kafka.values(f"{source}.{topic}") == [b"a"])
    kafka.renew_topic(topic)
    eventually(lambda: run.error)
    run.stop()
    assert isinstance(run.error, OriginChangedError)


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("policy", ["fail", "restart"])
def test_no_record_of_a_topic_that_is_recreated_while_it_is_mirrored_is_taken_for_one_of_the_old(
    kafka: Kafka, bootstrap: str, policy: str, partitions: int
) -> None:
    """The new topic ends before the position in the old one; the consumer notices that long before the ID is
    checked.
    """
    source, target = aliases()
    topic, beside = kafka.create_topic(), kafka.create_topic()
    remote = f"{source}.{topic}"
    kafka.produce(topic, ["a", "b", "c"])
    config = task_config(bootstrap, topic, source, target, on_origin_changed=policy)
    if partitions == 2:
        config["task.assigned.partitions"] += f",{beside}-0"
    run = TaskRun(MirrorSourceTask, bootstrap, config)
    eventually(lambda: kafka.values(remote) == [b"a", b"b", b"c"])
    kafka.renew_topic(topic)
    kafka.produce(topic, ["new"])
    if policy == "restart":
        eventually(lambda: len(kafka.values(remote)) == 4)
        kafka.produce(topic, ["next"])
        eventually(lambda: len(kafka.values(remote)) >= 5)
        run.stop()
        run.check()
        assert kafka.values(remote) == [b"a", b"b", b"c", b"new", b"next"]
    else:
        eventually(lambda: run.error)
        run.stop()
        assert isinstance(run.error, OriginChangedError)
        assert kafka.values(remote) == [b"a", b"b", b"c"]


def test_mirroring_continues_after_the_last_record(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic = kafka.create_topic()
    kafka.produce(topic, ["a", "b", "c"])
    config = task_config(bootstrap, topic, source, target, emit_offset__syncs_enabled="false")
    offsets = (({"topic": topic, "partition": 0, "cluster": source}, {"offset": 1}, None),)
    with TaskRun(MirrorSourceTask, bootstrap, config, offsets=offsets):
        eventually(lambda: kafka.values(f"{source}.{topic}") == [b"c"])
    assert f"mm2-offset-syncs.{target}.internal" not in kafka.topics()


def test_only_what_comes_from_now_on(kafka: Kafka, bootstrap: str) -> None:
    source, target = aliases()
    topic = kafka.create_topic()
    kafka.produce(topic, ["a"])
    config = task_config(bootstrap, topic, source, target, consumer_auto_offset_reset="latest")
    with TaskRun(MirrorSourceTask, bootstrap, config) as run:
        eventually(lambda: run.host.states == ["running"])

        def arrives() -> list[bytes | None]:
            kafka.produce(topic, ["b"])
            return kafka.values(f"{source}.{topic}")

        eventually(arrives)
        assert set(kafka.values(f"{source}.{topic}")) == {b"b"}


def test_a_task_stops_while_it_waits(kafka: Kafka, bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, fetch = threading.Event(), MirrorSourceTask._fetch

    def fetching(self: MirrorSourceTask, consumer: KafkaConsumer) -> KafkaRecords | None:
        waits.set()
        return fetch(self, consumer)

    monkeypatch.setattr(MirrorSourceTask, "_fetch", fetching)
    topic = kafka.create_topic()
    config = task_config(bootstrap, topic, *aliases(), consumer_poll_timeout_ms="600000")
    run = TaskRun(MirrorSourceTask, bootstrap, config).started()
    eventually(waits.is_set)
    run.stop()
    run.check()


def test_settings_of_the_consumer_are_checked() -> None:
    config = mirror_config("unused:1", "a", "b", consumer_max_poll_records="x")
    task = MirrorSourceTask()
    task.context = MemorySourceContext(config, MemoryOffsets(), kafka=ConnectorClients())
    with pytest.raises(ConfigError, match=r"Invalid value x for configuration max.poll.records: Not a number"):
        task.start(config | {"task.assigned.partitions": "t-0"})


@pytest.mark.parametrize(
    ("address", "cause"),
    [
        (
            "nowhere.invalid:9092",
            "No resolvable bootstrap urls given in bootstrap.servers: nowhere.invalid:9092",
        ),
        (None, "You must set either bootstrap.servers or bootstrap.controllers"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "cluster"),
    [
        (MirrorSourceConnector, "source"),
        (MirrorSourceConnector, "target"),
        (MirrorCheckpointConnector, "source"),
        (MirrorCheckpointConnector, "target"),
        (MirrorHeartbeatConnector, "target"),
    ],
)
def test_a_cluster_without_an_address_is_a_failure_at_once(
    bootstrap: str, kind: type[SourceConnector], cluster: str, address: str | None, cause: str
) -> None:
    config = mirror_config(bootstrap, *aliases(), topics="t")
    del config[f"{cluster}.cluster.bootstrap.servers"]
    if address is not None:
        config[f"{cluster}.cluster.bootstrap.servers"] = address
    with pytest.raises(KafkaError) as failure, started(kind(), config):
        pass
    assert [str(error) for error in causes(failure.value)] == [
        "The constructor of org.apache.kafka.clients.admin.ForwardingAdmin threw an exception",
        "Failed to create new KafkaAdminClient",
        cause,
    ]
