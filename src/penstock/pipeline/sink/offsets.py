"""The positions of a sink task, and its commits to the consumer group.

Java: the offset bookkeeping of ``WorkerSinkTask``: ``commitOffsets``, ``doCommit``, ``onCommitCompleted``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.errors import ConnectError
from penstock.api.sink import SinkTask, TopicPartition
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming
from penstock.pipeline.sink.partitions import at_offsets, kept, names, of_client

log = logging.getLogger(__name__)


class SinkTaskOffsets:
    """``current``: the next offset after what the task has taken, per partition. ``committed``: what the group has."""

    def __init__(self, metrics: Metrics, timing: CommitTiming) -> None:
        self.consumer: Consumer
        self._metrics, self.timing = metrics, timing
        self.current: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, int] = {}
        self._sent_at: float | None = None
        self._number = 0
        self._moved: set[TopicPartition] = set()
        """Partitions that were rewound, or have gone, since the last commit was sent: its answer is not about them."""

    def assigned(self, positions: Mapping[TopicPartition, int]) -> None:
        """Partitions were assigned; ``positions`` are those that are known."""
        self.current.update(positions)
        self.committed.update(positions)
        self._measure()

    def gone(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.current.pop(partition, None)
            self.committed.pop(partition, None)
            self._moved.add(partition)
        self._measure()

    def taken(self, offsets: Mapping[TopicPartition, int], first: Callable[[TopicPartition], int | None]) -> None:
        """The task has taken all records before these offsets. ``first``: the offset of its first record there, for
        partitions of which it could not be looked up where they begin.
        """
        for partition in offsets.keys() - self.committed.keys():
            if (begin := first(partition)) is not None:
                self.committed[partition] = begin
        self.current.update(offsets)
        self._measure()

    def rewound(self, partition: TopicPartition, offset: int) -> None:
        self.current[partition] = self.committed[partition] = offset
        self._moved.add(partition)
        self._measure()

    def limited(self, partition: TopicPartition, offset: int) -> None:
        """Called before a commit: nothing from this offset on is to be committed."""
        if self.current.get(partition, offset) > offset:
            self.current[partition] = offset

    def lag(self) -> int:
        committed = self.committed
        return sum(max(offset - committed.get(partition, offset), 0) for partition, offset in self.current.items())

    def _measure(self) -> None:
        lag = self.lag()
        self._metrics.put("sink-record-active-count", lag)
        self._metrics.observe("sink-record-active-count", lag)

    @property
    def committing(self) -> bool:
        """Whether a commit is in flight; after the timeout it no longer counts."""
        if self._sent_at is not None and time.monotonic() >= self._sent_at + self.timing.timeout:
            log.warning("Commit of offsets timed out")
            self._metrics.committed(self.timing.timeout, success=False)
            self._sent_at = None
        return self._sent_at is not None

    def commit(
        self,
        task: SinkTask,
        partitions: Iterable[TopicPartition],
        closing: bool,
        agreed: Callable[[], bool] = lambda: True,
    ) -> dict[TopicPartition, int]:
        """Commit what the task's ``pre_commit`` agrees to; waits for the brokers' answer when ``closing``.

        ``agreed`` is called when it has, before anything is committed; nothing is if it raises or returns False.

        If ``pre_commit`` fails before closing, the result is where to read from again: the last committed offsets of
        these partitions.
        """
        wanted = {p: self.current[p] for p in partitions if p in self.current}
        if not wanted:
            return {}
        self._number += 1
        self._metrics.put("offset-commit-seq-no", self._number)
        try:
            answer = task.pre_commit(dict(wanted))
        except Exception:
            self._metrics.committed(0.0, success=False)
            if closing:
                log.warning("Offset commit failed during close", exc_info=True)
                return {}
            log.exception("Offset commit failed, rewinding to last committed offsets")
            return {p: int(offset) for p, offset in self.committed.items() if p in wanted}
        try:
            settled = agreed()
        except Exception:
            self.gone(wanted)  # the task ends, and commits nothing of these when it closes them either
            raise
        if not settled:
            self._metrics.committed(0.0, success=False)
            return {}
        if answer is None:
            raise ConnectError("The task's preCommit has returned null instead of offsets")
        if not isinstance(answer, Mapping):
            raise ConnectError(f"The task's pre_commit has returned {answer} instead of offsets")
        if None in answer.values():
            missing = sorted(str(TopicPartition(*p)) for p, offset in answer.items() if offset is None)
            raise ConnectError(f"The task's preCommit has returned null as the offset of {', '.join(missing)}")
        offsets = self._committable({TopicPartition(*p): offset for p, offset in answer.items()}, wanted)
        before = {p: offset for p, offset in self.committed.items() if p in wanted}
        after = before | offsets
        if after != before or any(kept(after[p]) != kept(before[p]) for p in after):
            self._write(after, closing)
        else:
            self._metrics.committed(0.0)
            self._metrics.add("offset-commit-completion-total")
        return {}

    def _committable(
        self, answer: Mapping[TopicPartition, int], wanted: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        found = {}
        for partition, offset in answer.items():
            if partition in self.current and partition not in wanted:  # others are closed in a cooperative rebalance
                log.debug("Ignoring task provided offset %s of %s: not asked for", offset, partition)
            elif partition not in wanted:
                log.warning("Ignoring invalid task provided offset %s of %s: not assigned", offset, partition)
            elif offset < 0:  # which librdkafka would leave out of the commit
                log.warning("Ignoring invalid task provided offset %s of %s: it is negative", offset, partition)
            elif offset > wanted[partition]:
                log.warning(
                    "Ignoring invalid task provided offset %s of %s -- not yet consumed, currentOffset=%d",
                    offset,
                    partition,
                    wanted[partition],
                )
            else:
                found[partition] = offset
        return found

    def _write(self, offsets: dict[TopicPartition, int], closing: bool) -> None:
        started = time.monotonic()
        try:
            if not closing:
                self._moved.clear()
                self.consumer.commit(offsets=at_offsets(offsets), asynchronous=True)
                self._sent_at = started
                return
            results = self.consumer.commit(offsets=at_offsets(offsets), asynchronous=False)
        except KafkaException as e:
            self._failed(e.args[0], started)
            return
        self._done(results or [], started)

    def answered(self, error: KafkaError | None, results: list[ClientPartition]) -> None:
        """Called by the consumer with the brokers' answer to an asynchronous commit."""
        started, self._sent_at = self._sent_at, None
        if started is None:
            self._metrics.add("offset-commit-skip-total")
        elif error is not None:
            self._failed(error, started)
        else:
            self._done(results, started, self._moved)

    def _done(self, results: list[ClientPartition], started: float, moved: Collection[TopicPartition] = ()) -> None:
        for result, partition in zip(results, names(results), strict=True):
            if result.error is not None:
                self._failed(result.error, started)
                return
            if partition in self.current and partition not in moved:
                self.committed[partition] = of_client(result)
        self._metrics.committed(time.monotonic() - started)
        self._metrics.add("offset-commit-completion-total")
        self._measure()

    def _failed(self, error: KafkaError, started: float) -> None:
        log.error("Commit of offsets threw an unexpected exception: %s", error.str())
        self._metrics.committed(time.monotonic() - started, success=False)
