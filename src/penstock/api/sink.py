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
    """An offset that ``pre_commit`` returns, with the metadata that the consumer group keeps with it.

    It equals the plain number, and any other of the same offset.
    """

    metadata: str
    leader_epoch: int | None

    def __new__(cls, offset: int, metadata: str = "", leader_epoch: int | None = None) -> Self:
        """Make an offset; metadata and leader epoch are committed with it."""
        made = super().__new__(cls, offset)
        made.metadata, made.leader_epoch = metadata, leader_epoch
        return made


class ErrantRecordReporter(Protocol):
    """The receiver of records that a sink task can't write (KIP-610)."""

    def report(self, record: SinkRecord, error: BaseException) -> None:
        """Report a record that can't be written.

        The settings ``errors.*`` decide what happens to it. Raises if errors are not tolerated.
        """


class SinkTaskContext(Protocol):
    """The runtime, as a sink task sees it."""

    @property
    def configs(self) -> Mapping[str, str]:
        """The task's configuration as it runs, references to config providers resolved."""

    @property
    def plugin_metrics(self) -> PluginMetrics:
        """The registry of the task's own metrics (KIP-877)."""

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions this task has now."""

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """None unless errors are logged (``errors.log.enable``) or there is a dead letter queue, as in Java."""

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Seek: the next ``put`` continues from these offsets of these partitions."""

    def timeout(self, milliseconds: int) -> None:
        """Set the time until the next ``put``.

        After a RetriableError the same records are put again when it is over. Otherwise ``put`` is called within it,
        without records if there are none.
        """

    def pause(self, *partitions: TopicPartition) -> None:
        """Fetch nothing from these partitions until ``resume``."""

    def resume(self, *partitions: TopicPartition) -> None:
        """Fetch from these partitions again."""

    def request_commit(self) -> None:
        """Request a commit of offsets soon, before ``offset.flush.interval.ms`` is over."""


class SinkTask:
    """Base of all sink tasks. Define ``put``, or ``put_batch`` to get columns."""

    context: SinkTaskContext

    @classmethod
    def version(cls) -> str:
        """Return the version that the list of plugins shows."""
        return "unknown"

    def start(self, config: Mapping[str, str]) -> None:
        """Start the task; called once, ``self.context`` being set, before partitions are assigned."""

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        """Prepare for partitions that were newly assigned; called before their first records."""

    def put(self, records: Sequence[SinkRecord]) -> None:
        """Write these records, in order per partition. Also called with no records, so that a task can act on time.

        Raise RetriableError to get the same records again; any other error ends the task as FAILED. Records need not be
        durable when it returns: that is what ``flush`` (or ``pre_commit``) is for.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no method put")

    def put_batch(self, batch: Batch) -> None:
        """Write the records of a batch, whose origin is a ``SinkOrigin``.

        This is the method that the runtime calls. By default it makes records and calls ``put``.
        """
        ran("put", self.put(list(batch.rows())))  # type: ignore[arg-type, func-returns-value]

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Make durable what was put; ``offsets``, each that of the next record, are about to be committed."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the offsets that are safe to commit.

        Called every ``offset.flush.interval.ms``, and before partitions are closed, with the offset after the last
        record of each partition that was put. By default calls ``flush``. Return as ``OffsetAndMetadata`` those that
        have metadata.
        """
        ran("flush", self.flush(offsets))  # type: ignore[func-returns-value]
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Release partitions that are revoked from this task; called after their last commit."""

    def stop(self) -> None:
        """Release what the task holds; called once, at the end, after ``close``."""
