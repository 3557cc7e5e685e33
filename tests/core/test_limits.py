"""Limits of connectors: within them every message can be encoded, beyond them requests and records are refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.group.membership import Assignment
from penstock.core.model import messages as m
from penstock.core.model import records as r
from penstock.core.model.limits import (
    MAX_NAME_BYTES,
    MAX_TASKS,
    config_problem,
    fitting,
    group_bytes,
    problem_of,
    task_configs_problem,
)
from penstock.core.model.tasks import TaskId
from penstock.kafka.group import protocol
from simulation.cluster import Cluster

pytestmark = pytest.mark.security

LONG = "n" * 40_000
CONFIG = {"connector.class": "Source"}


@pytest.mark.parametrize(
    "record",
    [
        r.ConnectorConfig(LONG, {}),
        r.ConnectorConfig(LONG, None),
        r.ConnectorConfig("\u00e9" * (MAX_NAME_BYTES // 2 + 1), {}),
        r.TaskConfig(TaskId(LONG, 0), {}),
        r.TaskConfig(TaskId("a", 2**31 - 1), {}),
        r.TasksCommit(LONG, 1),
        r.TasksCommit("a", 2**31),
        r.TasksCommit("a", -1),
        r.TaskCount("a", 2**31 - 1),
        r.TaskCount("a", -5),
        r.TargetState(LONG, "PAUSED"),
        r.RestartRequest(LONG),
        r.PolicyRestart(LONG, ()),
        r.PolicyRestart("a", (r.RestartCount(None, 1, 1, 1),) * (MAX_TASKS + 2)),
        r.LoggerLevel(LONG, "INFO"),
        r.SessionKey(b"", "HmacSHA256", 1),
        r.SessionKey(bytes(100_000), "HmacSHA256", 1),
        r.SessionKey(bytes(32), "x" * 100_000, 1),
        r.SessionKey(bytes(32), "HmacSHA256", -1),
    ],
)
def test_records_beyond_the_limits_are_not_accepted(record: r.ConfigTopicRecord) -> None:
    problem = problem_of(record)
    assert problem is not None
    assert "accepted" in problem or "milliseconds" in problem
    assert len(problem) < 200


def test_a_connector_at_all_limits_can_be_encoded() -> None:
    name = "\u00e9" * (MAX_NAME_BYTES // 2)
    tasks = tuple(TaskId(name, i) for i in range(MAX_TASKS))
    assert problem_of(r.ConnectorConfig(name, {})) is None
    assert problem_of(r.TasksCommit(name, MAX_TASKS)) is None
    assert problem_of(r.TaskConfig(tasks[-1], {})) is None
    assignment = Assignment((name,), tasks, (name,), tasks, 0, "leader", "http://w:8083/", 1)
    data = protocol.encode_assignment(assignment, 2)
    assert protocol.decode_assignment(data) == assignment
    assert len(protocol.encode_metadata("http://w:8083/", 1, assignment, 2)) > len(data)


@pytest.mark.parametrize("members", [1, 3])
def test_the_estimated_size_of_a_group_covers_its_assignments(members: int) -> None:
    connectors = {f"c{i}" * (i % 40 + 1): i % 7 for i in range(200)}
    everything = [(name, [TaskId(name, i) for i in range(count)]) for name, count in connectors.items()]
    written = 0
    for member in range(members):
        names = tuple(name for i, (name, _) in enumerate(everything) if i % members == member)
        tasks = tuple(task for _, tasks in everything for task in tasks if (task.task + 1) % members == member)
        written += len(protocol.encode_assignment(Assignment(names, tasks), 0)) - 20
    assert written <= group_bytes(connectors, members) < 3 * written


def test_what_runs_and_then_short_names_have_room_first() -> None:
    connectors = {"x" * 500: 1, "b": 1, "y" * 500: 1, "a": 1, "z" * 500: 0}
    assert fitting(connectors, (), 1, 10_000) == connectors
    assert fitting(connectors, (), 1, 1100) == {"b": 1, "a": 1, "z" * 500: 0}
    assert fitting(connectors, ("y" * 500,), 1, 1100) == {"b": 1, "y" * 500: 1, "a": 1}
    assert fitting(connectors, (), 1, 5) == {}
    assert list(fitting(connectors, ("y" * 500,), 1, 1100)) == ["b", "y" * 500, "a"]


def test_a_configuration_must_fit_into_a_record() -> None:
    assert config_problem({"a": "x" * 500_000}, 1_048_576) is None
    assert "1044480 are accepted" in str(config_problem({"a": "x" * 1_048_000}, 1_048_576))
    assert "1044480 are accepted" in str(config_problem({"a": "\x01" * 200_000}, 1_048_576))
    problem = task_configs_problem([{"a": "b"}, {"a": "x" * 2_000_000}], 1_048_576)
    assert problem is not None
    assert problem.startswith("task 1: the configuration has ")
    assert "10001 tasks; 0 to 10000 are accepted" in str(task_configs_problem([{}] * (MAX_TASKS + 1), 1_048_576))


def _cluster(**settings: Any) -> Cluster:
    cluster = Cluster([].append, lambda channels: 0, **settings)
    cluster.start("a")
    cluster.settle()
    return cluster


def _ask(cluster: Cluster, request: m.Request) -> m.Reply:
    number = cluster.send("a", request)
    cluster.settle()
    reply = cluster.answered[number]
    assert isinstance(reply, m.Reply)
    return reply


def test_a_configuration_that_is_too_large_is_refused_with_the_limit() -> None:
    cluster = _cluster(max_record_bytes=100_000)
    for request in (m.PutConfig("c", {**CONFIG, "x": "y" * 100_000}), m.CreateConnector("c", {"x": "y" * 100_000})):
        reply = _ask(cluster, request)
        assert reply.status == 400
        assert "95904 are accepted (max.request.size of the worker)" in reply.body["message"]
    assert _ask(cluster, m.PutConfig("c", {**CONFIG, "x": "y" * 50_000})).status == 201


def test_a_connector_that_the_group_has_no_room_for_is_refused_with_the_limit() -> None:
    cluster = _cluster(max_group_bytes=1000)
    assert _ask(cluster, m.PutConfig("a" * 300, CONFIG)).status == 201
    reply = _ask(cluster, m.PutConfig("b" * 300, CONFIG))
    assert reply.status == 400
    assert "penstock.group.max.bytes=1000 are accepted" in reply.body["message"]
    assert _ask(cluster, m.PutConfig("a" * 300, {**CONFIG, "x": "y"})).status == 200, "one that exists may change"
    assert _ask(cluster, m.DeleteConnector("a" * 300)).status == 204
    assert _ask(cluster, m.PutConfig("b" * 300, CONFIG)).status == 201
