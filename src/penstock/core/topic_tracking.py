"""The set of topics that a connector actively uses (KIP-558).

A topic becomes active with the first record that a task sends to it (source) or is given from it (sink), and stays so
until the set is reset or the connector deleted; restarts and new configurations keep it. The truth is the status
topic: one record for each topic and connector, ``ActiveTopics`` is what has been read of it. Tasks report a topic at
their first record only, so nothing is done per record; the worker that hosts the task writes the record, once, unless
it has been read or written already.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.core.model.messages import Refused
from penstock.core.model.records import TopicStatus

DISABLED = "Topic tracking is disabled."
RESET_DISABLED = "Topic tracking reset is disabled"


@dataclass(slots=True)
class ActiveTopics:
    """What has been read, by connector and topic; and what this worker has written and not read back yet."""

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
        """The active topics, in order of their names; none for a connector that nobody knows."""
        return sorted(self._read.get(connector, {}))

    def all(self) -> list[TopicStatus]:
        return [record for of_one in self._read.values() for record in of_one.values()]

    def records(self, connector: str) -> list[TopicStatus]:
        return list(self._read.get(connector, {}).values())

    def discover(self, connector: str, topic: str, task: int, now: int) -> TopicStatus | None:
        """The record to write for a topic that a task has reported; None if it is active or about to be."""
        if topic in self._read.get(connector, {}) or (connector, topic) in self._written:
            return None
        self._written.add((connector, topic))
        return TopicStatus(topic, connector, task, now)

    def tombstones(self, connector: str) -> list[TopicStatus]:
        """The records that empty a connector's set; also what has been written and not been read back."""
        written = [topic for name, topic in self._written if name == connector]
        return [TopicStatus(topic, connector, None) for topic in sorted({*self._read.get(connector, {}), *written})]

    def is_active(self, record: TopicStatus) -> bool:
        """Whether this record still counts, none of its key having been read since."""
        return self._read.get(record.connector, {}).get(record.topic) is record

    def written_in_vain(self, connector: str) -> list[TopicStatus]:
        """The connector has been deleted: records that take back what this worker has written and not read back."""
        return [TopicStatus(topic, connector, None) for name, topic in sorted(self._written) if name == connector]


def check_allowed(enabled: bool, allow_reset: bool, reset: bool) -> None:
    """Raises Refused where the worker's ``topic.tracking.enable`` or ``topic.tracking.allow.reset`` forbids the
    request.

    Before the connector is looked for: a reset may also be applied to one that is gone.
    """
    if not enabled:
        raise Refused(403, DISABLED)
    if reset and not allow_reset:
        raise Refused(403, RESET_DISABLED)
