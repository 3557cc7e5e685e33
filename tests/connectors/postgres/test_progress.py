"""What the server is told: never more than what Kafka has."""

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
    progress.committed(StreamPosition(10, 1, 3))
    assert progress.confirmable() == 0
    progress.committed(StreamPosition(10, 2, 1))
    assert progress.confirmable() == 11


def test_transactions_without_records_wait_for_those_before() -> None:
    progress = StreamProgress(StreamPosition(0))
    progress.finished(5)
    assert progress.confirmable() == 5
    progress.given = StreamPosition(10, 1, 1)
    progress.finished(11)
    progress.finished(15)
    progress.idle(20)
    progress.idle(30)
    assert progress.confirmable() == 5
    progress.committed(StreamPosition(10, 1, 1))
    assert progress.confirmable() == 30


def test_records_read_again_confirm_nothing_new() -> None:
    progress = StreamProgress(StreamPosition(0))
    progress.given = StreamPosition(10, 1, 1)
    progress.finished(11)
    progress.given = StreamPosition(0)
    progress.committed(StreamPosition(10, 1, 1))
    progress.finished(11)
    progress.given = StreamPosition(12, 1, 1)
    progress.finished(13)
    assert progress.confirmable() == 11


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30))
def test_only_committed_positions_are_confirmed(transactions: list[tuple[int, bool]]) -> None:
    """Transactions of some records, after each of which some offset is committed."""
    progress, given, committed = StreamProgress(StreamPosition(0)), [], StreamPosition(0)
    for number, (records, commits) in enumerate(transactions, 1):
        for event in range(1, records + 1):
            progress.given = StreamPosition(number * 10, event, 1)
            given.append(progress.given)
        progress.finished(number * 10 + 1)
        if commits and given:
            committed = given[len(given) // 2]
            progress.committed(committed)
        confirmed = progress.confirmable()
        assert all(position <= committed for position in given if position.lsn < confirmed)
    progress.committed(progress.given)
    assert progress.confirmable() == (len(transactions) * 10 + 1 if transactions else 0)


def test_offsets_are_positions_and_malformed_ones_are_refused() -> None:
    assert stored(StreamPosition(5, 2, 1).offset()) == StreamPosition(5, 2, 1)
    assert stored({"lsn": 5}) == StreamPosition(5)
    for wrong in ({}, {"lsn": "5"}, {"lsn": True}, {"lsn": -1}, {"lsn": 1, "event": None}):
        with pytest.raises(ConnectError, match="has lsn, event and record, numbers from 0 on"):
            stored(wrong)
