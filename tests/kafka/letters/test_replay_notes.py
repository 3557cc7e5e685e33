"""Notes of the dead letters that have been replayed, and the headers of dead letters."""

from __future__ import annotations

import zlib
from base64 import b85encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kafka.letters.notes import Done
from penstock.kafka.letters.queue import Letter


def test_replayed_records_are_remembered() -> None:
    done = Done.of(5, "7,9-12")
    assert [offset for offset in range(15) if offset in done] == [0, 1, 2, 3, 4, 7, 9, 10, 11, 12]
    assert done.metadata() == "7,9-12"
    done.up_to(9)
    assert (done.next, done.metadata()) == (10, "10-12")
    assert (Done.of(-1001, None).next, Done.of(3, "").metadata()) == (0, "")
    done.add(11, 14)
    done.add(16, 16)
    done.add(15, 15)
    done.add(20, 20)
    assert done.metadata() == "10-16,20"
    done.up_to(20)
    assert (done.next, done.beyond) == (21, [])


@pytest.mark.security
def test_notes_of_other_programs_say_nothing_and_cost_nothing() -> None:
    bomb = "packed:" + b85encode(zlib.compress(b"\x02" * (64 << 20), 9)).decode()
    for metadata in ("packed:", "packed:x", "packed:٣", bomb, bomb[:90]):
        assert Done.of(5, metadata).beyond == []
    for metadata in ("consumer-1", "x-y", "-", "5-", "9-7", "٣", "9" * 4000, "7," * 1000, "0-4"):
        assert [offset for offset in range(15) if offset in Done.of(5, metadata)] in ([0, 1, 2, 3, 4], [*range(5), 7])
    done = Done.of(0, "1-9223372036854775807")
    assert (0 in done, 10**18 in done) == (False, True)
    for offset in range(1, 100_001):  # as in a replay whose first letter cannot be sent
        done = Done(0, done.beyond)
        done.add(offset, offset)
    assert done.metadata() == "1-9223372036854775807"


@given(st.lists(st.tuples(st.sampled_from("asu"), st.integers(0, 30), st.integers(0, 5))), st.integers(0, 30))
def test_spans_of_replayed_records_are_like_sets(steps: list[tuple[str, int, int]], start: int) -> None:
    done, offsets = Done(start), set(range(start))
    for step, first, length in steps:
        match step:
            case "a" if first >= done.next:
                done.add(first, first + length)
                offsets |= set(range(first, first + length + 1))
            case "u":
                done.up_to(first)
                offsets |= set(range(first + 1))
            case _:
                done = Done.of(done.next, done.metadata())
        assert {offset for offset in range(80) if offset in done} == offsets


def letter(*headers: tuple[str, bytes | None]) -> Letter:
    return Letter("dead", 0, 5, None, b"k", b"v", headers)


def test_a_dead_letter_is_read_with_its_headers() -> None:
    found = letter(("mine", b"1"), ("__connect.errors.topic", b"t"), ("__connect.errors.connector.name", b"c"))
    assert (found.position, found.error_header("topic"), found.error_header("stage")) == ("dead-0-5", "t", None)
    assert found.own_headers == [("mine", b"1")]
    assert (found.may_be_of("c"), found.may_be_of("d"), letter().may_be_of("d")) == (True, False, True)
