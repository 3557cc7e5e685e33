"""The config topic is deleted, and made anew by a worker: its offsets begin again."""

from __future__ import annotations

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.core.work import Phase
from simulation.cluster import Cluster


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
