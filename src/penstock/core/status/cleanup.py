"""What is left in the status topic of connectors and tasks that are gone: the leader writes tombstones for it.

A worker may tell of a task's end, or of a topic, before it has read that the connector was deleted, so it is looked
for after every rebalance, and in every status as it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.core.model import actions
from penstock.core.model.flow import Flow
from penstock.core.model.records import ConnectorStatus, StatusTopicRecord, TaskStatus, TopicStatus
from penstock.core.model.state import ClusterState

if TYPE_CHECKING:
    from penstock.core.herder import Herder


def clear_all(herder: Herder) -> None:
    """Called on the leader after each rebalance."""
    _clear(herder, _known(herder))


def clear_late(herder: Herder, records: Iterable[StatusTopicRecord]) -> None:
    """Called with all that is read of the status topic."""
    if herder.is_leader:
        _clear(herder, records)


def clear_of(herder: Herder, connector: str) -> None:
    """Called on the leader when it has deleted the connector."""
    statuses = herder.statuses
    found: list[StatusTopicRecord] = [*statuses.tasks_of(connector)]
    if (own := statuses.connectors.get(connector)) is not None:
        found.append(own)
    _write(herder, [*found, *statuses.topics.records(connector)])


def _clear(herder: Herder, records: Iterable[StatusTopicRecord]) -> None:
    suspects = [record for record in records if _is_left(herder.state, record)]
    if not suspects:
        return

    def flow() -> Flow:
        yield actions.ReadConfigToEnd()  # the connector may be so new that only its status has been read
        if herder.is_leader:
            present = set(_known(herder))
            _write(herder, [record for record in suspects if record in present])

    herder.start(flow(), what="Clearing the status topic")


def _write(herder: Herder, records: Iterable[StatusTopicRecord]) -> None:
    gone = tuple(_tombstone(record) for record in records if _is_left(herder.state, record))
    if gone:
        herder.emit(actions.AppendStatus(gone))


def _known(herder: Herder) -> list[StatusTopicRecord]:
    statuses = herder.statuses
    tasks = [status for of_one in statuses.tasks.values() for status in of_one.values()]
    return [*tasks, *statuses.connectors.values(), *statuses.topics.all()]


def _is_left(state: ClusterState, record: StatusTopicRecord) -> bool:
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
