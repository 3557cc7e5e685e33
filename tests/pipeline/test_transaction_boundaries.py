"""Where transactions end (KIP-618)."""

from __future__ import annotations

import time

import pytest

from penstock.api.errors import ConnectError
from penstock.api.record import SourceRecord
from penstock.pipeline.source.transaction_boundaries import Boundaries

RECORDS = [SourceRecord(topic="t", value=i) for i in range(4)]


def test_an_interval_begins_anew_when_it_is_over() -> None:
    boundaries = Boundaries("interval", 10.0)
    now = time.monotonic()
    assert not boundaries.due(now + 9)
    assert boundaries.due(now + 11)
    assert not boundaries.due(now + 12)
    assert boundaries.left(now + 12) == pytest.approx(9, abs=0.1)


def test_a_wish_for_a_batch_counts_once() -> None:
    boundaries = Boundaries("connector", 0)
    boundaries.commit_transaction()
    assert [boundaries.of_batch(), boundaries.of_batch()] == ["commit", None]
    boundaries.abort_transaction()
    assert boundaries.of_batch() == "abort"


def test_wishes_after_records() -> None:
    boundaries = Boundaries("connector", 0)
    boundaries.commit_transaction(after=RECORDS[0])
    boundaries.abort_transaction(after=RECORDS[2])
    assert boundaries.after_records(RECORDS) == [(1, "commit"), (3, "abort")]
    assert boundaries.after_records(RECORDS) == []


def test_contradictions_are_refused() -> None:
    boundaries = Boundaries("connector", 0)
    boundaries.commit_transaction()
    boundaries.abort_transaction()
    with pytest.raises(ConnectError, match="commit and to abort"):
        boundaries.of_batch()
    boundaries.commit_transaction(after=RECORDS[1])
    boundaries.abort_transaction(after=RECORDS[1])
    with pytest.raises(ConnectError, match="after the same record"):
        boundaries.after_records(RECORDS)
