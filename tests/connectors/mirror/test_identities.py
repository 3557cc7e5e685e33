"""IDs of the topics to which mirrored partitions belong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.api.errors import KafkaError
from penstock.api.kafka import EARLIEST, KafkaRecords
from penstock.api.origin import IdentifiedDict, identity_of
from penstock.api.sink import TopicPartition
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.mirror.source.identities import TopicIdentities
from penstock.connectors.mirror.source.task import MirrorSourceTask
from support.mirror.setup import mirror_config


def partition(number: int) -> dict[str, Any]:
    return {"cluster": "a", "partition": number, "topic": "t"}


def offset(last: int, topic_id: str | None = None) -> dict[str, Any]:
    """Return the source offset of the last mirrored record of a topic with this ID."""
    members = {"offset": last}
    return members if topic_id is None else IdentifiedDict(members, {"topic": topic_id})


class Clients:
    """Clients of a cluster in which the topic t was recreated; it has not been read since."""

    def __init__(self) -> None:
        self.assigned: list[dict[TopicPartition, int]] = []

    def consumer(self, settings: object) -> Any:
        return SimpleNamespace(
            assign=self.assigned.append,
            positions=lambda: dict.fromkeys(self.assigned[-1]),
            fetch=lambda most, seconds: None,
            close=lambda: None,
        )

    def admin(self, settings: object, *, asks_groups: bool = False) -> Any:
        return SimpleNamespace(topic_ids=lambda topics, timeout: dict.fromkeys(topics, "new"))


def test_what_one_task_has_seen_says_nothing_about_the_partitions_of_another() -> None:
    """The other task may have started, or taken over its partition, after the first had committed the new ID."""
    offsets = MemoryOffsets([(partition(0), offset(6, "new")), (partition(1), offset(9, "old"))])
    identities = TopicIdentities({("t", n): partition(n) for n in range(3)}, offsets)
    assert identities.compare({"t": "new"}) == {("t", 1): ("old", "new")}
    assert identities.take({"t": "new"}) == [("t", 1), ("t", 2)]
    assert [identity_of(each) for each in identities.partitions.values()] == [{"topic": "new"}] * 3
    assert identities.compare({"t": "new", "other": "x"}) == {}
    assert identities.take({"t": "new", "other": "x"}) == []


def test_an_offset_is_stored_with_the_leader_epoch_of_its_record_until_the_topic_is_recreated() -> None:
    committed = IdentifiedDict(offset(6), {"topic": "old", "epoch": 4})
    identities = TopicIdentities({("t", n): partition(n) for n in range(2)}, MemoryOffsets([(partition(0), committed)]))
    assert (identities.epoch(("t", 0)), identities.epoch(("t", 1))) == (4, None)
    before = identities.partitions["t", 0]
    identities.read({("t", 0): 5, ("t", 1): None})
    identities.take({"t": "old"})
    assert identity_of(before) == {"topic": "old", "epoch": 4}
    assert [identity_of(each) for each in identities.partitions.values()] == [
        {"topic": "old", "epoch": 5},
        {"topic": "old"},
    ]
    identities.take({"t": "new"})
    assert [identity_of(each) for each in identities.partitions.values()] == [{"topic": "new"}] * 2


def test_records_that_were_read_before_keep_the_id_of_their_topic() -> None:
    """Their offsets may be stored after the topic was recreated."""
    identities = TopicIdentities({("t", 0): partition(0)}, MemoryOffsets([]))
    identities.take({"t": "old"})
    read = identities.partitions["t", 0]
    identities.take({"t": "new"})
    assert identity_of(read) == {"topic": "old"}


def test_only_partitions_of_the_old_topic_are_read_again() -> None:
    config = mirror_config("unused:1", "a", "b", emit_offset__syncs_enabled="false", on_origin_changed="restart")
    config |= {"task.assigned.partitions": "t-0,t-1"}
    offsets = MemoryOffsets(
        [
            (partition(0), offset(6, "new")),
            (partition(1), offset(9, "old")),
        ]
    )
    task, clients = MirrorSourceTask(), Clients()
    task.context = MemorySourceContext(config, offsets, kafka=clients)  # type: ignore[arg-type]
    task.start(config)
    assert task.poll() is None
    assert clients.assigned[-1] == {TopicPartition("t", 0): 7, TopicPartition("t", 1): EARLIEST}
    assert task.uncarried_offsets() == [(partition(1), None)]
    assert task.uncarried_offsets() == []
    task.stop()


def test_records_of_other_partitions_that_came_with_those_of_a_recreated_topic_are_read() -> None:
    def records(*places: tuple[int, int]) -> KafkaRecords:
        """Return records with these partitions and offsets."""
        n = len(places)
        partitions, offsets = [p for p, _ in places], [offset for _, offset in places]
        return KafkaRecords([f"t{p}" for p in partitions], partitions, offsets, [0] * n, [None] * n, [b"v"] * n, None)

    class Recreated(Clients):
        def __init__(self) -> None:
            super().__init__()
            self.fetched = [records((0, 5), (1, 7)), records((1, 8), (0, 0), (1, 9))]
            self.ids = {"t0": "old", "t1": "same"}

        def consumer(self, settings: object) -> Any:
            consumer = super().consumer(settings)
            consumer.fetch = lambda most, seconds: self.fetched.pop(0)
            consumer.positions = lambda: {TopicPartition("t0", 0): 1, TopicPartition("t1", 1): 10}
            return consumer

        def admin(self, settings: object, *, asks_groups: bool = False) -> Any:
            return SimpleNamespace(topic_ids=lambda topics, timeout: self.ids)

    config = mirror_config("unused:1", "a", "b", emit_offset__syncs_enabled="false", on_origin_changed="restart")
    config |= {"task.assigned.partitions": "t0-0,t1-1"}
    task, clients = MirrorSourceTask(), Recreated()
    task.context = MemorySourceContext(config, MemoryOffsets([]), kafka=clients)  # type: ignore[arg-type]
    task.start(config)
    assert len(task.poll() or ()) == 2
    clients.ids = {"t0": "new", "t1": "same"}
    assert task.poll() is None
    assert clients.assigned[-1] == {TopicPartition("t0", 0): EARLIEST, TopicPartition("t1", 1): 8}
    task.stop()


def test_a_cluster_whose_address_is_not_known_is_not_asked_without_a_pause() -> None:
    class Unknown(Clients):
        asked = 0

        def admin(self, settings: object, *, asks_groups: bool = False) -> Any:
            self.asked += 1
            if self.asked == 1:
                raise KafkaError("No resolvable bootstrap urls")
            return super().admin(settings)

    config = mirror_config("unused:1", "a", "b", emit_offset__syncs_enabled="false", consumer_poll_timeout_ms="0")
    config |= {"task.assigned.partitions": "t-0"}
    task, clients = MirrorSourceTask(), Unknown()
    offsets = MemoryOffsets([(partition(0), offset(6))])
    task.context = MemorySourceContext(config, offsets, kafka=clients)  # type: ignore[arg-type]
    task.start(config)
    assert task.poll() is None
    assert task.idle() > 0.1
    assert task.poll() is None
    assert task.idle() == 0
    ((named, stored),) = task.uncarried_offsets()
    assert (named, stored, identity_of(stored, named)) == (partition(0), {"offset": 6}, {"topic": "new"})
    task.stop()
