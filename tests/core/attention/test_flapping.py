"""Rows of the attention list about what runs now, but has ended again and again."""

from __future__ import annotations

from penstock.core.attention.flapping import End, flapping_rows
from penstock.core.attention.states import Part, Watched


def ends(*times: int) -> list[End]:
    return [End(time, f"a.B: x\nCaused by: c.D: at {time}") for time in times]


def watched(*states: str) -> Watched:
    parts = [Part(task, state, "one") for task, state in enumerate(states)]
    return Watched("orders", "STARTED", len(parts), (Part(None, "RUNNING", "one"), *parts))


def test_a_running_task_that_has_ended_often_flaps() -> None:
    (row,) = flapping_rows([watched("RUNNING", "RUNNING")], {("orders", 1): ends(1, 2, 3, 4)})
    assert (row.kind, row.connector, row.tasks, row.since_ms) == ("flapping", "orders", (1,), 1)
    assert row.why == "It has failed or was lost 4 times within the last hour, the last time with: c.D: at 4"
    assert row.step.command == "penstock history orders --events"


def test_few_ends_and_tasks_that_do_not_run_are_no_flapping() -> None:
    often = {("orders", 0): ends(1, 2), ("orders", 1): ends(1, 2, 3), ("gone", 0): ends(1, 2, 3)}
    assert list(flapping_rows([watched("RUNNING", "FAILED")], often)) == []


def test_the_connector_itself() -> None:
    (row,) = flapping_rows([watched("RUNNING")], {("orders", None): ends(1, 2, 3)})
    assert row.tasks == ()
