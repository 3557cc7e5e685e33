"""The group member's data for a plugin that commits its group's offsets itself."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer

from penstock.api.errors import KafkaError
from penstock.api.record import SinkRecord
from penstock.api.sink import SinkTask, TopicPartition
from penstock.kafka.group.removal import MemberRemoval
from penstock.pipeline.sink import member
from penstock.pipeline.sink.member import GroupMetadata, SinkGroupMember, consumer_settings
from support.kafka.client import Kafka
from support.tasks.recording_sink import recording, values
from support.tasks.runs import TaskRun, eventually, new_name


@pytest.mark.parametrize(
    ("serialized", "expected"),
    [
        (b"CGMDv2:\xff\xff\xff\xffabc\x00\x00\x01", GroupMetadata("abc", -1, "", None)),
        (b"CGMDv2:\xff\xff\xff\xffabc\x00\x00\x00inst\x00", GroupMetadata("abc", -1, "", "inst")),
        (b"CGMDv2:\x03\x00\x00\x00connect-x\x00m-1\x00\x01", GroupMetadata("connect-x", 3, "m-1", None)),
    ],
)
def test_metadata_as_librdkafka_writes_them(serialized: bytes, expected: GroupMetadata) -> None:
    assert GroupMetadata.parse(serialized) == expected


@pytest.mark.parametrize("serialized", [b"", b"CGMDv3:\x03\x00\x00\x00g\x00m\x00\x01", b"CGMDv2:\x03\x00\x00\x00g"])
def test_metadata_in_another_format_are_refused(serialized: bytes) -> None:
    with pytest.raises(KafkaError, match="unknown format"):
        GroupMetadata.parse(serialized)


class _Looks(SinkTask):
    """Reads its member's data with each record."""

    seen: list[tuple[GroupMetadata, object, int]]

    def put(self, records: list[SinkRecord]) -> None:  # type: ignore[override]
        member: SinkGroupMember = self.context.member  # type: ignore[attr-defined]
        for record in records:
            partition = TopicPartition(record.topic, record.partition or 0)
            self.seen.append(
                (member.metadata(), member.committed([partition])[partition], member.positions()[partition])
            )


@pytest.mark.integration
def test_the_member_is_that_of_the_group_and_knows_where_it_is(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, [b"1"])
    looks = type("Looks", (_Looks,), {"seen": [], "__module__": __name__})
    with TaskRun(looks, bootstrap, {"topics": topic}, worker={"offset.flush.interval.ms": "200"}) as run:
        group = f"connect-{run.spec.connector}"
        eventually(lambda: run.host.reported.get("offset-commit-completion-total"))
        kafka.produce(topic, [b"2"])
        eventually(lambda: len(looks.seen) == 2)  # type: ignore[attr-defined]
    (_, _, first), (metadata, committed, second) = looks.seen  # type: ignore[attr-defined]
    assert metadata.group == group
    assert metadata.member.startswith(f"connector-consumer-{run.spec.connector}-0-")
    assert metadata.generation >= 1
    assert (first, committed, second) == (1, 1, 2)


@pytest.mark.integration
def test_the_worker_knows_the_member_that_the_group_has(kafka: Kafka, bootstrap: str, topic: str) -> None:
    def in_group() -> list[str]:
        return list(kafka.members(group))

    kafka.produce(topic, [b"1"])
    task = recording()
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        group = f"connect-{run.connector}"
        eventually(lambda: values(task))
        (first,) = run.host.members
        assert in_group() == [first]
        MemberRemoval().remove(consumer_settings(run.spec), first)
        eventually(lambda: kafka.sharing(group) == 1 and run.host.members[-1:] == in_group() != [first])


@pytest.mark.integration
@pytest.mark.parametrize("own", [{"group.instance.id": "i"}, {"group.protocol": "consumer"}])
def test_a_member_that_no_rebalance_waits_for_is_not_reported(
    kafka: Kafka, bootstrap: str, topic: str, own: dict[str, str]
) -> None:
    kafka.produce(topic, [b"1"])
    task, overrides = recording(), {f"consumer.override.{name}": value for name, value in own.items()}
    with TaskRun(task, bootstrap, {"topics": topic, **overrides}) as run:
        eventually(lambda: values(task))
    assert not run.host.members


@pytest.mark.integration
def test_a_task_that_waits_long_for_its_group_says_so(
    kafka: Kafka, bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other member is alive for the broker, but does not take part in the rebalance."""
    monkeypatch.setattr(member, "LONG_REBALANCE_SECONDS", 0.5)
    kafka.produce(topic, [b"1"])
    task = recording()
    connector = new_name()
    other = Consumer({"bootstrap.servers": bootstrap, "group.id": f"connect-{connector}"})
    other.subscribe([topic])
    eventually(lambda: other.poll(0.1) is None and other.assignment())
    with TaskRun(task, bootstrap, {"topics": topic}, connector=connector) as run:
        eventually(lambda: len(run.host.waiting) >= 2)
        assert set(run.host.waiting) == set(run.host.members)
        other.close()
        eventually(lambda: values(task))
        waited = len(run.host.waiting)
        kafka.produce(topic, [b"2"])
        eventually(lambda: len(values(task)) == 2)
        assert len(run.host.waiting) == waited
