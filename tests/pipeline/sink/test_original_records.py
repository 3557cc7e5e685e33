"""Original records of a sink: those that were read and are still kept."""

from __future__ import annotations

import pytest

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import TopicPartition
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.sink import original_records
from penstock.pipeline.sink.original_records import OriginalRecords
from support.tasks.runs import JSON, STRING, resolve

CONVERTERS = {"key.converter": STRING, "value.converter": JSON, "value.converter.schemas.enable": "false"}


def raw(first: int, *values: bytes, partition: int = 0) -> Batch:
    n = len(values)
    origin = SinkOrigin(["t"] * n, [partition] * n, range(first, first + n), ["CreateTime"] * n)
    return Batch.of("t", list(values), keys=[b"k"] * n, origin=origin)


class Fetches:
    """A sink's fetches of topic ``t``, and the records that its task gets."""

    def __init__(self, keeps: bool = True) -> None:
        self.originals = OriginalRecords(conversion=Conversion.build(CONVERTERS, {}, resolve), keeps=keeps)
        self.committed = {TopicPartition("t", 0): 0, TopicPartition("t", 1): 0}

    def fetch(self, first: int, *values: bytes, partition: int = 0) -> None:
        end = {TopicPartition("t", partition): first + len(values)}
        self.originals.fetched(raw(first, *values, partition=partition), end, self.committed)

    def original(self, offset: int, partition: int = 0) -> bytes:
        changed = raw(offset, b"", partition=partition).with_(values=[{"a": 1}], keys=["k"])
        found = self.originals.original(changed)
        assert len(found) == 1
        return found.values[0]


def test_records_are_known_until_they_are_committed() -> None:
    fetches = Fetches()
    fetches.fetch(0, b'{ "a" : 1 }', b'{ "a" : 2 }')
    fetches.fetch(0, b'{ "p" : 1 }', partition=1)
    fetches.fetch(2, b'{ "a" : 3 }')
    assert [fetches.original(i) for i in range(3)] == [b'{ "a" : 1 }', b'{ "a" : 2 }', b'{ "a" : 3 }']
    assert fetches.original(0, partition=1) == b'{ "p" : 1 }'
    fetches.committed[TopicPartition("t", 0)] = 2
    fetches.fetch(3, b"4")
    assert fetches.original(0) == b'{"a":1}', "as the converters write it"
    assert fetches.original(0, partition=1) == b'{ "p" : 1 }'
    del fetches.committed[TopicPartition("t", 1)]
    fetches.fetch(4, b"5")
    assert fetches.original(0, partition=1) == b'{"a":1}', "its partition is gone"
    assert fetches.original(2) == b'{ "a" : 3 }'


def test_a_record_that_is_read_again_is_known() -> None:
    fetches = Fetches()
    for first in (0, 2, 1):
        fetches.fetch(first, b'{ "a" : %d }' % first, b'{ "a" : %d }' % (first + 1))
    assert [fetches.original(i) for i in range(4)] == [b'{ "a" : %d }' % i for i in range(4)]


def test_so_many_bytes_are_kept(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(original_records, "MAX_BYTES", 10_000)
    fetches = Fetches()
    for i in range(4):
        fetches.fetch(i, b" " * 4000)
    assert [len(fetches.original(i)) for i in (1, 2, 3)] == [4000] * 3
    assert caplog.messages == []
    assert [fetches.original(0) for _ in range(2)] == [b'{"a":1}'] * 2
    [warning] = caplog.messages
    assert "its dead letter is what the converters make of the reported record" in warning


def test_keys_and_values_that_are_null_take_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(original_records, "MAX_BYTES", 10_000)
    fetches = Fetches()
    for offset in range(4):
        batch = raw(offset, b"", b" " * 2000).with_(values=[None, b" " * 2000], keys=[None, None])
        fetches.originals.fetched(batch, {TopicPartition("t", 0): offset + 2}, fetches.committed)
    assert fetches.original(0) is None


def test_without_a_queue_only_the_last_fetch_is_known() -> None:
    fetches = Fetches(keeps=False)
    fetches.fetch(0, b" 1")
    fetches.fetch(1, b" 2")
    assert fetches.original(1) == b" 2"
    assert fetches.original(0) == b'{"a":1}'
