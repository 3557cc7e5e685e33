"""Requests that are answered from the state that this worker has read from the config and status topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from penstock.core.config.versions import UNDEFINED_VERSION
from penstock.core.model import messages as m
from penstock.core.model.records import ConnectorStatus, TaskStatus
from penstock.core.model.settings import PluginFacts
from penstock.core.model.skips import Skip
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import TaskId
from penstock.core.status.health import WorkerHealth
from penstock.core.status.statuses import Statuses
from penstock.core.topic_tracking import TopicTracking


def config_of(state: ClusterState, name: str, unknown: str = "Connector {} not found") -> dict[str, str]:
    """Return the connector's configuration; raises Refused (404) with the message ``unknown`` if there is none."""
    connector = state.connectors.get(name)
    if connector is None:
        raise m.Refused(404, unknown.format(name))
    return connector.config


@dataclass(slots=True)
class Reads:
    plugins: PluginFacts
    state: ClusterState
    statuses: Statuses
    topics: TopicTracking
    health: WorkerHealth

    def answer(self, request: m.ReadRequest) -> m.Reply:
        """Return the reply. Raises Refused."""
        match request:
            case m.ListConnectors(expand):
                return m.Reply(200, self._list(expand) if expand else list(self.state.connectors))
            case m.GetConnector(name):
                return m.Reply(200, self.info(name, config_of(self.state, name)))
            case m.GetConfig(name):
                return m.Reply(200, config_of(self.state, name))
            case m.GetTasks(name):
                config_of(self.state, name)
                tasks = self.state.connectors[name].task_configs
                return m.Reply(200, [{"id": {"connector": name, "task": i}, "config": c} for i, c in enumerate(tasks)])
            case m.GetStatus(name):
                return m.Reply(200, self.status(name))
            case m.GetTaskStatus(name, task):
                found = self.statuses.task(TaskId(name, task))
                if found is None:
                    raise m.Refused(404, f"No status found for task {name}-{task}")
                return m.Reply(200, {"id": task, **_instance(found)})
            case m.ListSkips(name):
                config_of(self.state, name)
                return m.Reply(200, {"connector": name, "skips": [shown(each) for each in self.state.skips_of(name)]})
            case m.GetTopics():
                return self.topics.answer(request)
            case m.GetHealth():
                return self.health.answer()
            case _:
                assert_never(request)

    def info(self, name: str, config: dict[str, str]) -> dict[str, Any]:
        """Return a connector as ``GET /connectors/{name}`` shows it, with this configuration and its present tasks."""
        tasks = [{"connector": name, "task": id.task} for id in self.state.tasks(name)]
        return {"name": name, "config": config, "tasks": tasks, "type": self.plugins.kind(config)}

    def status(self, name: str) -> dict[str, Any]:
        """Return a connector as ``GET /connectors/{name}/status`` shows it. Raises Refused if it has no status."""
        connector = self.statuses.connectors.get(name)
        if connector is None:
            raise m.Refused(404, f"No status found for connector {name}")
        known = self.state.connectors.get(name)
        return {
            "name": name,
            "connector": _instance(connector),
            "tasks": [{"id": task.id.task, **_instance(task)} for task in self.statuses.tasks_of(name)],
            "type": self.plugins.kind(None if known is None else known.config),
        }

    def _list(self, expand: tuple[str, ...]) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for name, connector in self.state.connectors.items():
            entry: dict[str, Any] = {}
            if "status" in expand:
                if name not in self.statuses.connectors:  # it is so new that it has no status
                    continue
                entry["status"] = self.status(name)
            if "info" in expand:
                entry["info"] = self.info(name, connector.config)
            shown[name] = entry
        return shown


def shown(skip: Skip) -> dict[str, Any]:
    """Return a skip as the REST interface shows it."""
    return {
        "topic": skip.topic,
        "partition": skip.partition,
        "first": skip.first,
        "last": skip.last,
        "to": skip.to,
    }


def _instance(status: ConnectorStatus | TaskStatus) -> dict[str, Any]:
    shown: dict[str, Any] = {"state": status.state, "worker_id": status.worker_id}
    if status.version != UNDEFINED_VERSION:
        shown["version"] = status.version
    if status.trace is not None:
        shown["trace"] = status.trace
    return shown
