"""Transaction boundaries of exactly-once sources (KIP-618)."""

from __future__ import annotations

import time

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError
from penstock.api.record import SourceRecord
from penstock.pipeline.source.transaction_boundaries import TransactionBoundaries, TransactionEnd

RECORDS = [SourceRecord(topic="t", value=i) for i in range(4)]


def test_an_interval_begins_again_when_it_is_over() -> None:
    boundaries = TransactionBoundaries("interval", 10.0)
    now = time.monotonic()
    assert not boundaries.due(now + 9)
    assert boundaries.due(now + 11)
    assert not boundaries.due(now + 12)
    assert boundaries.remaining(now + 12) == pytest.approx(9, abs=0.1)


def test_a_request_for_a_batch_counts_once() -> None:
    boundaries = TransactionBoundaries("connector", 0)
    boundaries.commit_transaction()
    assert [boundaries.take_batch_request(), boundaries.take_batch_request()] == [TransactionEnd.COMMIT, None]
    boundaries.abort_transaction()
    assert boundaries.take_batch_request() == TransactionEnd.ABORT


def test_wishes_take_record_requests() -> None:
    boundaries = TransactionBoundaries("connector", 0)
    boundaries.commit_transaction(after=RECORDS[0])
    boundaries.abort_transaction(after=RECORDS[2])
    assert boundaries.take_record_requests(RECORDS) == [(1, TransactionEnd.COMMIT), (3, TransactionEnd.ABORT)]
    assert boundaries.take_record_requests(RECORDS) == []


def test_contradictions_are_refused() -> None:
    boundaries = TransactionBoundaries("connector", 0)
    boundaries.commit_transaction()
    boundaries.abort_transaction()
    with pytest.raises(ConnectError, match="commit and to abort"):
        boundaries.take_batch_request()
    boundaries.commit_transaction(after=RECORDS[1])
    boundaries.abort_transaction(after=RECORDS[1])
    with pytest.raises(ConnectError, match="after the same record"):
        boundaries.take_record_requests(RECORDS)


@pytest.mark.parametrize("end", ["commit_transaction", "abort_transaction"])
def test_a_record_cannot_be_named_with_a_batch_of_columns(end: str) -> None:
    boundaries = TransactionBoundaries("connector", 0)
    getattr(boundaries, end)(after=RECORDS[0])
    with pytest.raises(ConnectError, match="polled a Batch, whose rows are no records that it could name"):
        boundaries.take_record_requests(Batch.of_source_records(RECORDS))


def test_a_batch_of_columns_may_end_a_transaction() -> None:
    boundaries = TransactionBoundaries("connector", 0)
    boundaries.commit_transaction()
    assert boundaries.take_record_requests(Batch.of_source_records(RECORDS)) == []
    assert boundaries.take_batch_request() is TransactionEnd.COMMIT
