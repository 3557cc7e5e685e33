"""The records that a failed put names."""

from __future__ import annotations

from typing import Any

from penstock.api.batch import Batch, SinkOrigin
from penstock.pipeline.sink.failed_put import MAX_NAMED, named_records
from penstock.pipeline.sink.original_records import OriginalRecords


def raw(*rows: tuple[str, int, int, bytes | None]) -> Batch:
    topics, partitions, offsets, keys = map(list, zip(*rows, strict=True))
    types = ["CreateTime"] * len(rows)
    origin: Any = SinkOrigin(topics, partitions, offsets, types)  # type: ignore[arg-type]
    return Batch.of(topics, [b"v"] * len(rows), keys=keys, partitions=partitions, origin=origin)  # type: ignore[arg-type]


def fetched(batch: Batch) -> OriginalRecords:
    originals = OriginalRecords()
    originals.fetched(batch, {}, {})
    return originals


def test_each_of_a_few_records_is_named_with_its_key_as_it_was_read() -> None:
    batch = raw(("a", 0, 5, b"k\n"), ("b", 3, 7, None), ("a", 0, 6, b"\xff"))
    put = batch.select((0, 1)).with_(keys=["another", "key"], topics=["renamed", "renamed"])
    assert named_records(put, fetched(batch), True) == (
        'In a put of 2 records: topic a, partition 0, offset 5, key "k\\n"; '
        "topic b, partition 3, offset 7, without a key"
    )
    assert named_records(batch.select((2,)), fetched(batch), True) == (
        "In a put of 1 record: topic a, partition 0, offset 6, key base64 /w=="
    )


def test_a_long_key_is_cut_and_ends_on_its_line() -> None:
    key = ("topic b, partition 1, offset 2\u2028" * 9).encode()
    batch = raw(("a", 0, 5, key))
    named = named_records(batch, fetched(batch), True)
    assert named is not None
    assert named.startswith('In a put of 1 record: topic a, partition 0, offset 5, key "topic b')
    assert named.endswith('..."')
    assert "\u2028" not in named


def test_keys_are_named_only_on_request() -> None:
    batch = raw(("a", 0, 5, b"k"))
    assert named_records(batch, fetched(batch), False) == "In a put of 1 record: topic a, partition 0, offset 5"


def test_a_record_that_is_no_longer_kept_is_named_without_its_key() -> None:
    assert named_records(raw(("a", 0, 5, b"k")), OriginalRecords(), True) == (
        "In a put of 1 record: topic a, partition 0, offset 5"
    )


def test_of_many_records_the_offsets_are_named() -> None:
    batch = raw(*(("a", i % 2, 100 + i, b"k") for i in range(MAX_NAMED + 1)))
    assert named_records(batch, fetched(batch), True) == (
        "In a put of 11 records: topic a, partition 0, 6 with offsets from 100 to 110; "
        "topic a, partition 1, 5 with offsets from 101 to 109"
    )


def test_a_long_key_is_cut() -> None:
    batch = raw(("a", 0, 5, b"k" * 5000))
    assert len(named_records(batch, fetched(batch), True) or "") < 200


def test_a_put_without_records_names_none() -> None:
    assert named_records(Batch.of_sink_records([]), OriginalRecords(), True) is None
