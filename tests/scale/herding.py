"""Cost of events for the leader of a large cluster: reading the topics at its start, then single changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from penstock.core.group.membership import Assignment, Joined
from penstock.core.herder import Herder
from penstock.core.model.events import CaughtUp, ConfigRead, StatusRead
from penstock.core.model.records import (
    ConfigRecord,
    ConfigTopicRecord,
    ConnectorConfig,
    ConnectorStatus,
    StatusTopicRecord,
    TargetState,
    TaskConfig,
    TasksCommit,
    TaskStatus,
    TopicStatus,
)
from penstock.core.model.settings import HerderSettings
from penstock.core.model.tasks import TaskId
from scale.group import Group
from scale.measuring import cost

CHUNK = 500
"""Number of records of a topic in one event."""


def connector_config(name: str) -> dict[str, str]:
    """Return a configuration with a typical number of settings."""
    return {
        "name": name,
        "connector.class": "FileStreamSource",
        "tasks.max": "10",
        "topic": f"topic-of-{name}",
        "file": f"/var/lib/data/{name}.txt",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }


def config_topic(connectors: dict[str, int]) -> Iterator[ConfigTopicRecord]:
    """Yield the records that remain after compaction."""
    for name, tasks in connectors.items():
        config = connector_config(name)
        yield ConnectorConfig(name, config)
        for i in range(tasks):
            yield TaskConfig(TaskId(name, i), {**config, "task.class": "FileStreamSourceTask"})
        yield TasksCommit(name, tasks)


def status_topic(connectors: dict[str, int]) -> Iterator[StatusTopicRecord]:
    for number, (name, tasks) in enumerate(connectors.items()):
        worker = f"10.0.{number % 500 // 250}.{number % 250}:8083"
        yield ConnectorStatus(name, "RUNNING", worker, 7)
        yield TopicStatus(f"topic-of-{name}", name, 0, 1_700_000_000_000)
        for i in range(tasks):
            yield TaskStatus(TaskId(name, i), "RUNNING", worker, 7)


def run(connectors: int, tasks: int, workers: int) -> list[tuple[str, str]]:
    group = Group.of(connectors, tasks, workers)
    group.follow(group.decide())

    def read() -> Herder:
        configs = [ConfigRecord(i, record) for i, record in enumerate(config_topic(group.connectors))]
        return leader(group, configs, list(status_topic(group.connectors)))

    herder, start = cost(read)
    position = herder.state.position
    clock = _Clock(herder, position)
    some = sorted(group.connectors)[connectors // 2]
    return [
        ("reading configurations and statuses, s", f"{start.seconds:.2f}"),
        ("the state of configurations and statuses, MB", f"{start.megabytes:.0f}"),
        ("a rebalance completes, ms", clock.took(_joined(group, position))),
        ("a connector is paused, ms", clock.took(clock.read(TargetState(some, "PAUSED")))),
        ("a connector is added, ms", clock.took(clock.read(ConnectorConfig("new", connector_config("new"))))),
        ("a connector is deleted, ms", clock.took(clock.read(ConnectorConfig(some, None), TargetState(some, None)))),
        ("a task's status is read, ms", clock.took(StatusRead((TaskStatus(TaskId("new", 0), "RUNNING", "w", 8),)))),
    ]


def leader(group: Group, configs: list[ConfigRecord], statuses: list[StatusTopicRecord]) -> Herder:
    """Return the herder of a worker that has read both topics and leads the group."""
    herder = Herder(HerderSettings(worker_id="w"))
    for i in range(0, len(configs), CHUNK):
        herder.handle(ConfigRead(tuple(configs[i : i + CHUNK])), 1)
    for i in range(0, len(statuses), CHUNK):
        herder.handle(StatusRead(tuple(statuses[i : i + CHUNK])), 1)
    herder.handle(CaughtUp(), 1)
    herder.handle(_joined(group, len(configs)), 1)
    return herder


def _joined(group: Group, position: int) -> Joined:
    leader, running = min(group.running.items())
    told = Assignment(running.connectors, running.tasks, leader=leader, leader_url="http://leader/", offset=position)
    return Joined(group.generation, leader, 2, told, True)


class _Clock:
    def __init__(self, herder: Herder, position: int) -> None:
        self._herder, self._position = herder, position

    def read(self, *records: ConfigTopicRecord) -> ConfigRead:
        start = self._position
        self._position += len(records)
        return ConfigRead(tuple(ConfigRecord(start + i, record) for i, record in enumerate(records)))

    def took(self, event: Any) -> str:
        started = time.process_time()
        self._herder.handle(event, 2)
        return f"{(time.process_time() - started) * 1000:.1f}"
