from __future__ import annotations

from penstock.api.batch import Batch, SinkOrigin, SourceOrigin
from penstock.api.record import Header, SourceRecord
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
