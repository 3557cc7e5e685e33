"""Skips in the control plane: stored in the config topic, given to tasks, deleted when they are over."""

from __future__ import annotations

import pytest

from penstock.core.model import messages as m
from penstock.core.model.actions import AppendConfig
from penstock.core.model.records import ConfigRecord, ConnectorConfig, RecordSkip, RestartRequest
from penstock.core.model.skips import Skip
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import TaskId
from simulation.cluster import Cluster

TASK = TaskId("c", 0)
STORED = Skip("t", 3, 7, 9, "id", "discard")
REQUEST = m.SkipRecords("c", "t", 3, ((7, 9),), "discard")


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster([].append)
    cluster.start("a")
    cluster.start("b")
    cluster.ask("a", m.PutConfig("c", {"connector.class": "Sink"}))
    return cluster


def skips(cluster: Cluster) -> list[RecordSkip]:
    return [record for record in cluster.topics.config if isinstance(record, RecordSkip)]


def body(reply: object) -> object:
    assert isinstance(reply, m.Reply), reply
    return reply.body


def shown(cluster: Cluster, worker: str) -> object:
    return body(cluster.ask(worker, m.ListSkips("c")))


def of_task(cluster: Cluster) -> tuple[Skip, ...]:
    return next(worker.tasks[TASK].skips for worker in cluster.workers.values() if TASK in worker.tasks)


@pytest.mark.parametrize("asked", ["a", "b"])
def test_every_worker_stores_a_skip_and_restarts_the_tasks_which_get_it(cluster: Cluster, asked: str) -> None:
    entry = {"topic": "t", "partition": 3, "first": 7, "last": 9, "to": "discard"}
    assert of_task(cluster) == ()
    assert body(cluster.ask(asked, REQUEST)) == {"connector": "c", "skips": [entry], "restarted": True}
    assert cluster.topics.config[-2:] == [RecordSkip("c", STORED), RestartRequest("c", include_tasks=True)]
    assert of_task(cluster) == (STORED,)
    assert shown(cluster, "a") == shown(cluster, "b") == {"connector": "c", "skips": [entry]}


def test_a_skip_without_a_restart_counts_from_the_next_start(cluster: Cluster) -> None:
    cluster.ask("a", m.SkipRecords("c", "t", 3, ((7, 9),), "discard", restart=False))
    assert of_task(cluster) == ()
    cluster.ask("a", m.RestartTask("c", 0))
    assert of_task(cluster) == (STORED,)


@pytest.mark.parametrize("settings", [{"distributed": False}, {"exactly_once": True, "fenced_writes": True}])
def test_a_standalone_worker_and_a_cluster_with_exactly_once_skip_too(settings: dict[str, bool]) -> None:
    cluster = Cluster([].append, **settings)
    cluster.start("a")
    cluster.ask("a", m.PutConfig("c", {"connector.class": "Sink"}))
    cluster.ask("a", REQUEST)
    assert of_task(cluster) == (STORED,)


def test_a_skip_that_a_task_has_passed_is_deleted(cluster: Cluster) -> None:
    cluster.ask("a", REQUEST)
    cluster.pass_skip(TASK, STORED)
    cluster.pass_skip(TASK, STORED)
    assert [record.over for record in skips(cluster)] == [False, True]
    assert shown(cluster, "b") == {"connector": "c", "skips": []}


@pytest.mark.parametrize(
    "other", [Skip("t", 3, 7, 7, "id"), Skip("t", 3, 7, 9, "older"), Skip("t", 3, 7, 9, "id", "dead-letters")]
)
def test_a_task_that_has_passed_an_earlier_skip_leaves_the_one_stored_in_its_place(
    cluster: Cluster, other: Skip
) -> None:
    cluster.ask("a", REQUEST)
    cluster.pass_skip(TASK, other)
    assert [record.over for record in skips(cluster)] == [False]


def test_skips_are_cancelled(cluster: Cluster) -> None:
    cluster.ask("a", REQUEST)
    reply = cluster.ask("b", m.CancelSkips("c"))
    assert isinstance(reply, m.Reply)
    assert reply.status == 204
    assert shown(cluster, "a") == {"connector": "c", "skips": []}


