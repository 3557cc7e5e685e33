from __future__ import annotations

from penstock.pipeline.ledger import Ledger, Submitted


def offsets(found: list[Submitted]) -> list[tuple[int, int]]:
    return [(each.partition["p"], each.offset["o"]) for each in found]


def test_nothing_beyond_the_first_unacknowledged_may_be_committed() -> None:
    ledger = Ledger()
    entries = [ledger.submit({"p": 1}, {"o": i}) for i in range(4)]
    for i in (0, 1, 3):
        entries[i].acked = True
    assert offsets(ledger.committable()) == [(1, 1)]
    assert ledger.committable() == []
    entries[2].acked = True
    assert offsets(ledger.committable()) == [(1, 3)]


def test_partitions_do_not_wait_for_each_other() -> None:
    ledger = Ledger()
    ledger.submit({"p": 1}, {"o": 0})
    ledger.submit({"p": 2}, {"o": 7}).acked = True
    assert offsets(ledger.committable()) == [(2, 7)]
