"""The leader's answer that old tasks have been fenced comes when there are newer tasks already (KIP-618)."""

from __future__ import annotations

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.core.work import Phase
from simulation.ordered import Ordered


class Fencing(Ordered):
    def put(self, name: str, version: str) -> None:
        self.send("a", m.PutConfig(name, {"connector.class": "Source", "v": version}))


def test_a_later_generation_is_fenced_when_its_own_tasks_start() -> None:
    cluster = Fencing(exactly_once=True, fenced_writes=True)
    cluster.start("a")
    cluster.start("b")
    for name in ("d", "c"):
        cluster.put(name, "1")
        cluster.go_on()
    leader, owner, id = cluster.workers["a"].herder, cluster.workers["b"].herder, TaskId("c", 0)
    assert leader.membership.is_leader
    assert owner.work.tasks[id].phase is Phase.RUNNING

    cluster.put("c", "2")
    while not (owner.work.preparing("c") and cluster.calls):
        assert cluster.step()
    ((_, _, token),) = cluster.calls.values()
    cluster.held_back = {f"b ask {token}"}
    cluster.go_on()
    cluster.put("c", "3")
    cluster.go_on()
    assert owner.work.tasks[id].phase is Phase.PREPARING
    cluster.held_back.clear()
    cluster.go_on()
    assert owner.work.tasks[id].phase is Phase.RUNNING
    assert "c" not in owner.state.pending_fencing
