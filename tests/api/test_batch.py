from __future__ import annotations

import pytest

from penstock.api.batch import Batch, SinkOrigin, SourceOrigin
from penstock.api.record import Header, SinkRecord, SourceRecord
from penstock.api.schema import STRING


def batch(*values: str) -> Batch:
    return Batch.of(
        "t",
        list(values),
        value_schema=STRING,
        origin=SourceOrigin([{"f": 1}] * len(values), [{"o": v} for v in values]),
    )


def test_parts_put_together_again_are_the_whole() -> None:
    whole = batch("a", "b", "c")
    assert Batch.concat([whole.select([0]), whole.select([]), whole.select([1, 2])]) == whole


def test_nothing_and_nothing_is_nothing() -> None:
    empty = batch("a").select([])
    assert Batch.concat([empty, empty]) == empty


def test_batches_without_an_origin_can_be_joined() -> None:
    assert Batch.concat([Batch.of("t", [1]), Batch.of("u", [2])]).topics == ["t", "u"]


def test_sink_origins_are_joined_too() -> None:
    one = Batch.of("t", ["a"], origin=SinkOrigin(["t"], [0], [5], ["CreateTime"]))
    two = Batch.of("t", ["b"], origin=SinkOrigin(["t"], [1], [6], ["CreateTime"]))
    assert Batch.concat([one, two]).origin == SinkOrigin(["t", "t"], [0, 1], [5, 6], ["CreateTime"] * 2)


def test_rows_and_back() -> None:
    record = SourceRecord(
        topic="t", key="k", value="v", timestamp=3, headers=(Header("h", STRING, "x"),), source_offset={"o": 1}
    )
    assert list(Batch.of_source_records([record]).rows()) == [record]


def test_rows_of_a_sink_and_back() -> None:
    record = SinkRecord(
        topic="u", partition=1, value="v", offset=7, original_topic="t", original_partition=2, original_offset=7
    )
    whole = Batch.of_sink_records([record, record.with_(offset=8, original_offset=8)])
    assert [row.original_offset for row in whole.rows() if isinstance(row, SinkRecord)] == [7, 8]
    assert whole.row(0) == record.with_(topic="u")


def test_rows_without_an_origin_have_offsets_of_their_own() -> None:
    one, two = Batch.of("t", [1, 2]).rows()
    assert isinstance(one, SourceRecord)
    assert isinstance(two, SourceRecord)
    assert (one.value, one.source_offset, one.headers) == (1, {}, ())
    assert one.source_offset is not two.source_offset


def test_columns_of_different_length_are_no_records() -> None:
    with pytest.raises(ValueError, match="The batch has 2 topics, but its column key has 1 entries"):
        list(Batch.of("t", [1, 2], keys=["k"]).rows())


def test_a_field_that_a_record_does_not_have() -> None:
    with pytest.raises(TypeError, match="offsets"):
        SinkRecord(topic="t").with_(offsets=3)


class Noted(SourceRecord):
    """A plugin's own class."""


def test_a_changed_record_is_of_the_same_class() -> None:
    changed = Noted(topic="t", value=1).with_(value=2)
    assert (type(changed), changed.value) == (Noted, 2)
