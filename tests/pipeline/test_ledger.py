from __future__ import annotations

from penstock.pipeline.ledger import Ledger


def offsets(*values: int) -> list[dict[str, int]]:
    return [{"o": value} for value in values]


def test_nothing_beyond_the_first_unacknowledged_may_be_committed() -> None:
    ledger = Ledger()
    acked = ledger.submit({"p": 1}, offsets(0, 1, 2, 3))
    for i in (0, 1, 3):
        acked[i] = 1
    assert ledger.committable() == [({"p": 1}, {"o": 1})]
    assert ledger.committable() == []
    acked[2] = 1
    assert ledger.committable() == [({"p": 1}, {"o": 3})]
    assert ledger.committable() == []


def test_later_records_wait_for_earlier_ones() -> None:
    ledger = Ledger()
    earlier, later = ledger.submit({"p": 1}, offsets(1, 2)), ledger.submit({"p": 1}, offsets(3))
    later[0] = earlier[1] = 1
    assert ledger.committable() == []
    earlier[0] = 1
    assert ledger.committable() == [({"p": 1}, {"o": 3})]


def test_partitions_do_not_wait_for_each_other() -> None:
    ledger = Ledger()
    ledger.submit({"p": 1, "q": 2}, offsets(0))
    ledger.submit({"p": 2}, offsets(7))[0] = 1
    assert ledger.committable() == [({"p": 2}, {"o": 7})]
    ledger.submit({"q": 2, "p": 1}, offsets(1))[0] = 1
    assert ledger.committable() == []
