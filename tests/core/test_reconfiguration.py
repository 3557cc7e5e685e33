"""Connectors whose task configurations can't be made for the moment."""

from __future__ import annotations

from itertools import pairwise

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from simulation.ordered import Ordered


def test_tasks_that_can_not_be_configured_are_asked_for_again_at_growing_intervals() -> None:
    cluster = Ordered()
    times: list[int] = []

    def trace(line: str) -> None:
        if "cannot make tasks of c" in line:
            times.append(cluster.now)

    cluster.trace = trace
    cluster.without_tasks.add("c")
    cluster.start("a")
    cluster.send("a", m.CreateConnector("c", {"connector.class": "Source", "tasks.max": "1"}))
    cluster.go_on()
    while len(times) < 5:
        cluster.pass_time(10)
        cluster.go_on()
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert all(2 * earlier <= later + 20 for earlier, later in pairwise(waits)), waits
    cluster.without_tasks.clear()
    cluster.pass_time(120_000)
    cluster.go_on()
    assert TaskId("c", 0) in cluster.workers["a"].tasks
