"""Positions confirmed to the server: never beyond the records that Kafka has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.errors import ConnectError
from penstock.connectors.postgres.progress import StreamPosition, StreamProgress, stored


def test_nothing_is_confirmed_before_it_is_committed() -> None:
    progress = StreamProgress(StreamPosition(0))
    progress.given = StreamPosition(10, 2, 1)
    progress.finished(11)
    assert progress.confirmable() == 0
    progress.committed(StreamPosition(10, 2, 1))
    assert progress.confirmable() == 10
    progress.committed(StreamPosition(9, 1, 1))
    assert progress.confirmable() == 10


def test_the_position_after_the_last_transaction_is_offered_until_it_is_committed() -> None:
    progress = StreamProgress(StreamPosition(0))
    assert progress.uncarried() is None
    progress.given = StreamPosition(10, 1, 1)
    assert progress.uncarried() is None, "the record carries it"
    progress.finished(11)
    assert progress.uncarried() == StreamPosition(11)
    progress.given = StreamPosition(12, 1, 1)
    assert progress.uncarried() is None
    progress.idle(20)
    progress.idle(15)
    assert progress.uncarried() == StreamPosition(20)
    assert progress.confirmable() == 0
    progress.committed(StreamPosition(20))
    assert progress.uncarried() is None
    assert progress.confirmable() == 20


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=30))
def test_only_committed_positions_are_confirmed(transactions: list[tuple[int, bool, bool]]) -> None:
    """After each transaction of some records, some offset or the idle position is committed."""
    progress, given, committed = StreamProgress(StreamPosition(0)), [], StreamPosition(0)
    for number, (records, commits, idle) in enumerate(transactions, 1):
        for event in range(1, records + 1):
            progress.given = StreamPosition(number * 10, event, 1)
            given.append(progress.given)
        assert progress.uncarried() is None or progress.given.event == 0
        progress.finished(number * 10 + 1)
        if commits and given:
            committed = max(committed, given[len(given) // 2])
            progress.committed(committed)
        if idle:
            progress.idle(number * 10 + 5)
            if (offered := progress.uncarried()) is not None:
                assert all(position < offered for position in given)
                committed = offered
                progress.committed(committed)
        confirmed = progress.confirmable()
        assert confirmed <= committed.lsn
        assert all(position <= committed for position in given if position.lsn < confirmed)


def test_offsets_are_positions_and_malformed_ones_are_refused() -> None:
    assert stored(StreamPosition(5, 2, 1).offset()) == StreamPosition(5, 2, 1)
    assert stored({"lsn": 5}) == StreamPosition(5)
    for wrong in ({}, {"lsn": "5"}, {"lsn": True}, {"lsn": -1}, {"lsn": 1, "event": None}):
        with pytest.raises(ConnectError, match="has lsn, event and record, numbers from 0 on"):
            stored(wrong)
