"""Sink tasks: what brings records out of Kafka.

The runtime makes one object, sets ``context``, calls ``start``, then ``open`` with the partitions it was assigned,
``put`` with the records, ``pre_commit`` before offsets are committed, ``close`` when partitions are taken away, and
``stop``; all from one thread. Java: ``org.apache.kafka.connect.sink.SinkTask``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from penstock.api.batch import Batch
from penstock.api.record import SinkRecord


class TopicPartition(NamedTuple):
    """A partition of a topic; its text is ``<topic>-<partition>``, as Java's."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class ErrantRecordReporter(Protocol):
    def report(self, record: SinkRecord, error: BaseException) -> None:
        """Hand over a record that can't be written.

        It goes where ``errors.*`` say. Raises if errors are not tolerated.
        """


class SinkTaskContext(Protocol):
    """What the runtime offers to a sink task."""

    @property
    def configs(self) -> Mapping[str, str]: ...

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions this task has now."""

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """None where ``errors.*`` leave nothing to be done with a record but to fail."""

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Go on reading these partitions from these offsets, with the next ``put``."""

    def timeout(self, milliseconds: int) -> None:
        """After a RetriableError: wait so long before the same records are put again."""

    def pause(self, *partitions: TopicPartition) -> None:
        """Don't fetch from these partitions until ``resume``."""

    def resume(self, *partitions: TopicPartition) -> None: ...

    def request_commit(self) -> None:
        """Ask for a commit of offsets soon, not only after ``offset.flush.interval.ms``."""


class SinkTask:
    """Base of all sink tasks. Define ``put``, or ``put_batch`` to get columns."""

    context: SinkTaskContext

    @classmethod
    def version(cls) -> str:
        return "unknown"

    def start(self, config: Mapping[str, str]) -> None:
        """Called once, ``self.context`` being set, before partitions are assigned."""

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        """Called with partitions that were newly assigned, before their first records."""

    def put(self, records: Sequence[SinkRecord]) -> None:
        """Take these records, in order per partition. Called also with no records, so that time can be noticed.

        Raises RetriableError to be given the same records again; anything else ends the task as FAILED. Records need
        not be durable when it returns: ``flush`` (or ``pre_commit``) tells that.
        """
        raise NotImplementedError

    def put_batch(self, batch: Batch) -> None:
        """``put`` for columns (with a ``SinkOrigin``).

        What the runtime really calls. By default makes records and calls ``put``.
        """
        self.put(list(batch.rows()))  # type: ignore[arg-type]

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Make durable what was put; ``offsets`` are those that are about to be committed (of the next record each)."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Called every ``offset.flush.interval.ms`` and before partitions are closed.

        Answer with what is safe to commit.
        """
        self.flush(offsets)
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Called with partitions that this task no longer has, after their last commit."""

    def stop(self) -> None:
        """Called once, at the end, after ``close``."""
