"""Requests that are answered from what this worker has read of the config and status topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.core.model import messages as m
from penstock.core.model.records import ConnectorStatus, TaskStatus
from penstock.core.model.tasks import TaskId
from penstock.core.status import health
from penstock.core.topic_tracking import check_allowed

if TYPE_CHECKING:
    from penstock.core.herder import Herder

UNDEFINED_VERSION = "undefined"
"""The version of plugins that do not tell one; null is the version of what is not there."""


def read(herder: Herder, request: m.ReadRequest) -> m.Reply:
    """Raises Refused."""
    match request:
        case m.ListConnectors(expand):
            return m.Reply(200, _list(herder, expand) if expand else list(herder.state.connectors))
        case m.GetConnector(name):
            return m.Reply(200, info(herder, name, _config(herder, name)))
        case m.GetConfig(name):
            return m.Reply(200, _config(herder, name))
        case m.GetTasks(name):
            _config(herder, name)
            tasks = herder.state.connectors[name].task_configs
            return m.Reply(200, [{"id": {"connector": name, "task": i}, "config": c} for i, c in enumerate(tasks)])
        case m.GetStatus(name):
            return m.Reply(200, status(herder, name))
        case m.GetTaskStatus(name, task):
            found = herder.statuses.task(TaskId(name, task))
            if found is None:
                raise m.Refused(404, f"No status found for task {name}-{task}")
            return m.Reply(200, {"id": task, **_instance(found)})
        case m.GetTopics(name):
            check_allowed(herder.settings.topic_tracking, herder.settings.allow_topics_reset, reset=False)
            return m.Reply(200, {name: {"topics": herder.statuses.topics.of(name)}})
        case m.GetHealth():
            return health.answer(herder)
        case _:
            raise TypeError(f"not a request to read: {request!r}")


def _config(herder: Herder, name: str) -> dict[str, str]:
    connector = herder.state.connectors.get(name)
    if connector is None:
        raise m.Refused(404, f"Connector {name} not found")
    return connector.config


def info(herder: Herder, name: str, config: dict[str, str]) -> dict[str, Any]:
    """A connector as ``GET /connectors/{name}`` shows it, with this configuration and the tasks it has now."""
    tasks = [{"connector": name, "task": id.task} for id in herder.state.tasks(name)]
    return {"name": name, "config": config, "tasks": tasks, "type": herder.plugins.kind(config)}


def status(herder: Herder, name: str) -> dict[str, Any]:
    """A connector as ``GET /connectors/{name}/status`` shows it. Raises Refused if nothing is known of its state."""
    connector = herder.statuses.connectors.get(name)
    if connector is None:
        raise m.Refused(404, f"No status found for connector {name}")
    known = herder.state.connectors.get(name)
    return {
        "name": name,
        "connector": _instance(connector),
        "tasks": [{"id": task.id.task, **_instance(task)} for task in herder.statuses.tasks_of(name)],
        "type": herder.plugins.kind(None if known is None else known.config),
    }


def _instance(status: ConnectorStatus | TaskStatus) -> dict[str, Any]:
    shown: dict[str, Any] = {"state": status.state, "worker_id": status.worker_id}
    if status.version != UNDEFINED_VERSION:
        shown["version"] = status.version
    if status.trace is not None:
        shown["trace"] = status.trace
    return shown


def _list(herder: Herder, expand: tuple[str, ...]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, connector in herder.state.connectors.items():
        entry: dict[str, Any] = {}
        if "status" in expand:
            if name not in herder.statuses.connectors:  # it is so new that nothing is known of it
                continue
            entry["status"] = status(herder, name)
        if "info" in expand:
            entry["info"] = info(herder, name, connector.config)
        shown[name] = entry
    return shown
