"""Waits for offsets end when the reader has passed them; no Kafka needed."""

from __future__ import annotations

from penstock.kafka.log.progress import EndLookups, ReadProgress
from support.waiting import Inbox


class Told:
    def __init__(self) -> None:
        self.outcomes: list[Exception | None] = []

    def __call__(self, outcome: Exception | None) -> None:
        self.outcomes.append(outcome)


def test_a_wait_ends_when_all_partitions_reach_their_offsets():
    reads, told = ReadProgress(), Told()
    reads.begin({0: 0, 1: 5})
    reads.wait_for({0: 2, 1: 6}, told)
    reads.passed({0: 2})
    assert told.outcomes == []
    reads.passed({1: 7})
    assert told.outcomes == [None]


def test_offsets_already_passed_need_no_wait():
    reads, told = ReadProgress(), Told()
    reads.begin({0: 3})
    reads.wait_for({0: 3}, told)
    reads.wait_for({}, told)
    assert told.outcomes == [None, None]


def test_waiting_callers_are_returned_when_reading_starts_over():
    reads, told = ReadProgress(), Told()
    reads.begin({0: 0})
    reads.wait_for({0: 9}, told)
    assert reads.begin({0: 0}) == [told]
    reads.passed({0: 9})
    assert told.outcomes == []


def test_nobody_waits_for_a_log_that_is_over():
    reads, early, late = ReadProgress(), Told(), Told()
    reads.begin({0: 1})
    reads.wait_for({0: 2}, early)
    error = RuntimeError("over")
    reads.fail(error)
    reads.wait_for({0: 2}, late)
    assert (early.outcomes, late.outcomes) == ([error], [error])


def test_the_marker_of_an_own_transaction_is_not_waited_for():
    reads = ReadProgress()
    reads.begin({0: 0})
    reads.mark({0: 4})
    reads.passed({0: 4})
    before = reads.positions()
    assert reads.without_markers({0: 5}, before) == {0: 4}
    # There is a record besides the marker.
    assert reads.without_markers({0: 6}, before) == {0: 6}
    # When the end was looked up, the transaction's records had not been delivered, so its marker may have been missing.
    assert reads.without_markers({0: 5}, {0: 3}) == {0: 5}


def test_markers_of_others_are_waited_for():
    reads = ReadProgress()
    reads.begin({0: 4})
    assert reads.without_markers({0: 5}, reads.positions()) == {0: 5}


def test_lagging_partitions_are_named_with_their_positions():
    reads, told = ReadProgress(), Told()
    reads.begin({0: 0, 1: 5})
    assert reads.missing() == {}
    reads.wait_for({0: 2, 1: 5}, told)
    assert reads.missing() == {0: (0, 2)}
    reads.passed({0: 2})
    assert reads.missing() == {}


def test_a_look_up_that_fails_ends_for_those_who_asked_and_the_next_one_goes_on():
    reads, first, second = ReadProgress(), Inbox(), Inbox()
    answers: list[dict[int, int] | Exception] = [RuntimeError("can't start new thread"), {0: 4}]

    def look_up() -> dict[int, int]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    lookups = EndLookups("topic", reads, look_up)
    reads.begin({0: 4})
    lookups.begin([])
    lookups.ask(first)
    assert str(first.next()) == "can't start new thread"
    lookups.ask(second)
    assert second.next() is None
