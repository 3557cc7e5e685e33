"""Set of topics that a connector actively uses (KIP-558).

A topic becomes active with the first record that a task sends to it (source) or is given from it (sink), and stays so
until the set is reset or the connector deleted; restarts and new configurations keep it. The status topic holds one
record for each topic and connector; ``ActiveTopics`` has those that have been read. Tasks report a topic only at their
first record, so nothing is done per record; the worker that hosts the task writes the record, once, unless it has been
read or written already. A record that could not be written is tried again when a task starts that uses the topic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.core.model import actions
from penstock.core.model.flow import Flow, Output, Until
from penstock.core.model.messages import GetTopics, Refused, Reply, ResetTopics
from penstock.core.model.records import StatusTopicRecord, TopicStatus
from penstock.core.model.settings import HerderSettings
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import TaskId

DISABLED = "Topic tracking is disabled."
RESET_DISABLED = "Topic tracking reset is disabled"


@dataclass(slots=True)
class ActiveTopics:
    """Active topics by connector: those read, and those that this worker has written and not read back yet."""

    _read: dict[str, dict[str, TopicStatus]] = field(default_factory=dict)
    _written: set[tuple[str, str]] = field(default_factory=set)

    def replay(self, record: TopicStatus) -> None:
        self._written.discard((record.connector, record.topic))
        if record.task is None:
            topics = self._read.get(record.connector, {})
            topics.pop(record.topic, None)
            if not topics:
                self._read.pop(record.connector, None)
        else:
            self._read.setdefault(record.connector, {})[record.topic] = record

    def of(self, connector: str) -> list[str]:
        """Return the active topics, sorted by name; none for an unknown connector. Any thread may call this."""
        return sorted(self._read.get(connector, {}))

    def all(self) -> list[TopicStatus]:
        return [record for of_one in self._read.values() for record in of_one.values()]

    def pairs(self) -> list[tuple[str, str]]:
        """Return every active topic with its connector. Any thread may call this."""
        return [(topic, name) for name, topics in list(self._read.items()) for topic in list(topics)]

    def records(self, connector: str) -> list[TopicStatus]:
        return list(self._read.get(connector, {}).values())

    def discover(self, connector: str, topic: str, task: int, now: int) -> TopicStatus | None:
        """Return the record to write for a topic that a task has reported; None if it is active or about to be."""
        if topic in self._read.get(connector, {}) or (connector, topic) in self._written:
            return None
        self._written.add((connector, topic))
        return TopicStatus(topic, connector, task, now)

    def not_written(self, records: Iterable[StatusTopicRecord]) -> None:
        """Note that these records may be missing: the next task that reports such a topic has it written again."""
        for record in records:
            if isinstance(record, TopicStatus):
                self._written.discard((record.connector, record.topic))

    def tombstones(self, connector: str) -> list[TopicStatus]:
        """Return the records that empty a connector's set, also of topics that have not been read back yet."""
        written = [topic for name, topic in self._written if name == connector]
        return [TopicStatus(topic, connector, None) for topic in sorted({*self._read.get(connector, {}), *written})]

    def is_active(self, record: TopicStatus) -> bool:
        """Whether this record still counts: no other record of its key has been read since."""
        return self._read.get(record.connector, {}).get(record.topic) is record

    def orphaned(self, connector: str) -> list[TopicStatus]:
        """Return tombstones for records of a deleted connector that this worker has written and not read back yet."""
        return [TopicStatus(topic, connector, None) for name, topic in sorted(self._written) if name == connector]


@dataclass(slots=True)
class TopicTracking:
    """Active topics of a worker: it writes those that its tasks report, and answers and resets them."""

    settings: HerderSettings
    output: Output
    state: ClusterState
    topics: ActiveTopics

    def seen(self, id: TaskId, topic: str) -> None:
        """Write a topic that a task here has used for the first time since its start or the last reset."""
        if self.settings.topic_tracking and id.connector in self.state.connectors:
            record = self.topics.discover(id.connector, topic, id.task, self.output.now)
            if record is not None:
                self.output.emit(actions.AppendStatus((record,)))

    def deleted(self, connector: str) -> None:
        """Take back records that were written too late; called when the connector has been deleted."""
        if orphaned := self.topics.orphaned(connector):
            self.output.emit(actions.AppendStatus(tuple(orphaned)))

    def answer(self, request: GetTopics) -> Reply:
        self._check_enabled()
        return Reply(200, {request.name: {"topics": self.topics.of(request.name)}})

    def reset(self, request: ResetTopics) -> Flow:
        """200, as KIP-558 specifies (Java answers 202).

        Any worker writes the tombstones, also for a connector that has been deleted.
        """
        self._check_enabled()
        if not self.settings.allow_topics_reset:
            raise Refused(403, RESET_DISABLED)
        before = self.topics.records(request.name)
        if tombstones := self.topics.tombstones(request.name):
            self.output.emit(actions.AppendStatus(tuple(tombstones)))
            try:  # so that a client does not read topics that it has just reset
                is_read = lambda: not any(self.topics.is_active(r) for r in before)  # noqa: E731
                yield Until(is_read, self.settings.rebalance_wait_ms, "")
            except TimeoutError:
                self.output.log(
                    "WARNING", f"The reset of the active topics of {request.name} was written but not read back yet"
                )
        return Reply(200)

    def _check_enabled(self) -> None:
        if not self.settings.topic_tracking:
            raise Refused(403, DISABLED)
