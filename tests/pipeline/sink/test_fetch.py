"""Columns made of fetched messages."""

from __future__ import annotations

import confluent_kafka as ck

from penstock.api.batch import SinkOrigin
from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.fetch import raw_batch

ONLY = TopicPartition("t", 0)


def messages(*offsets: int, kinds: tuple[int, ...] = ()) -> list[ck.Message]:
    all_kinds = kinds or (1,) * len(offsets)
    stamps = [(kind, 100 + offset if kind else -1) for kind, offset in zip(all_kinds, offsets, strict=True)]
    return [
        ck.Message(topic="t", partition=0, offset=offset, value=b"v", timestamp=stamp)
        for offset, stamp in zip(offsets, stamps, strict=True)
    ]


def test_offsets_without_a_gap_are_a_range() -> None:
    for offsets, expected in (((5, 6, 7), range(5, 8)), ((5,), range(5, 6)), ((5, 7, 8), [5, 7, 8])):
        origin = raw_batch(messages(*offsets), ONLY).origin
        assert isinstance(origin, SinkOrigin)
        assert origin.offsets == expected
        assert origin.select((0, -1)).offsets == [offsets[0], offsets[-1]]
    several = raw_batch(messages(5, 6)).origin
    assert isinstance(several, SinkOrigin)
    assert several.offsets == [5, 6]


def test_timestamps_and_their_types() -> None:
    same, mixed = raw_batch(messages(1, 2), ONLY), raw_batch(messages(1, 2, 3, kinds=(1, 0, 2)), ONLY)
    assert same.timestamps == [101, 102]
    assert mixed.timestamps == [101, None, 103]
    for batch, types in (
        (same, ["CreateTime", "CreateTime"]),
        (mixed, ["CreateTime", "NoTimestampType", "LogAppendTime"]),
    ):
        assert isinstance(batch.origin, SinkOrigin)
        assert batch.origin.timestamp_types == types
