"""Translated offsets, compared with what Java's ``OffsetSyncStore`` answers after the same syncs."""

from __future__ import annotations

import pytest

from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.checkpoint.translation import TOO_OLD, OffsetTranslation
from penstock.connectors.mirror.records import OffsetSync
from support.mirror.golden import section

PARTITION = TopicPartition("t", 0)


def translation(*syncs: tuple[int, int], at_end: bool = True) -> OffsetTranslation:
    made = OffsetTranslation()
    made.at_end = at_end
    for upstream, downstream in syncs:
        made.add(OffsetSync(PARTITION, upstream, downstream))
    return made


@pytest.mark.parametrize("rows", section("translation"), ids=range(6))
def test_the_same_syncs_are_kept_as_by_java(rows: list[list[str]]) -> None:
    store = translation(at_end=False)
    store.must_read_to_end = rows[0][1] == "true"
    for kind, *fields in rows[1:]:
        match kind:
            case "end":
                store.at_end = True
            case "add":
                store.add(OffsetSync(PARTITION, int(fields[0]), int(fields[1])))
            case "ask":
                assert str(store.downstream(PARTITION, int(fields[0]))) == fields[1].replace("null", "None"), fields


def test_offsets_are_translated_by_the_last_sync_before() -> None:
    store = translation((100, 50), (110, 58))
    assert store.downstream(PARTITION, 110) == 58
    assert store.downstream(PARTITION, 500) == 59, "after a sync only the next offset is certain"
    assert store.downstream(PARTITION, 105) == 51
    assert store.downstream(PARTITION, 99) == TOO_OLD
    assert store.downstream(TopicPartition("t", 1), 110) is None


def test_nothing_is_translated_before_all_was_read() -> None:
    store = translation((1, 1), (5, 5), at_end=False)
    assert store.downstream(PARTITION, 5) is None
    store.at_end = True
    assert [store.downstream(PARTITION, offset) for offset in (1, 5)] == [TOO_OLD, 5]


def test_a_source_that_starts_over_invalidates_earlier_syncs() -> None:
    store = translation((100, 100), (3, 200))
    assert [store.downstream(PARTITION, offset) for offset in (2, 3, 100)] == [TOO_OLD, 200, 201]


@pytest.mark.parametrize("at_end", [True, False], ids=["while it runs", "as it starts"])
def test_a_mirrored_topic_that_starts_over_invalidates_earlier_syncs(at_end: bool) -> None:
    store = translation((100, 100), (200, 200), at_end=at_end)
    store.must_read_to_end = False
    for upstream, downstream in ((201, 0), (300, 99)):
        store.add(OffsetSync(PARTITION, upstream, downstream))
    store.at_end = True
    assert [store.downstream(PARTITION, offset) for offset in (150, 201, 250, 300)] == [TOO_OLD, 0, 1, 99]


def test_syncs_of_one_partition_can_be_forgotten() -> None:
    store, other = translation((100, 50)), TopicPartition("t", 1)
    store.add(OffsetSync(other, 7, 7))
    store.forget(lambda oldest, last: last.topic_partition == PARTITION)
    assert (store.downstream(PARTITION, 100), store.downstream(other, 7)) == (None, 7)
