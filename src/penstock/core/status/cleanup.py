"""Removal of the statuses of connectors and tasks that no longer exist: the leader writes their tombstones.

A worker may write the end of a task, or a topic, before it has read that the connector was deleted, so the leader looks
for such records after every rebalance, and in every status as it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.core.group.membership import Membership
from penstock.core.model import actions
from penstock.core.model.flow import Flow, Output
from penstock.core.model.records import ConnectorStatus, StatusTopicRecord, TaskStatus, TopicStatus
from penstock.core.model.state import ClusterState
from penstock.core.status.statuses import Statuses


@dataclass(slots=True)
class StatusCleanup:
    output: Output
    state: ClusterState
    statuses: Statuses
    membership: Membership

    def clear_all(self) -> None:
        """Remove all such statuses; called on the leader after each rebalance."""
        self._clear(self._known())

    def clear_late(self, records: Iterable[StatusTopicRecord]) -> None:
        """Remove those of these records; called with all records read from the status topic."""
        if self.membership.is_leader:
            self._clear(records)

    def clear_connector(self, connector: str) -> None:
        """Remove the statuses of a connector; called on the leader when it has deleted the connector."""
        statuses = self.statuses
        found: list[StatusTopicRecord] = [*statuses.tasks_of(connector)]
        if (own := statuses.connectors.get(connector)) is not None:
            found.append(own)
        self._write([*found, *statuses.topics.records(connector)])

    def _clear(self, records: Iterable[StatusTopicRecord]) -> None:
        suspects = [record for record in records if _is_orphaned(self.state, record)]
        if not suspects:
            return

        def flow() -> Flow:
            yield actions.ReadConfigToEnd()  # the connector may be so new that only its status has been read
            if self.membership.is_leader:
                present = set(self._known())
                self._write([record for record in suspects if record in present])

        self.output.start(flow(), what="Clearing the status topic")

    def _write(self, records: Iterable[StatusTopicRecord]) -> None:
        tombstones = tuple(_tombstone(record) for record in records if _is_orphaned(self.state, record))
        if tombstones:
            self.output.emit(actions.AppendStatus(tombstones))

    def _known(self) -> list[StatusTopicRecord]:
        statuses = self.statuses
        tasks = [status for of_one in statuses.tasks.values() for status in of_one.values()]
        return [*tasks, *statuses.connectors.values(), *statuses.topics.all()]


def _is_orphaned(state: ClusterState, record: StatusTopicRecord) -> bool:
    match record:
        case ConnectorStatus(name, state=written):
            return written is not None and name not in state.connectors
        case TaskStatus(id, state=written):
            return written is not None and state.task_config(id) is None
        case TopicStatus(_, connector, task):
            return task is not None and connector not in state.connectors


def _tombstone(record: StatusTopicRecord) -> StatusTopicRecord:
    match record:
        case ConnectorStatus(name):
            return ConnectorStatus(name, None)
        case TaskStatus(id):
            return TaskStatus(id, None)
        case TopicStatus(topic, connector):
            return TopicStatus(topic, connector, None)
