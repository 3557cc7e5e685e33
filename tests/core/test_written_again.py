"""The same configuration is written again: its tasks go on, and are known to workers that start after a compaction."""

from __future__ import annotations

import pytest

from penstock.core.model import messages as m
from penstock.core.model.records import ConfigRecord, ConnectorConfig, TaskConfig, TasksCommit
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import TaskId
from simulation.ordered import Ordered

CONFIG: dict[str, str | None] = {"connector.class": "Source", "tasks.max": "4"}
TASKS = {TaskId("c", i) for i in range(4)}


def later(cluster: Ordered) -> None:
    for _ in range(3):
        cluster.pass_time(600_000)
        cluster.go_on()


def running(cluster: Ordered) -> list[TaskId]:
    return [id for worker in cluster.workers.values() for id in worker.tasks]


@pytest.mark.parametrize("patched", [False, True])
@pytest.mark.parametrize("exactly_once", [False, True])
def test_tasks_run_on_a_worker_that_starts_after_the_compaction(exactly_once: bool, patched: bool) -> None:
    cluster = Ordered(exactly_once=exactly_once)
    for name in ("a", "b"):
        cluster.start(name)
    cluster.send("a", m.CreateConnector("c", CONFIG))
    cluster.go_on()
    later(cluster)
    before = {id: task.run for worker in cluster.workers.values() for id, task in worker.tasks.items()}
    assert before.keys() == TASKS
    number = cluster.send("a", m.PatchConfig("c", {"tasks.max": "4"}) if patched else m.PutConfig("c", CONFIG))
    cluster.go_on()
    assert cluster.answered[number].status == 200  # type: ignore[union-attr]
    later(cluster)
    assert {id: task.run for worker in cluster.workers.values() for id, task in worker.tasks.items()} == before
    cluster.topics.compact()
    for name in ("b", "a"):
        cluster.kill(name)
        cluster.go_on()
        later(cluster)
        cluster.start(name)
        cluster.go_on()
        later(cluster)
        assert sorted(running(cluster)) == sorted(TASKS)


def state_of(*records: object) -> ClusterState:
    state = ClusterState()
    for i, record in enumerate(records):
        state.replay(ConfigRecord(i, record))  # type: ignore[arg-type]
    return state


ONE = (ConnectorConfig("c", {"a": "1"}), TaskConfig(TaskId("c", 0), {"n": "0"}), TasksCommit("c", 1))


@pytest.mark.parametrize(
    ("again", "restarted"),
    [
        (ONE, False),
        ((ConnectorConfig("c", {"a": "2"}), *ONE[1:]), True),
        ((ONE[0], TaskConfig(TaskId("c", 0), {"n": "1"}), ONE[2]), True),
        ((ONE[0], None, *ONE[1:]), True),
        (ONE[1:], True),
    ],
    ids=["same", "another configuration", "another task", "something between", "only the tasks"],
)
def test_only_tasks_directly_behind_their_own_configuration_go_on(again: tuple[object, ...], restarted: bool) -> None:
    """Others are restarted, as by a connector whose config providers have other values."""
    state = state_of(*ONE, *again)
    assert (state.connectors["c"].tasks_position != 3) is restarted
