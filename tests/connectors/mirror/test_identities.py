"""The IDs of topics that partitions are of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.api.errors import KafkaError
from penstock.api.kafka import EARLIEST
from penstock.api.origin import origin_partition
from penstock.api.sink import TopicPartition
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.mirror.source.identities import TopicIdentities
from penstock.connectors.mirror.source.task import MirrorSourceTask
from support.mirror.setup import mirror_config


def partition(number: int) -> dict[str, Any]:
    return {"cluster": "a", "partition": number, "topic": "t"}


def identity(number: int) -> dict[str, Any]:
    return origin_partition("topic", **partition(number))


class Clients:
    """Clients of a cluster in which the topic t was recreated; nothing of it has been read since."""

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
    """As when the other task started, or took over its partition, only after the first had committed the new ID."""
    offsets = MemoryOffsets([(identity(0), {"id": "new"}), (identity(1), {"id": "old"})])
    identities = TopicIdentities({("t", n): partition(n) for n in range(3)}, offsets)
    assert identities.compare({"t": "new"}) == {("t", 1): ("old", "new")}
    assert identities.uncarried() == [(identity(1), {"id": "new"}), (identity(2), {"id": "new"})]
    assert not identities.pending
    assert identities.compare({"t": "new", "other": "x"}) == {}


def test_only_partitions_of_the_old_topic_are_read_again() -> None:
    config = mirror_config("unused:1", "a", "b", emit_offset__syncs_enabled="false", on_origin_changed="restart")
    config |= {"task.assigned.partitions": "t-0,t-1"}
    offsets = MemoryOffsets(
        [
            (partition(0), {"offset": 6}),
            (identity(0), {"id": "new"}),
            (partition(1), {"offset": 9}),
            (identity(1), {"id": "old"}),
        ]
    )
    task, clients = MirrorSourceTask(), Clients()
    task.context = MemorySourceContext(config, offsets, kafka=clients)  # type: ignore[arg-type]
    task.start(config)
    assert task.poll() is None
    assert clients.assigned[-1] == {TopicPartition("t", 0): 7, TopicPartition("t", 1): EARLIEST}
    assert task.uncarried_offsets() == [(partition(1), None), (identity(1), {"id": "new"})]
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
    task.context = MemorySourceContext(config, MemoryOffsets([]), kafka=clients)  # type: ignore[arg-type]
    task.start(config)
    assert task.poll() is None
    assert task.idle() > 0.1
    assert task.poll() is None
    assert task.idle() == 0
    assert task.uncarried_offsets() == [(identity(0), {"id": "new"})]
    task.stop()
