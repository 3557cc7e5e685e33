"""Source tasks, which read records from another system for Kafka.

The runtime makes one object, sets ``context``, calls ``start`` once, then ``poll`` repeatedly from one thread,
and ``stop`` from another thread (so that it can end a ``poll`` that blocks). Java:
``org.apache.kafka.connect.source.SourceTask``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.api.batch import Batch
from penstock.api.kafka import KafkaClients
from penstock.api.plugin_metrics import PluginMetrics
from penstock.api.record import SourceRecord
from penstock.api.topic_settings import TopicSettings


class OffsetReader(Protocol):
    """The source offsets that have been committed, as of the start of the task and by the task itself since."""

    def offset(self, partition: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the committed offset of this source partition, which may be None; None if there is none."""

    def offsets(self, partitions: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any] | None]:
        """Return the committed offsets of several source partitions, in their order."""


class TransactionContext(Protocol):
    """Lets a task define where transactions end, with ``transaction.boundary=connector`` (KIP-618)."""

    def commit_transaction(self, after: SourceRecord | None = None) -> None:
        """Commit after the next batch that ``poll`` returns.

        Or, given a record of the list that ``poll`` returns next (the same object), right after that record. If
        ``poll`` gives a ``Batch`` instead, in which no record can be recognised, the task fails: let the batch end with
        that record, and call this without one.
        """

    def abort_transaction(self, after: SourceRecord | None = None) -> None:
        """Abort what was sent since the last commit, after the next batch or right after that record of it.

        ``after`` is as for ``commit_transaction``.
        """


class SourceTaskContext(Protocol):
    """The runtime, as a source task sees it."""

    @property
    def configs(self) -> Mapping[str, str]:
        """The task's configuration as it runs, references to config providers resolved."""

    @property
    def offset_reader(self) -> OffsetReader:
        """The source offsets that have been committed."""

    @property
    def plugin_metrics(self) -> PluginMetrics:
        """The registry of the task's own metrics (KIP-877)."""

    @property
    def kafka(self) -> KafkaClients:
        """The clients of Kafka clusters that a task reads itself. Provisional."""

    @property
    def transaction(self) -> TransactionContext | None:
        """The task's control of transactions (KIP-618).

        None unless exactly once is enabled for this connector and ``transaction.boundary`` is ``connector``.
        """


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """The position of a task in one part of its source; None where the task does not know it."""

    partition: Mapping[str, Any]
    """The source partition."""
    position: int | None
    end: int | None
    unit: str = "records"
    """The unit of positions, in the plural: ``records``, ``bytes``."""


class SourceTask:
    """Base of all source tasks."""

    context: SourceTaskContext

    @classmethod
    def version(cls) -> str:
        """Return the version that the list of plugins shows."""
        return "unknown"

    def start(self, config: Mapping[str, str]) -> None:
        """Open the source, and seek to the offset that ``context.offset_reader`` gives.

        Called once, before ``poll``, ``self.context`` being set.
        """

    def poll(self) -> Sequence[SourceRecord] | Batch | None:
        """Return the next records, as a list or as a batch with a ``SourceOrigin``.

        None or an empty list: there are none now. Called again at once after records; after none, the runtime first
        waits as long as ``idle`` says. It may block, but must return soon after ``stop``. Raise RetriableError to be
        called again; any other error ends the task as FAILED.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no method poll")

    def idle(self) -> float:
        """Return the seconds to wait after a ``poll`` that returned no records.

        Called after each such ``poll``. A task should not sleep itself.
        """
        return 0.1

    def progress(self) -> Sequence[SourceProgress]:
        """Return how far the task has read, as far as it can say: shown to operators as its lag.

        Called every few seconds, by the thread of ``poll``; it should answer from what is known or read at once. Errors
        are only logged.
        """
        return ()

    def seconds_behind(self) -> float | None:
        """Return how many seconds the task is behind its source; None if it can't say. Called with ``progress``."""
        return None

    def commit(self) -> None:
        """Acknowledge to the source what has been committed; called after offsets have been committed.

        Without exactly once: every ``offset.flush.interval.ms``, also if there is nothing to commit. With exactly once:
        at the end of each transaction, and of each one that would be empty: after each ``poll`` without records,
        after the first one in each interval, or where the task ends a transaction, as ``transaction.boundary`` says
        (KAFKA-14727). Errors are only logged.

        Without exactly once it and ``commit_record(s)`` are called by another thread while ``poll`` does not return for
        longer than the interval.
        """

    def commit_record(self, record: SourceRecord, topic: str, partition: int, offset: int) -> None:
        """Note that Kafka has acknowledged a record, or that it was dropped.

        Called for each record, in order; for those that transforms dropped or that were skipped as errors are tolerated
        with offset -1, which is also that of records sent with ``acks=0``. With exactly once, called after the
        transaction. Errors are only logged. Overriding it costs a callback per record; prefer ``commit_records``.
        """

    def commit_records(
        self, batch: Batch, topics: Sequence[str], partitions: Sequence[int], offsets: Sequence[int]
    ) -> None:
        """Note that Kafka has acknowledged records, or that they were dropped.

        If it is overridden, the runtime calls it in place of ``commit_record``. ``batch`` has records of one ``poll``,
        those that were acknowledged since the last call, in that order; the other columns say where in Kafka each of
        them is.
        """
        for record, topic, partition, offset in zip(batch.rows(), topics, partitions, offsets, strict=True):
            self.commit_record(record, topic, partition, offset)  # type: ignore[arg-type]

    def settings_for_new_topic(self, settings: TopicSettings) -> TopicSettings | None:
        """Return the settings of a topic that the runtime is about to create for this task's records (KIP-158).

        Called with the settings of the rule that applies; return them changed or not, or None to leave the creation to
        the broker.
        """
        return settings

    def stop(self) -> None:
        """End a ``poll`` that blocks, and release what the task holds.

        Called once, from another thread, when the task is to end. Also called if ``start`` failed. ``poll`` may be
        running meanwhile; the last ``commit_record(s)`` and ``commit`` follow, for what was sent before.
        """
