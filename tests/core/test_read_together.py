"""A worker that is behind in the config topic reads at once what has happened one after the other."""

from __future__ import annotations

from penstock.core.model import messages as m
from simulation.cluster import Cluster


def together(channels: list[str]) -> int:
    """What comes first goes on, and records of the config topic are read together."""
    return int(channels == ["alone", "together"])


def test_a_connector_stopped_and_resumed_in_one_read_gets_its_tasks_back() -> None:
    """It has run on, but its tasks are gone: it is asked for them again."""
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
