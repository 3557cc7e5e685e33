"""Detection of partitions that stand still while others move; no Kafka needed."""

from __future__ import annotations

from penstock.kafka.standstill import INITIAL_TOLERANCE, MAX_TOLERANCE, Standstill


def test_a_partition_that_stands_still_is_seen_though_another_moves():
    standstill = Standstill()
    assert not standstill.check({0: (360, 7011), 1: (5, 9)}, 100.0)
    assert not standstill.check({0: (360, 7011), 1: (6, 9)}, 100.0 + INITIAL_TOLERANCE)
    assert standstill.check({0: (360, 8000), 1: (7, 9)}, 100.1 + INITIAL_TOLERANCE) == {0: 360}


def test_moving_or_unneeded_partitions_do_not_stand_still():
    standstill = Standstill()
    for second in range(0, 100, 4):
        assert not standstill.check({0: (second, 1000)}, second)
    assert not standstill.check({}, 101.0)
    assert not standstill.check({0: (96, 1000)}, 102.0)


def test_the_time_of_an_outage_does_not_count():
    standstill = Standstill()
    standstill.check({0: (1, 2)}, 0.0)
    standstill.forget()
    assert not standstill.check({0: (1, 2)}, 2 * INITIAL_TOLERANCE)


def test_each_new_consumer_gets_more_time_until_nothing_is_missing():
    standstill, tolerated = Standstill(), []
    for _ in range(6):
        tolerated.append(standstill.tolerated)
        standstill.acted()
    assert tolerated == [
        INITIAL_TOLERANCE,
        2 * INITIAL_TOLERANCE,
        4 * INITIAL_TOLERANCE,
        8 * INITIAL_TOLERANCE,
        MAX_TOLERANCE,
        MAX_TOLERANCE,
    ]
    standstill.check({}, 0.0)
    assert standstill.tolerated == INITIAL_TOLERANCE
