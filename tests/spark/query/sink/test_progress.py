"""The next batch, by the group's committed offsets and metadata."""

from __future__ import annotations

from penstock.api.query import BatchVersion
from penstock.spark.query.sink.progress import Committed, OffsetNote, Span, progress, root_of

A, B, C = ("a", 0), ("b", 0), ("c", 0)
OLD, NEW = "old", "new"


def at(number: int, epoch: str = OLD, end: int | None = None, offset: int = 10) -> tuple[int, OffsetNote]:
    return offset, OffsetNote(epoch, number, end)


def test_a_group_without_metadata_begins_an_epoch() -> None:
    found = progress({A: (5, OffsetNote())}, [A, B])
    assert (found.version.number, found.offsets, found.unfinished) == (0, {A: 5}, None)
    assert found.version.epoch != progress({}, [A]).version.epoch


def test_a_span_names_the_records_of_each_partition() -> None:
    span = Span({A: 5, B: 7, C: 0}, {A: 10, B: 7, C: 1})
    assert span.named() == "topic a, partition 0, offsets from 5 to 9; topic c, partition 0, offsets from 0 to 0"
    many = Span({("t", i): 0 for i in range(12)}, {("t", i): 2 for i in range(12)})
    assert many.named().endswith("topic t, partition 9, offsets from 0 to 1; 2 more partitions")
    assert Span({A: 5}, {A: 5}).named() == "no records"


def test_an_epoch_goes_on_while_its_partitions_are_read_and_may_get_more() -> None:
    committed: Committed = {A: at(5), B: at(5)}
    assert progress(committed, [A, B]).version == BatchVersion(OLD, 5)
    assert progress(committed, [A, B, C]).version == BatchVersion(OLD, 5)


def test_a_run_that_reads_fewer_partitions_begins_an_epoch_with_the_next_numbers() -> None:
    found = progress({A: at(5), B: at(5)}, [B])
    assert found.version.epoch != OLD
    assert found.version.number == 5


def test_numbers_of_an_epoch_are_not_used_twice_when_topics_leave_and_return() -> None:
    # The setting was topics=a,b, then topics=a, and is b now.
    found = progress({A: at(9, NEW), B: at(5)}, [B])
    assert found.version.epoch not in (OLD, NEW)
    assert found.version.number == 9


def test_an_unfinished_batch_is_whole_even_if_its_partitions_are_not_all_read() -> None:
    found = progress({A: at(6, end=12), B: at(6, end=11)}, [A])
    assert found.version == BatchVersion(OLD, 5)
    assert found.unfinished == Span({A: 10, B: 10}, {A: 12, B: 11})


def test_an_altered_partition_is_not_part_of_the_unfinished_batch() -> None:
    assert progress({A: at(6, end=12), B: (3, OffsetNote())}, [A, B]).unfinished == Span({A: 10}, {A: 12})


def test_offsets_name_the_topics_that_they_are_positions_in() -> None:
    note = OffsetNote(OLD, 5, 12, "id of a")
    assert OffsetNote.of(note.text()) == note
    found = progress({A: (10, note), B: at(5), C: (3, OffsetNote(topic="not kept without an epoch"))}, [A, B, C])
    assert found.topics == {A: "id of a"}
    assert Span({A: 1, B: 2}, {A: 3, B: 4}, {"a": "x"}).without({"a"}) == Span({B: 2}, {B: 4}, {"a": "x"})


def test_metadata_of_others_is_none() -> None:
    assert OffsetNote.of("anything") == OffsetNote.of("[1]") == OffsetNote.of(None) == OffsetNote()
    assert OffsetNote.of(OffsetNote(OLD, 3, 7).text()) == OffsetNote(OLD, 3, 7)


def test_epochs_have_the_same_root_until_another_is_requested() -> None:
    first = progress({}, [A]).version
    after = progress({A: at(5, first.epoch), B: at(5, first.epoch)}, [B]).version
    assert after.epoch != first.epoch
    assert root_of(after.epoch) == root_of(first.epoch)
    requested = progress({A: at(5, first.epoch)}, [A], "new").version
    assert (root_of(requested.epoch), requested.number) == ("new", 5)
    assert progress({A: at(6, requested.epoch)}, [A], "new").version.epoch == requested.epoch


def test_a_requested_root_waits_for_the_end_of_a_batch_that_was_begun() -> None:
    assert progress({A: at(6, end=12)}, [A], "new").version == BatchVersion(OLD, 5)
