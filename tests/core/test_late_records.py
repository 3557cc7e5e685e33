"""Records of the config topic that are written late, are read together, or begin again at offset 0."""

from __future__ import annotations

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.core.work import Phase
from simulation.cluster import Cluster
from simulation.ordered import Ordered


class Late(Ordered):
    def put_until_leader_is_called(self, config: dict[str, str | None]) -> int:
        """Return the number of the request that the connector's worker sends to the leader."""
        known = set(self.calls)
        self.send("a", m.PutConfig("c", config))
        while not self.calls.keys() - known:
            assert self.step()
        (number,) = self.calls.keys() - known
        return number


def config(tasks_max: int) -> dict[str, str | None]:
    return {"connector.class": "Source", "tasks.max": str(tasks_max)}


def test_an_older_set_of_tasks_written_late_is_replaced() -> None:
    """b's request with two tasks is not answered in time, and the leader handles it after the one with three."""
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


def together(channels: list[str]) -> int:
    """Choose the channel to go on with: the first, except that records of the config topic are read together."""
    return int(channels == ["alone", "together"])


def test_a_connector_stopped_and_resumed_in_one_read_gets_its_tasks_back() -> None:
    """The connector was not stopped, but its tasks were removed: it is asked for task configurations again."""
    cluster = Cluster([].append, together)
    cluster.start("a")
    cluster.start("b")
    cluster.settle()
    for name in ("d", "c"):
        cluster.ask("a", m.PutConfig(name, {"connector.class": "Source", "tasks.max": "2"}))
    leader, owner = cluster.workers["a"].herder, cluster.workers["b"].herder
    assert leader.membership.is_leader
    run = owner.work.connectors["c"]

    cluster.topics.block_reading("b")
    cluster.ask("a", m.StopConnector("c"))
    cluster.ask("a", m.SetTargetState("c", "STARTED"))
    assert leader.state.tasks("c") == []
    cluster.unblock_reading("b")
    cluster.settle()
    assert owner.work.connectors["c"] is run
    assert len(leader.state.tasks("c")) == 2
    assert {id for w in cluster.workers.values() for id in w.tasks} >= set(leader.state.tasks("c"))


def test_connectors_are_distributed_after_the_config_topic_was_created_again() -> None:
    cluster = Cluster([].append)
    cluster.start("a")
    cluster.start("b")
    for name in ("c", "d"):
        cluster.ask("a", m.PutConfig(name, {"connector.class": "Source", "tasks.max": "2"}))
    cluster.topics.config.clear()
    cluster.ask("a", m.PutConfig("e", {"connector.class": "Source", "tasks.max": "2"}))
    rebalances = cluster.group.generation
    cluster.pass_time(10_000)
    assert cluster.group.generation == rebalances
    tasks = [task for worker in cluster.workers.values() for task in worker.herder.work.tasks.values()]
    assert {task.id for task in tasks} == {TaskId(name, i) for name in "cde" for i in range(2)}
    assert {task.phase for task in tasks} == {Phase.RUNNING}


def test_a_change_of_the_runtimes_settings_alone_restarts_the_tasks() -> None:
    """The connector's task configurations stay the same, but the tasks must get their new converters."""
    for setting in ("value.converter", "errors.tolerance", "transforms"):
        cluster, id = Cluster([].append, together), TaskId("c", 0)
        cluster.start("a")
        cluster.ask("a", m.PutConfig("c", {"connector.class": "Source", "tasks.max": "1"}))
        cluster.settle()
        work = cluster.workers["a"].herder.work
        before = work.tasks[id].run
        cluster.ask("a", m.PutConfig("c", {"connector.class": "Source", "tasks.max": "1", setting: "all"}))
        cluster.settle()
        assert work.tasks[id].run > before
        assert work.tasks[id].phase is Phase.RUNNING
