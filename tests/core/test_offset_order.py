"""Offset changes come after the last commit of every task of older generations, on whichever worker it ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from simulation.ordered import Ordered

CONFIG: dict[str, str | None] = {"connector.class": "Source", "tasks.max": "1"}
OFFSETS: m.OffsetChanges = (({"file": "f"}, {"at": 7}),)
Change = Callable[["Writing"], int]


class Writing(Ordered):
    """Workers a, which leads, and b, which runs the task of connector c; that takes a while to end."""

    def __init__(self, **settings: bool) -> None:
        super().__init__(**settings)
        self.traces: list[str] = []
        self.trace = self.traces.append
        self.start("a")
        self.start("b")
        for name in ("d", "c"):
            self.send("a", m.CreateConnector(name, CONFIG))
            self.go_on()
        assert self.workers["a"].herder.membership.is_leader
        assert TaskId("c", 0) in self.workers["b"].herder.work.tasks
        self.held_back.add("b task c-0")

    @property
    def written(self) -> bool:
        return "a: writes offsets of c" in self.traces

    def recreate(self) -> int:
        self.send("a", m.DeleteConnector("c"))
        self.go_on()
        return self.send("a", m.CreateConnector("c", CONFIG, initial_offsets=OFFSETS))

    def alter(self) -> int:
        self.send("a", m.StopConnector("c"))
        self.go_on()
        return self.send("a", m.AlterOffsets("c", OFFSETS))

    def reset(self) -> int:
        self.send("a", m.StopConnector("c"))
        self.go_on()
        return self.send("a", m.ResetOffsets("c"))


CHANGES = pytest.mark.parametrize("change", [Writing.recreate, Writing.alter, Writing.reset], ids=lambda c: c.__name__)


@CHANGES
def test_offsets_are_written_when_the_task_on_another_worker_has_ended(change: Change) -> None:
    cluster = Writing()
    number = change(cluster)
    cluster.go_on()
    assert not cluster.written
    assert number not in cluster.answered
    cluster.held_back.clear()
    cluster.go_on()
    assert cluster.written
    assert cluster.answered[number].status in (200, 201)  # type: ignore[union-attr]


@CHANGES
def test_offsets_are_written_when_the_worker_of_the_task_is_gone(change: Change) -> None:
    cluster = Writing()
    number = change(cluster)
    cluster.go_on()
    assert not cluster.written
    cluster.kill("b")
    cluster.go_on()
    assert cluster.written
    assert cluster.answered[number].status in (200, 201)  # type: ignore[union-attr]


def test_initial_offsets_of_a_new_name_wait_for_nothing() -> None:
    cluster = Writing()
    cluster.send("a", m.StopConnector("c"))
    cluster.go_on()
    number = cluster.send("a", m.CreateConnector("e", CONFIG, initial_offsets=OFFSETS))
    cluster.go_on()
    assert cluster.answered[number].status == 201  # type: ignore[union-attr]


def test_with_exactly_once_the_producers_of_the_deleted_tasks_are_fenced_first() -> None:
    cluster = Writing(exactly_once=True, fenced_writes=True)
    cluster.held_back.clear()
    number = cluster.recreate()
    cluster.go_on()
    assert cluster.answered[number].status == 201  # type: ignore[union-attr]
    fenced = cluster.traces.index("a: fences the producers of 1 tasks of c")
    assert fenced < cluster.traces.index("a: writes offsets of c")
