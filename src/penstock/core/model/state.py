"""State that the config topic describes up to one position (Java: KafkaConfigBackingStore and ClusterConfigState).

Rule 1: this state changes only by ``replay``, one record after the other, so that all workers that have read up to the
same position have the same state. A connector's task configurations count only once they are committed: ``task-``
records are kept aside until a ``commit-`` record gives their number; if some are missing, the connector is inconsistent
and has no tasks until they are written again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never

from penstock.core.group.membership import ClusterConfigSnapshot
from penstock.core.model.records import (
    ConfigRecord,
    ConnectorConfig,
    LoggerLevel,
    PolicyRestart,
    RecordSkip,
    RestartCount,
    RestartRequest,
    SessionKey,
    TargetState,
    TaskConfig,
    TaskCount,
    TasksCommit,
)
from penstock.core.model.skips import Skip
from penstock.core.model.tasks import TaskId

STARTED: Final = "STARTED"
PAUSED: Final = "PAUSED"
STOPPED: Final = "STOPPED"


@dataclass(slots=True)
class ConfiguredConnector:
    """A connector with its committed ``task_configs``, by number of the task."""

    config: dict[str, str]
    task_configs: list[dict[str, str]] = field(default_factory=list)
    tasks_position: int = -1
    """Position after the ``commit-`` record of the task configurations."""
    applied_config: dict[str, str] | None = None
    """Configuration from which the task configurations were generated; None if none have been committed."""
    rewritten_at: int = -1
    """Position after the record that wrote the same configuration again, which the tasks were generated from."""
    inconsistent: bool = False
    known_tasks: set[int] = field(default_factory=set)
    """Numbers of tasks that it has or had: Java keeps their configurations until the connector is deleted."""
    restarts: dict[int | None, RestartCount] = field(default_factory=dict)
    """Restarts in a row by ``penstock.restart.policy``, by task; None is the connector itself.

    A new configuration or a client's restart request ends the row.
    """

    def has_tasks(self, configs: Mapping[int, dict[str, str]]) -> bool:
        """Return whether these are the committed task configurations."""
        return dict(enumerate(self.task_configs)) == configs


@dataclass(slots=True)
class ClusterState:
    position: int = 0
    """Position after the last record read; workers exchange it in the group protocol."""
    connectors: dict[str, ConfiguredConnector] = field(default_factory=dict)
    target_states: dict[str, str] = field(default_factory=dict)
    target_times: dict[str, int | None] = field(default_factory=dict)
    """Timestamps of the records of ``target_states``."""
    target_bulks: dict[str, str] = field(default_factory=dict)
    """Bulk actions that requested ``target_states``, for those that were requested by one."""
    task_counts: dict[str, int] = field(default_factory=dict)
    """Last ``tasks-fencing-`` record of each connector; kept when the connector is deleted (KIP-618)."""
    pending_fencing: set[str] = field(default_factory=set)
    """Connectors whose tasks were committed after their last ``tasks-fencing-`` record."""
    deleted: dict[str, int] = field(default_factory=dict)
    """Position after the record that deleted each connector that does not exist any more."""
    session_key: SessionKey | None = None
    skips: dict[str, dict[tuple[str, int, int], Skip]] = field(default_factory=dict)
    """Records that connectors leave out, by connector and ``Skip.key``.

    Those of a deleted connector stay until their tombstones are read; a new connector of its name has none of them.
    """
    orphaned_skips: set[str] = field(default_factory=set)
    """Deleted connectors with such skips."""
    layout_position: int = 0
    """Position after the last record that changed which connectors and tasks are to be distributed."""
    _uncommitted: dict[str, dict[int, dict[str, str]]] = field(default_factory=dict)
    _counts: tuple[int, dict[str, int]] = (-1, {})
    """Number of tasks by connector at a ``layout_position``: shared by snapshots, never changed."""

    def replay(self, entry: ConfigRecord) -> None:
        """Apply the next record. One that could not be understood, and a logger's level, only move the position."""
        if entry.offset < self.position:
            self._begin_again()
        self.position = entry.offset + 1
        match entry.record:
            case ConnectorConfig(name, config):
                self._configure(name, config)
            case TargetState(name, state, bulk=bulk):
                self._forget_target(name)
                if state is not None:
                    self.target_states[name], self.target_times[name] = state, entry.time_ms
                    if bulk is not None:
                        self.target_bulks[name] = bulk
            case TaskConfig(id, task_config):
                if task_config is None:
                    self._uncommitted.get(id.connector, {}).pop(id.task, None)
                else:
                    self._uncommitted.setdefault(id.connector, {})[id.task] = task_config
            case TasksCommit(name, count):
                self._commit(name, count)
            case TaskCount(name, count):
                self.task_counts[name] = count
                self.pending_fencing.discard(name)
            case RestartRequest(name):
                self._restarted(name, ())
            case PolicyRestart(name, chosen, others):
                self._restarted(name, (*chosen, *others))
            case SessionKey() as key:
                self.session_key = key
            case RecordSkip(name, skip, over):
                self._skip(name, skip, over)
            case LoggerLevel() | None:
                pass
            case _:
                assert_never(entry.record)

    def _configure(self, name: str, config: dict[str, str] | None) -> None:
        known = self.connectors.get(name)
        if config is None:
            if self.connectors.pop(name, None) is not None:
                self.layout_position = self.deleted[name] = self.position
            if name in self.skips:
                self.orphaned_skips.add(name)
            self._uncommitted.pop(name, None)
            self._forget_target(name)
        elif known is None:
            self.connectors[name] = ConfiguredConnector(config)
            self.deleted.pop(name, None)
            self.layout_position = self.position
        else:
            known.rewritten_at = self.position if known.config == config == known.applied_config else -1
            known.config = config
            known.restarts = {}

    def _skip(self, name: str, skip: Skip, over: bool) -> None:
        if not over:
            self.skips.setdefault(name, {})[skip.key] = skip
            if name in self.deleted:
                self.orphaned_skips.add(name)
            return
        left = self.skips.get(name, {})
        left.pop(skip.key, None)
        if not left:
            self.skips.pop(name, None)
            self.orphaned_skips.discard(name)

    def orphan_skips(self) -> None:
        """Note which skips have no connector. Called when the topic was read to its end: a configuration that was
        written again is behind the skips.
        """
        self.orphaned_skips |= self.skips.keys() - self.connectors.keys()

    def _forget_target(self, name: str) -> None:
        self.target_states.pop(name, None)
        self.target_times.pop(name, None)
        self.target_bulks.pop(name, None)

    def _restarted(self, name: str, counts: tuple[RestartCount, ...]) -> None:
        if name in self.connectors:
            self.connectors[name].restarts = {each.task: each for each in counts}

    def _begin_again(self) -> None:
        """Forget positions: the topic has been deleted and created again, so they no longer mean anything."""
        self.layout_position, self._counts = 0, (-1, {})
        self.deleted.clear()
        for connector in self.connectors.values():
            connector.tasks_position = 0

    def _commit(self, name: str, count: int) -> None:
        configs = self._uncommitted.pop(name, {})
        connector = self.connectors.get(name)
        if connector is None:  # compaction may leave the tasks of a deleted connector behind
            return
        if self.position == connector.rewritten_at + count + 1 and connector.has_tasks(configs):
            return
        self.pending_fencing.add(name)
        connector.inconsistent = any(i not in configs for i in range(count))
        connector.task_configs = [] if connector.inconsistent else [configs[i] for i in range(count)]
        if not connector.inconsistent:
            connector.known_tasks |= configs.keys()
        connector.applied_config = connector.config
        connector.tasks_position = self.layout_position = self.position

    def target_state(self, name: str) -> str:
        return self.target_states.get(name, STARTED)

    def tasks(self, name: str) -> list[TaskId]:
        connector = self.connectors.get(name)
        return [] if connector is None else [TaskId(name, i) for i in range(len(connector.task_configs))]

    def task_config(self, id: TaskId) -> dict[str, str] | None:
        connector = self.connectors.get(id.connector)
        if connector is None or not 0 <= id.task < len(connector.task_configs):
            return None
        return connector.task_configs[id.task]

    def skips_of(self, name: str) -> tuple[Skip, ...]:
        """Return the records that the connector's tasks leave out."""
        return () if name in self.orphaned_skips else tuple(self.skips.get(name, {}).values())

    def knows_task(self, id: TaskId) -> bool:
        """Whether the task exists or has existed."""
        connector = self.connectors.get(id.connector)
        return connector is not None and id.task in connector.known_tasks

    def snapshot(self) -> ClusterConfigSnapshot:
        if self._counts[0] != self.layout_position:
            self._counts = (self.layout_position, {n: len(c.task_configs) for n, c in self.connectors.items()})
        return ClusterConfigSnapshot(self.position, self._counts[1])
