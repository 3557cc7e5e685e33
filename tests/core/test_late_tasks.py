"""Task configurations that the leader writes late, after newer ones, do not stay."""

from __future__ import annotations

from penstock.core.model import messages as m
from simulation.ordered import Ordered


class Late(Ordered):
    def put_until_leader_is_called(self, config: dict[str, str | None]) -> int:
        """The number of the request that the worker which runs the connector sends to the leader."""
        known = set(self.calls)
        self.send("a", m.PutConfig("c", config))
        while not self.calls.keys() - known:
            assert self.step()
        (number,) = self.calls.keys() - known
        return number


def config(tasks_max: int) -> dict[str, str | None]:
    return {"connector.class": "Source", "tasks.max": str(tasks_max)}


def test_an_older_set_of_tasks_written_late_is_replaced() -> None:
    """b's request with two tasks is not answered in time, and the leader gets to it after the one with three."""
    cluster = Late()
    cluster.start("a")
    cluster.start("b")
    cluster.send("a", m.PutConfig("d", config(1)))
    cluster.go_on()
    cluster.send("a", m.PutConfig("c", config(1)))
    cluster.go_on()
    leader, owner = cluster.workers["a"].herder, cluster.workers["b"].herder
    assert leader.membership.is_leader
    assert "c" in owner.work.connectors

    older = cluster.put_until_leader_is_called(config(2))
    cluster.held_back = {f"a client {older}"}
    cluster.lose_answer(older)
    newer = cluster.put_until_leader_is_called(config(3))
    token = cluster.calls[newer][2]
    cluster.held_back.add(f"b ask {token}")
    cluster.go_on()
    assert len(leader.state.connectors["c"].task_configs) == 3
    cluster.held_back.remove(f"a client {older}")
    cluster.go_on()
    assert len(leader.state.connectors["c"].task_configs) == 2
    cluster.held_back.clear()
    cluster.go_on()
    assert len(leader.state.connectors["c"].task_configs) == 3
