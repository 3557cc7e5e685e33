"""Source offsets between the task and the offsets topic."""

from __future__ import annotations

import base64
import threading
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from penstock.api.batch import SourceOrigin
from penstock.api.errors import DataError
from penstock.api.origin import IdentifiedDict, identity_of
from penstock.pipeline.source import offsets as source_offsets
from penstock.pipeline.source.offsets import SourceOffset, SourceTaskOffsets
from support.tasks.specs import SOURCE


def offsets(*stored: tuple[Any, ...]) -> SourceTaskOffsets:
    spec = replace(SOURCE, offsets=stored)
    return SourceTaskOffsets(spec)


def records(found: list[SourceOffset]) -> list[tuple[bytes, bytes | None]]:
    return [(each.key, each.value) for each in found]


def test_the_last_offset_of_each_partition_counts() -> None:
    a, b = {"f": "a"}, {"f": "b"}
    known = offsets()
    known.sent(SourceOrigin([a, b, {"f": "a"}, b], [{"p": 1}, {"p": 2}, {"p": 3}, {"p": 4}]))
    assert records(known.take()) == [(b'["c",{"f":"a"}]', b'{"p":3}'), (b'["c",{"f":"b"}]', b'{"p":4}')]
    assert known.take() == []


def test_an_offset_that_is_put_while_others_are_taken_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A poll may put an offset while another thread commits."""
    known, encode, threads = offsets(), source_offsets.encode_value, list[threading.Thread]()

    def slowly(offset: dict[str, Any] | None) -> bytes | None:
        monkeypatch.undo()
        threads.append(threading.Thread(target=known.put, args=({"f": "b"}, {"p": 2}, True)))
        threads[0].start()
        threads[0].join(0.2)
        return encode(offset)

    monkeypatch.setattr(source_offsets, "encode_value", slowly)
    known.put({"f": "a"}, {"p": 1})
    known.committed(known.take())
    threads[0].join()
    assert known.urgent
    assert records(known.take()) == [(b'["c",{"f":"b"}]', b'{"p":2}')]


def test_partition_and_offset_may_be_null() -> None:
    known = offsets(({"f": "a"}, {"p": 1}, None))
    known.sent(SourceOrigin([None, {"f": "a"}], [{"p": 3}, None]))  # type: ignore[list-item]
    taken = known.take()
    assert records(taken) == [(b'["c",null]', b'{"p":3}'), (b'["c",{"f":"a"}]', None)]
    known.committed(taken)
    assert known.offsets([{"f": "a"}]) == [None]


def test_the_offset_of_the_partition_null_is_read_after_a_restart() -> None:
    assert offsets((None, {"p": 3}, None)).offsets([{"f": "a"}, None]) == [None, {"p": 3}]


@pytest.mark.parametrize("partition", [{1: "a"}, {"f": ["a"]}, {"f": object()}])
def test_what_can_be_no_partition_has_no_offset(partition: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert offsets(({"1": "a"}, {"p": 1}, None), ({"f": ["a"]}, {"p": 1}, None)).offset(partition) is None
    assert "asks for an offset that can't be stored: Offsets may only" in caplog.text


def test_stored_keys_are_written_with_their_bytes() -> None:
    key = b'["c", {"b":2, "a":1}]'
    known = offsets(({"a": 1, "b": 2}, {"p": 0}, base64.b64encode(key).decode()))
    known.sent(SourceOrigin([{"b": 2, "a": 1}], [{"p": 9}]))
    assert records(known.take()) == [(key, b'{"p":9}')]


def test_the_latest_are_those_that_were_sent_or_else_committed() -> None:
    known = offsets()
    known.put({"f": 1}, {"n": 1})
    known.put({"f": 2}, {"n": 5})
    known.committed(known.take())
    known.put({"f": 1}, {"n": 2})
    assert list(known.latest()) == [({"f": 1}, {"n": 2}), ({"f": 2}, {"n": 5})]


def test_the_task_reads_what_was_committed() -> None:
    known = offsets(({"f": "a"}, {"p": 1}, None))
    assert known.offsets([{"f": "a"}, {"f": "b"}]) == [{"p": 1}, None]
    known.sent(SourceOrigin([{"f": "a"}], [{"p": 2}]))
    assert known.offset({"f": "a"}) == {"p": 1}
    known.committed(known.take())
    assert known.offset({"f": "a"}) == {"p": 2}


def test_offsets_that_could_not_be_stored_wait_unless_later_ones_do() -> None:
    known = offsets()
    known.sent(SourceOrigin([{"f": "a"}, {"f": "b"}], [{"p": 1}, {"p": 2}]))
    taken = known.take()
    known.sent(SourceOrigin([{"f": "a"}], [{"p": 5}]))
    known.give_back(taken)
    assert sorted(value for _, value in records(known.take())) == [b'{"p":2}', b'{"p":5}']


def test_a_partition_that_no_topic_can_hold_is_refused_with_a_sentence() -> None:
    with pytest.raises(DataError, match="Offsets may only contain primitive types as values, but field f"):
        offsets().sent(SourceOrigin([{"f": Decimal(1)}], [{"p": 1}]))


def test_offsets_that_no_topic_can_hold_are_refused() -> None:
    known = offsets()
    known.sent(SourceOrigin([{"f": "a"}], [{"p": [1]}]))
    with pytest.raises(DataError, match="Offsets may only contain primitive types as values, but field p"):
        known.take()


def test_identities_of_origins_are_stored_in_headers_and_read_back() -> None:
    partition, identity = {"f": "a"}, {"inode": 1}
    known = offsets()
    for given in ((IdentifiedDict(partition, {"inode": 2}), IdentifiedDict({"p": 1}, identity)),):
        known.sent(SourceOrigin([given[0]], [given[1]]))
    [taken] = known.take()
    assert (taken.key, taken.value) == (b'["c",{"f":"a"}]', b'{"p":1}')
    assert taken.headers == [("penstock.origin", '{"inode":1}')]
    known.committed([taken])
    assert identity_of(known.offset(partition)) == identity
    assert identity_of(offsets((partition, {"p": 1}, None, identity)).offset(partition)) == identity
    assert identity_of(offsets((partition, {"p": 1}, None)).offset(partition)) is None


def test_an_offset_without_an_identity_has_that_of_its_partition_and_a_deletion_none() -> None:
    partition = IdentifiedDict({"f": "a"}, {"inode": 2})
    known = offsets()
    for offset, headers in (({"p": 1}, [("penstock.origin", '{"inode":2}')]), (None, [])):
        known.put(partition, offset)
        assert [each.headers for each in known.take()] == [headers]
    known.put({"f": "a"}, {"p": 2})
    assert [each.headers for each in known.take()] == [[]]
