from __future__ import annotations

import weakref

from penstock.api.batch import Batch, SourceOrigin
from penstock.pipeline.source.ledger import Ledger, SourceOffsetPair, SubmittedBatch


def submitted(ledger: Ledger, *places: tuple[int, int]) -> SubmittedBatch:
    """Submit a batch with records of these source partitions and offsets."""
    origin = SourceOrigin([{"p": p} for p, _ in places], [{"o": o} for _, o in places])
    batch = SubmittedBatch(Batch.of("t", [b""] * len(places), origin=origin))
    ledger.submit(batch)
    return batch


def offsets(found: list[SourceOffsetPair]) -> list[tuple[int, int]]:
    return [(partition["p"], offset["o"]) for partition, offset in found]


def test_nothing_beyond_the_first_unacknowledged_may_be_committed() -> None:
    ledger = Ledger()
    batch = submitted(ledger, (1, 0), (1, 1), (1, 2), (1, 3))
    for row in (0, 1, 3):
        batch.ack(row)
    assert offsets(ledger.committable()) == [(1, 1)]
    assert ledger.committable() == []
    batch.ack(2)
    assert offsets(ledger.committable()) == [(1, 3)]
    assert ledger.committable() == []


def test_partitions_do_not_wait_for_each_other() -> None:
    ledger = Ledger()
    submitted(ledger, (1, 0), (2, 7)).ack(1)
    assert offsets(ledger.committable()) == [(2, 7)]


def test_offsets_that_no_record_carries_come_together_after_all_records_before() -> None:
    """Such as the identity of what was read, and the offset in it that is the first: one without the other would be a
    position in something else.
    """
    ledger = Ledger()
    before = submitted(ledger, (1, 5), (2, 5))
    before.ack(1)
    ledger.submit_acknowledged(SourceOrigin([{"p": 1}, {"p": 9}], [{"o": 0}, {"o": 7}]))
    after = submitted(ledger, (1, 1), (2, 6))
    for row in range(2):
        after.ack(row)
    assert offsets(ledger.committable()) == [(2, 6)]
    before.ack(0)
    assert offsets(ledger.committable()) == [(1, 1), (9, 7)]
    assert ledger.committable() == []


def test_batches_wait_for_those_before_them() -> None:
    ledger = Ledger()
    first, second = submitted(ledger, (1, 0), (2, 0)), submitted(ledger, (1, 1), (2, 1), (3, 1))
    for row in range(3):
        second.ack(row)
    first.ack(1)
    assert offsets(ledger.committable()) == [(2, 1), (3, 1)]
    first.ack(0)
    assert offsets(ledger.committable()) == [(1, 1)]
    assert ledger.committable() == []


def test_complete_batches_are_forgotten_at_once() -> None:
    """Origins hold their records, which may be large, and commits are rare."""
    ledger = Ledger()
    first, second, third = (submitted(ledger, (1, at), (2, at)) for at in range(3))
    held = weakref.ref(first)
    for batch in (first, third):
        for row in range(2):
            batch.ack(row)
    second.ack(1)
    del first, batch
    assert offsets(ledger.settled()) == [(1, 0), (2, 0)]
    assert held() is None
    assert ledger.settled() == []
    assert offsets(ledger.committable()) == [(2, 2)]
    second.ack(0)
    assert offsets(ledger.settled()) == [(1, 2)]
    assert ledger.committable() == []