def test_a_deleted_connector_leaves_no_skips_to_the_next_of_its_name(cluster: Cluster) -> None:
    cluster.ask("a", REQUEST)
    cluster.ask("a", m.DeleteConnector("c"))
    assert skips(cluster)[-1].over
    cluster.ask("a", m.PutConfig("c", {"connector.class": "Sink"}))
    assert of_task(cluster) == ()
    assert cluster.workers["b"].herder.state.skips == {}


def test_a_worker_that_starts_deletes_the_skips_of_a_deleted_connector() -> None:
    cluster = Cluster([].append)
    config = ConnectorConfig("c", {"connector.class": "Sink"})
    cluster.topics.config += [config, RecordSkip("c", STORED), ConnectorConfig("c", None)]
    cluster.start("a")
    assert skips(cluster)[-1].over
    assert cluster.workers["a"].herder.state.orphaned_skips == set()


def test_a_worker_that_starts_deletes_skips_without_a_connector() -> None:
    cluster = Cluster([].append)
    cluster.topics.config.append(RecordSkip("c", STORED))  # the record that deleted it was compacted away
    cluster.start("a")
    assert skips(cluster)[-1].over
    cluster.ask("a", m.PutConfig("c", {"connector.class": "Sink"}))
    assert of_task(cluster) == ()


@pytest.mark.parametrize("earlier", [(), (Skip("t", 3, 1, 1, "id"),)])
def test_a_skip_that_is_stored_after_its_connector_was_deleted_is_deleted(
    cluster: Cluster, earlier: tuple[Skip, ...]
) -> None:
    deletion = (*(RecordSkip("c", each) for each in earlier), ConnectorConfig("c", None), RecordSkip("c", STORED))
    cluster.topics.append_config(cluster.workers["b"], AppendConfig(deletion, as_leader=False))
    cluster.settle()
    assert {record.skip: record.over for record in skips(cluster)} == dict.fromkeys((*earlier, STORED), True)
    cluster.ask("a", m.PutConfig("c", {"connector.class": "Sink"}))
    assert of_task(cluster) == ()
    assert body(cluster.ask("a", REQUEST))["restarted"]  # type: ignore[index]
    assert of_task(cluster) == (STORED,)


def test_a_skip_that_is_stored_after_its_connector_was_deleted_is_not_one_of_the_next_of_its_name() -> None:
    state = ClusterState()
    config = ConnectorConfig("c", {"connector.class": "Sink"})
    for offset, record in enumerate((config, ConnectorConfig("c", None), RecordSkip("c", STORED), config)):
        state.replay(ConfigRecord(offset, record))
    assert state.skips_of("c") == ()


def test_a_skip_whose_configuration_was_compacted_away_and_written_again_counts() -> None:
    state = ClusterState()
    state.replay(ConfigRecord(3, RecordSkip("c", STORED)))
    state.replay(ConfigRecord(5, ConnectorConfig("c", {})))
    assert state.skips_of("c") == (STORED,)


def test_more_than_a_thousand_records_are_refused(cluster: Cluster) -> None:
    reply = cluster.ask("a", m.SkipRecords("c", "t", 3, ((0, 1000),)))
    assert body(reply) == {
        "error_code": 400,
        "message": "1001 records are to be skipped; 1000 at a time are accepted",
    }
    cluster.ask("a", REQUEST)
    reply = cluster.ask("a", m.SkipRecords("c", "t", 0, ((0, 997),)))
    message = (
        "998 records are to be skipped, and 3 of connector c are to be skipped already; 1000 at a time are accepted"
    )
    assert body(reply) == {"error_code": 400, "message": message}


def test_a_connector_that_does_not_exist_is_not_found(cluster: Cluster) -> None:
    for request in (m.SkipRecords("d", "t", 0, ((0, 0),)), m.ListSkips("d"), m.CancelSkips("d")):
        reply = cluster.ask("a", request)
        assert isinstance(reply, m.Reply)
        assert reply.status == 404
