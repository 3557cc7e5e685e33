"""Detection of senders that did not run."""

from __future__ import annotations

import pytest

from faults.silences import Silence, distribution, in_all, longest, silences

TICKS = [float(second) for second in range(1, 100)]


def without(first: float, last: float) -> list[float]:
    return [tick for tick in TICKS if not first < tick < last]


def test_who_sends_every_second_is_not_silent() -> None:
    assert silences({"a": TICKS}, (0.0, 100.0), [10.0], []) == []


def test_a_silence_counts_for_the_last_fault_before_it() -> None:
    found = silences({"a": TICKS, "b": without(30.0, 42.0)}, (0.0, 100.0), [10.0, 30.4, 50.0], [])
    assert found == [Silence("b", 30.0, 42.0, 12.0, 12.0, 1)]
    assert found[0].sentence() == "b was silent for 12.0 s after fault 1"
    assert longest(found, 3) == [0.0, 12.0, 0.0]


@pytest.mark.parametrize(
    ("away", "length"),
    [
        ([(20.0, 25.0)], 12.0),
        ([(29.0, 33.0)], 9.0),
        ([(31.0, 33.0), (32.0, 35.0), (60.0, 90.0)], 7.0),
        ([(30.0, 40.0)], None),
    ],
    ids=["before", "begins with it", "overlapping", "all but two seconds"],
)
def test_the_time_without_a_broker_does_not_count(away: list[tuple[float, float]], length: float | None) -> None:
    found = silences({"a": without(30.0, 42.0)}, (0.0, 100.0), [30.0], away)
    assert [each.length for each in found] == ([] if length is None else [length])


def test_after_the_broker_was_away_a_silence_counts_from_there() -> None:
    away = [(31.0, 33.0), (36.0, 38.0)]
    found = silences({"a": without(30.0, 48.0)}, (0.0, 100.0), [30.0, 31.0, 35.9, 44.0], away)
    assert found == [Silence("a", 30.0, 48.0, 10.0, 14.0, 2)]
    assert in_all(found) == "14.0 s"
    assert in_all([]) == "0.0 s"


def test_who_is_never_heard_again_is_silent_to_the_end() -> None:
    assert [each.length for each in silences({"a": without(60.0, 1e9)}, (0.0, 100.0), [60.0], [])] == [40.0]
    assert [each.length for each in silences({"a": []}, (0.0, 100.0), [], [])] == [100.0]


def test_distribution() -> None:
    assert distribution([3.0, 1.0, 2.0]) == "median 2.0 s, p90 3.0 s, max 3.0 s"
    assert distribution(range(1, 11)) == "median 5.0 s, p90 9.0 s, max 10.0 s"
    assert distribution([]) == "none"
