"""``?penstock=true``: an additional field of the status, on request."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model import messages as m
from penstock.core.model.records import TaskStatus
from penstock.core.model.tasks import TaskId

STATUS = "/connectors/lines/status"


@pytest.fixture
def connector(cluster: Any) -> None:
    """A connector with a task on each of two workers."""
    config = {"name": "lines", "connector.class": "FileStreamSink", "topics": "t", "tasks.max": "2"}
    cluster.submit("one", m.CreateConnector("lines", config))


def test_nothing_but_javas_fields_unless_asked_for(api: Any, cluster: Any, connector: None) -> None:
    cluster.figures = {"one": {0: {"records": 1}}}
    plain = api.get(STATUS).json()
    assert set(plain) == {"name", "connector", "tasks", "type"}
    assert api.get(f"{STATUS}?penstock=false").json() == plain
    asked = api.get(f"{STATUS}?penstock=true").json()
    del asked["penstock"]
    assert asked == plain


def test_tasks_of_all_workers_are_reported(api: Any, other: Any, cluster: Any, connector: None) -> None:
    where = {task["id"]: task["worker_id"] for task in api.get(STATUS).json()["tasks"]}
    assert sorted(where.values()) == ["one", "two"]
    cluster.figures = {worker: {0: {"from": worker}, 1: {"from": worker}} for worker in ("one", "two")}
    tasks = [{"id": id, "from": worker, "restart_policy": None} for id, worker in where.items()]
    told = {"connector": {"restart_policy": None}, "tasks": tasks, "unreachable": []}
    assert api.get(f"{STATUS}?penstock=true").json()["penstock"] == told
    assert other.get(f"{STATUS}?penstock=true").json()["penstock"] == told
    here = api.get(f"{STATUS}?penstock=here").json()["penstock"]["tasks"]
    assert [task["from"] for task in here] == ["one"]


def test_a_list_shows_the_tasks_of_all_workers_too(api: Any, other: Any, cluster: Any, connector: None) -> None:
    path = "/connectors?expand=status"
    plain = api.get(path).json()
    cluster.figures = {worker: {0: {"from": worker}, 1: {"from": worker}} for worker in ("one", "two")}
    assert api.get(path).json() == plain
    tasks = [{"id": task["id"], "from": task["worker_id"]} for task in plain["lines"]["status"]["tasks"]]
    assert {task["from"] for task in tasks} == {"one", "two"}
    told = {**plain["lines"]["status"], "penstock": {"tasks": tasks, "unreachable": []}}
    for each in (api, other):
        assert each.get(f"{path}&expand=info&penstock=true").json()["lines"]["status"] == told
    assert api.get("/connectors?penstock=true").json() == ["lines"]
    cluster.workers["one"].herder.statuses.tasks["lines"][0] = TaskStatus(TaskId("lines", 0), "RUNNING", "nobody")
    shown = api.get(f"{path}&penstock=true").json()["lines"]["status"]["penstock"]
    assert (shown["unreachable"], [task["id"] for task in shown["tasks"]]) == (["nobody"], [1])


def test_a_stalled_task_is_a_field_of_its_health(api: Any, cluster: Any, connector: None) -> None:
    plain = api.get(STATUS).json()
    cluster.stall(TaskId("lines", 1), "poll has not returned")
    plain["tasks"][1]["trace"] = "poll has not returned"
    assert api.get(STATUS).json() == plain
    for shown in (
        api.get(f"{STATUS}?penstock=true").json(),
        api.get("/connectors?expand=status&penstock=true").json()["lines"]["status"],
    ):
        assert [task["id"] for task in shown["penstock"]["tasks"] if task.get("stalled")] == [1]


def test_the_restart_policy_is_known_to_every_worker(api: Any, other: Any, cluster: Any) -> None:
    policy = {"penstock.restart.policy": "on-failure"}
    config = {"name": "lines", "connector.class": "FileStreamSink", "topics": "t", "tasks.max": "2", **policy}
    cluster.submit("one", m.CreateConnector("lines", config))
    untouched = {"restarts": 0, "next_restart": None, "reason": None}
    shown = api.get(f"{STATUS}?penstock=true").json()["penstock"]
    assert shown["connector"] == {"restart_policy": untouched}
    assert shown["tasks"] == [{"id": 0, "restart_policy": untouched}, {"id": 1, "restart_policy": untouched}]
    for _ in range(2):
        cluster.pass_time(1000)
        cluster.fail(TaskId("lines", 1), "Exception: broken\n\tat here")
    for each in (api, other):
        assert each.get(f"{STATUS}?penstock=true").json()["penstock"]["tasks"][1]["restart_policy"] == {
            "restarts": 1,
            "next_restart": "1970-01-01T00:02:02.000+00:00",
            "reason": "Exception: broken",
        }
    cluster.submit("one", m.SetTargetState("lines", "PAUSED"))
    paused = api.get(f"{STATUS}?penstock=true").json()["penstock"]["tasks"][1]["restart_policy"]
    assert paused["next_restart"] is None
    assert paused["reason"] == "It is not restarted while the connector is PAUSED"
    cluster.submit("one", m.SetTargetState("lines", "STARTED"))
    cluster.fail(TaskId("lines", 0), "org.apache.kafka.common.config.ConfigException: no topic")
    permanent = api.get(f"{STATUS}?penstock=true").json()["penstock"]["tasks"][0]["restart_policy"]
    assert permanent["next_restart"] is None
    assert permanent["reason"].endswith("until somebody acts: org.apache.kafka.common.config.ConfigException: no topic")


def test_the_restart_limit_is_shown(api: Any, cluster: Any) -> None:
    policy = {"penstock.restart.policy": "on-failure", "penstock.restart.max": "0"}
    config = {"name": "lines", "connector.class": "FileStreamSink", "topics": "t", **policy}
    cluster.submit("one", m.CreateConnector("lines", config))
    cluster.fail(TaskId("lines", 0), "Exception: broken")
    told = api.get(f"{STATUS}?penstock=true").json()["penstock"]["tasks"][0]["restart_policy"]
    reason = "It is not restarted any more: penstock.restart.max is 0"
    assert told == {"restarts": 0, "next_restart": None, "reason": reason}


def test_workers_that_do_not_answer_are_named(api: Any, cluster: Any, connector: None) -> None:
    herder = cluster.workers["one"].herder
    herder.statuses.tasks["lines"][0] = TaskStatus(TaskId("lines", 0), "RUNNING", "nobody")
    assert "nobody" in api.get(f"{STATUS}?penstock=true").json()["penstock"]["unreachable"]


def test_a_connector_that_is_not_there(api: Any) -> None:
    answer = api.get(f"{STATUS}?penstock=true")
    assert (answer.status_code, answer.json()["message"]) == (404, "No status found for connector lines")
