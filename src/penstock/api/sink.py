"""Sink tasks, which write records from Kafka to another system.

The runtime makes one object, sets ``context``, calls ``start``, then ``open`` with the partitions it was assigned,
``put`` with the records, ``pre_commit`` before offsets are committed, ``close`` when partitions are revoked, and
``stop``; all from one thread. Java: ``org.apache.kafka.connect.sink.SinkTask``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, Self

from penstock.api.batch import Batch
from penstock.api.plugin_metrics import PluginMetrics
from penstock.api.record import SinkRecord
from penstock.api.returned import ran


class TopicPartition(NamedTuple):
    """A partition of a topic; its text is ``<topic>-<partition>``, as Java's."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetAndMetadata(int):
    """An offset that ``pre_commit`` returns, with what the consumer group keeps with it.

    It equals the plain number, and any other of the same offset.
    """

    metadata: str
    leader_epoch: int | None

    def __new__(cls, offset: int, metadata: str = "", leader_epoch: int | None = None) -> Self:
        made = super().__new__(cls, offset)
        made.metadata, made.leader_epoch = metadata, leader_epoch
        return made


class ErrantRecordReporter(Protocol):
    def report(self, record: SinkRecord, error: BaseException) -> None:
        """Report a record that can't be written.

        The settings ``errors.*`` decide what happens to it. Raises if errors are not tolerated.
        """


class SinkTaskContext(Protocol):
    """What the runtime provides to a sink task."""

    @property
    def configs(self) -> Mapping[str, str]: ...

    @property
    def plugin_metrics(self) -> PluginMetrics:
        """For metrics of the task's own (KIP-877)."""

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions this task has now."""

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """None unless errors are logged (``errors.log.enable``) or there is a dead letter queue, as in Java."""

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Seek: the next ``put`` continues from these offsets of these partitions."""

    def timeout(self, milliseconds: int) -> None:
        """After a RetriableError: wait this long before the same records are put again. Else: call ``put`` again within
        this time, without records if there are none.
        """

    def pause(self, *partitions: TopicPartition) -> None:
        """Don't fetch from these partitions until ``resume``."""

    def resume(self, *partitions: TopicPartition) -> None: ...

    def request_commit(self) -> None:
        """Request a commit of offsets soon, before ``offset.flush.interval.ms`` is over."""


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
        """Write these records, in order per partition. Also called with no records, so that a task can act on time.

        Raise RetriableError to get the same records again; any other error ends the task as FAILED. Records need not be
        durable when it returns: that is what ``flush`` (or ``pre_commit``) is for.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no method put")

    def put_batch(self, batch: Batch) -> None:
        """``put`` for columns (with a ``SinkOrigin``).

        This is the method that the runtime calls. By default it makes records and calls ``put``.
        """
        ran("put", self.put(list(batch.rows())))  # type: ignore[arg-type, func-returns-value]

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Make durable what was put; ``offsets`` are about to be committed (of the next record each)."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Called every ``offset.flush.interval.ms`` and before partitions are closed.

        Return the offsets that are safe to commit; as ``OffsetAndMetadata`` those that have metadata.
        """
        ran("flush", self.flush(offsets))  # type: ignore[func-returns-value]
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Called with partitions that are revoked from this task, after their last commit."""

    def stop(self) -> None:
        """Called once, at the end, after ``close``."""
