from __future__ import annotations

from penstock.demo.proof import Tally, checksum


def test_all_there() -> None:
    tally = Tally.of([b"a", b"b", b"b"], [b"b", b"a", b"b"])
    assert (tally.count, tally.exactly_once) == (3, True)
    assert tally.checksum == checksum([b"a", b"b", b"b"])


def test_lost_duplicated_and_invented_lines_are_distinguished() -> None:
    tally = Tally.of([b"a", b"b", b"c"], [b"a", b"a", b"a", b"c", b"x"])
    assert (tally.count, tally.missing, tally.duplicates, tally.foreign) == (5, 1, 2, 1)
    assert not tally.exactly_once


def test_the_checksum_is_that_of_sort_and_sha256sum() -> None:
    # printf 'b\na\n' | LC_ALL=C sort | sha256sum
    assert checksum([b"b", b"a"]) == "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2"
