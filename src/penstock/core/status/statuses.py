"""Content of the status topic: the state of every connector and task, and the active topics (Java:
KafkaStatusBackingStore).

It changes only by ``replay``. Several workers write: the last record of a key counts, and a worker that reports an end
(``safe`` writes in Java) first checks by ``superseded`` that no other worker has taken over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from penstock.core.model.records import ConnectorStatus, StatusTopicRecord, TaskStatus, TopicStatus
from penstock.core.model.tasks import TaskId
from penstock.core.topic_tracking import ActiveTopics


@dataclass(slots=True)
class Statuses:
    connectors: dict[str, ConnectorStatus] = field(default_factory=dict)
    tasks: dict[str, dict[int, TaskStatus]] = field(default_factory=dict)
    topics: ActiveTopics = field(default_factory=ActiveTopics)

    def replay(self, record: StatusTopicRecord) -> None:
        match record:
            case ConnectorStatus(name, None):
                self.connectors.pop(name, None)
            case ConnectorStatus(name):
                known = self.connectors.get(name)
                own = known is not None and known.worker_id == record.worker_id
                if own or not _is_stale(record, known):
                    self.connectors[name] = record
            case TaskStatus(id, None):
                tasks = self.tasks.get(id.connector, {})
                tasks.pop(id.task, None)
                if not tasks:
                    self.tasks.pop(id.connector, None)
            case TaskStatus(id):
                if not _is_stale(record, self.task(id)):
                    self.tasks.setdefault(id.connector, {})[id.task] = record
            case TopicStatus():
                self.topics.replay(record)
            case _:
                assert_never(record)

    def task(self, id: TaskId) -> TaskStatus | None:
        return self.tasks.get(id.connector, {}).get(id.task)

    def tasks_of(self, connector: str) -> list[TaskStatus]:
        """Return the statuses of a connector's tasks, in order of their numbers."""
        return [status for _, status in sorted(self.tasks.get(connector, {}).items())]

    def superseded(self, status: ConnectorStatus | TaskStatus) -> bool:
        """Whether another worker has written a status of this instance in a later generation."""
        last = self.connectors.get(status.name) if isinstance(status, ConnectorStatus) else self.task(status.id)
        return last is not None and last.worker_id != status.worker_id and last.generation > status.generation


def _is_stale(record: ConnectorStatus | TaskStatus, known: ConnectorStatus | TaskStatus | None) -> bool:
    """Whether it reports, without a reason, the end of an instance that is RUNNING in the same or a later generation.

    Such a record is late: its worker has lost the task, or the restart has ended. Java ignores it for tasks, too.
    """
    return (
        record.state == "UNASSIGNED"
        and record.trace is None
        and known is not None
        and known.state == "RUNNING"
        and known.generation >= record.generation
    )
