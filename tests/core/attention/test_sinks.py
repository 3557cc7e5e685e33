"""Rows of the attention list from looks at the topics and offsets of a sink."""

from __future__ import annotations

from penstock.core.attention.rows import Row
from penstock.core.attention.sinks import STALE_MS, Position, SinkLook, SinkWatch

STILL, STEP = 60_000, 30_000


def watch(skips_old: bool = False) -> SinkWatch:
    return SinkWatch("orders", "connect-orders", 0, STILL, skips_old)


def offsets(*positions: tuple[int | None, int], start: int = 0) -> SinkLook:
    return SinkLook({("t", n): Position(at, start, end) for n, (at, end) in enumerate(positions)})


def confirmed(watched: SinkWatch, now: int) -> list[tuple[str, int]]:
    """Confirm all suspects."""
    found = list(watched.suspects(now))
    for place in found:
        watched.confirmed(place, True)
    return found


def rows(watched: SinkWatch, now: int) -> list[Row]:
    return list(watched.rows(now))


def test_lag_that_does_not_move_has_a_row_once_records_were_found() -> None:
    watched = watch()
    for now in range(0, STILL, STEP):
        watched.looked(offsets((17, 1251), (5, 5)), now)
        assert (watched.suspects(now), rows(watched, now)) == ({}, [])
    watched.looked(offsets((17, 1251), (5, 5)), STILL)
    assert rows(watched, STILL) == []
    assert confirmed(watched, STILL) == [("t", 0)]
    (row,) = rows(watched, STILL)
    assert (row.kind, row.since_ms) == ("standstill", 0)
    assert row.why == "Its group connect-orders commits nothing, 1,234 records wait: t-0 at 17 of 1,251"
    assert watched.suspects(STILL) == {}
    watched.looked(offsets((18, 1251), (5, 5)), STILL + STEP)
    assert rows(watched, STILL + STEP) == []


def test_lag_that_moves_or_has_just_come_is_no_standstill() -> None:
    watched = watch()
    for now in range(0, 10 * STILL, STEP):
        watched.looked(offsets((now, now + 100), (5, 5)), now)
        assert watched.suspects(now) == {}
    watched.looked(offsets((now, now + 100), (5, 6)), now + STEP)
    assert ("t", 1) not in watched.suspects(now + STEP)


def test_markers_of_transactions_are_no_lag() -> None:
    watched = watch()
    for now in (0, STILL):
        watched.looked(offsets((5, 6)), now)
    assert watched.suspects(STILL) == {("t", 0): 5}
    watched.confirmed(("t", 0), False)
    watched.looked(offsets((5, 6)), STILL + STEP)
    assert (watched.suspects(STILL + STEP), rows(watched, STILL + STEP)) == ({}, [])
    watched.looked(offsets((5, 8)), STILL + 2 * STEP)
    assert watched.suspects(STILL + 2 * STEP) == {("t", 0): 5}


def test_one_partition_that_stands_still_while_others_move() -> None:
    watched = watch()
    for now in range(0, STILL + 1, STEP):
        watched.looked(offsets((now, now + 9), (3, 9)), now)
    assert confirmed(watched, STILL) == [("t", 1)]
    (row,) = rows(watched, STILL)
    assert row.kind == "partition-standstill"
    assert row.why == "Its group connect-orders commits nothing for 1 partition, while others move: t-1 at 3 of 9"


def test_a_partition_without_a_committed_offset_is_read_from_its_beginning() -> None:
    watched = watch()
    for now in (0, STILL):
        watched.looked(offsets((None, 9), start=4), now)
    assert watched.suspects(STILL) == {("t", 0): 4}


def test_a_sink_that_begins_at_the_end_has_no_lag_of_old_records() -> None:
    watched = watch(skips_old=True)
    for now in (0, STILL):
        watched.looked(offsets((None, 9)), now)
    assert watched.suspects(STILL) == {}
    for now in (2 * STILL, 3 * STILL):
        watched.looked(offsets((None, 10)), now)
    assert watched.suspects(3 * STILL) == {("t", 0): 9}


def test_records_that_were_deleted_are_not_waited_for() -> None:
    watched = watch()
    for now in (0, STILL):
        watched.looked(offsets((2, 9), start=9), now)
    assert watched.suspects(STILL) == {}


def test_topics_that_do_not_exist() -> None:
    watched = watch()
    watched.looked(SinkLook({}, ("b", "a")), 1000)
    watched.looked(SinkLook({}, ("b", "a")), 2000)
    (row,) = rows(watched, 2000)
    assert (row.kind, row.since_ms) == ("missing-topics", 1000)
    assert row.why.startswith("The topics b, a do not exist")
    watched.looked(SinkLook({}, unmatched="orders-.*"), 3000)
    (row,) = rows(watched, 3000)
    assert "topics.regex orders-.*" in row.why
    watched.looked(SinkLook({}), 4000)
    assert rows(watched, 4000) == []


def test_offsets_that_could_not_be_read_are_unknown_and_not_zero() -> None:
    watched = watch()
    assert rows(watched, 1000) == []
    watched.failed("no brokers", 2000)
    watched.failed("no brokers yet", 3000)
    (row,) = rows(watched, 4000)
    assert (row.kind, row.since_ms) == ("unknown", 2000)
    assert row.why == "Its topics and its lag are not known: no brokers yet (they have never been read)"
    watched.looked(SinkLook({}, unknown={"t": "not allowed"}), 5000)
    (row,) = rows(watched, 6000)
    assert row.why == "The offsets of topic t could not be read: not allowed"
    assert row.since_ms == 5000


def test_an_old_look_is_unknown() -> None:
    watched = watch()
    (row,) = rows(watched, STALE_MS)
    assert row.kind == "unknown"
    watched.looked(SinkLook({}), STALE_MS)
    assert rows(watched, STALE_MS + 1) == []
    (row,) = rows(watched, 2 * STALE_MS)
    assert (row.kind, row.since_ms) == ("unknown", STALE_MS)
    assert "last read at 1970-01-01T00:02:00Z" in row.why
