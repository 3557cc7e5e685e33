"""The bytes of the mirror's own records, compared with Java's."""

from __future__ import annotations

import pytest

from penstock.api.errors import DataError
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.records import Checkpoint, Heartbeat, OffsetSync
from penstock.connectors.mirror.source_offsets import source_partition
from penstock.java.text import java_text
from support.mirror.golden import golden


@pytest.mark.parametrize("row", golden("sync"), ids=lambda row: row[0])
def test_offset_syncs_equal_javas_bytes(row: list[str]) -> None:
    topic, partition, upstream, downstream, key, value = row
    sync = OffsetSync(TopicPartition(topic, int(partition)), int(upstream), int(downstream))
    assert (sync.key().hex(), sync.value().hex()) == (key, value)
    assert OffsetSync.read(sync.key(), sync.value()) == sync


@pytest.mark.parametrize("row", golden("checkpoint"), ids=lambda row: row[0])
def test_checkpoints_equal_javas_bytes(row: list[str]) -> None:
    group, topic, partition, upstream, downstream, metadata, key, value, source = row
    checkpoint = Checkpoint(group, TopicPartition(topic, int(partition)), int(upstream), int(downstream), metadata)
    assert (checkpoint.key().hex(), checkpoint.value().hex()) == (key, value)
    assert Checkpoint.read(checkpoint.key(), checkpoint.value()) == checkpoint
    assert java_text(checkpoint.source_partition()) == source


@pytest.mark.parametrize("row", golden("heartbeat"), ids=lambda row: row[0])
def test_heartbeats_equal_javas_bytes(row: list[str]) -> None:
    source, target, timestamp, key, value, partition = row
    beat = Heartbeat(source, target, int(timestamp))
    assert (beat.key().hex(), beat.value().hex()) == (key, value)
    assert java_text(beat.source_partition()) == partition


@pytest.mark.parametrize("row", golden("partition"), ids=lambda row: row[0])
def test_source_partitions_equal_javas(row: list[str]) -> None:
    cluster, topic, number, shown = row
    assert java_text(source_partition(cluster, TopicPartition(topic, int(number)))) == shown


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (b"\x00\x01t\x00\x00\x00", b"\x00" * 16, "A record of 6 bytes ends within a number"),
        (b"\x00\x09t", b"\x00" * 16, "A text of 9 bytes goes beyond the end of a record of 3 bytes"),
        (b"\x00\x01t\x00\x00\x00\x00", None, "A record of 0 bytes ends within a number"),
    ],
)
def test_bytes_that_are_no_offset_sync(key: bytes, value: bytes | None, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        OffsetSync.read(key, value)


def test_a_checkpoint_of_a_later_version() -> None:
    good = Checkpoint("g", TopicPartition("t", 0), 1, 2, "")
    with pytest.raises(DataError, match="A checkpoint of version 1 is not understood; it should be 0"):
        Checkpoint.read(good.key(), b"\x00\x01" + good.value()[2:])
