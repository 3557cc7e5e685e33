from __future__ import annotations

from dataclasses import replace

from faults.inflict import _KINDS
from faults.plan import KINDS, OF_THE_BROKER, PROCESSES, Plan

PLAN = Plan(seed=7, number=200, kinds=tuple(KINDS), between=4.0, freeze=(2.0, 40.0), broker=(2.0, 15.0))


def test_a_seed_decides_everything() -> None:
    assert PLAN.faults() == PLAN.faults()
    assert PLAN.faults() != replace(PLAN, seed=8).faults()


def test_all_kinds_and_processes_are_hit_within_the_times_that_are_asked_for() -> None:
    faults = PLAN.faults()
    assert {fault.kind for fault in faults} == KINDS.keys() == _KINDS.keys()
    assert {fault.process for fault in faults} == set(PROCESSES)
    assert 3.0 < sum(fault.pause for fault in faults) / 200 < 5.0
    for fault in faults:
        assert 2.0 <= fault.seconds <= (15.0 if fault.kind in OF_THE_BROKER else 40.0)
        assert 0.0 <= fault.choice < 1.0


def test_longer_freezes_change_nothing_else() -> None:
    def rest(plan: Plan) -> list[tuple[object, ...]]:
        return [(fault.kind, fault.pause, fault.process, fault.choice) for fault in plan.faults()]

    assert rest(PLAN) == rest(replace(PLAN, freeze=(2.0, 5.0)))
