"""The commit of source offsets without transactions: at least once, every ``offset.flush.interval.ms``.

``CommitPolicy`` is what the loop of a source asks for; ``transactions.ExactlyOnce`` is the policy for exactly once.
Java: ``WorkerSourceTask``, ``SourceTaskOffsetCommitter``.
"""

from __future__ import annotations

import enum
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError
from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask
from penstock.kafka.offsets.records import canonical
from penstock.pipeline.runtime import CommitTiming, TaskRuntime
from penstock.pipeline.source.ledger import Ledger
from penstock.pipeline.source.long_polls import LongPolls
from penstock.pipeline.source.offset_log import OffsetLog
from penstock.pipeline.source.offsets import SourceOffset, SourceTaskOffsets
from penstock.pipeline.source.sending.delivery_tracking import TrackedBatch, tracked
from penstock.pipeline.source.sending.sender import Sender
from penstock.pipeline.task import TaskFencedError

log = logging.getLogger(__name__)

Part = tuple[Batch, Callable[[], None] | None]
"""A part of a batch, and what to call after it has been sent."""


class Ending(enum.Enum):
    """The way in which a task has ended."""

    STOPPED = enum.auto()
    HALFWAY = enum.auto()
    """Stopped before all records of a poll had been sent."""
    FAILED = enum.auto()


class CommitPolicy(Protocol):
    """The policy of when records count as sent and offsets are committed. ``now`` is that of ``time.monotonic``."""

    def parts(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Part]:
        """The parts in which a polled batch is sent."""

    def send(self, before: Batch, ready: Batch) -> None:
        """Send a part: ``before`` as it was polled, ``ready`` as bytes, without the records that were dropped."""

    def uncarried(self, origin: SourceOrigin) -> None:
        """Commit offsets that no record carries, too.

        Called after ``send`` with those of a part of which a transform dropped records, or errors were tolerated, if
        the task has ``RuntimeHooks.stores_dropped``; others commit them with the next record of the source partition,
        as Java does. Called before ``idle``, ``tick`` or ``sent`` with those of ``RuntimeHooks.uncarried_offsets``.
        """

    def expect(self, topics: set[str]) -> None:
        """Await records in these topics, which are new to the task; called before ``send``."""

    def arrived(self, seconds: float) -> set[str]:
        """The expected topics in which a record has arrived since the last call; waits up to so many seconds."""

    def sent(self) -> None:
        """End a batch; called after its last part."""

    def tick(self, now: float) -> float:
        """Do what is due; called often. Return after how many seconds it must be called again."""

    def idle(self, now: float) -> float:
        """Do what is due after a poll that has ended without records; called in place of ``tick``, same result."""

    def unacknowledged(self) -> int:
        """Return the number of records that the producer has and Kafka has not acknowledged."""

    def meanwhile(self, now: float) -> None:
        """Commit what was sent before a record that waits for its next attempt; called while it waits."""

    def polls(self) -> LongPolls | None:
        """Return what commits while a poll does not return; None if nothing need do so. Called once."""

    def pause(self) -> None:
        """Commit everything; called before a pause."""

    def finish(self, how: Ending) -> None:
        """Commit what has arrived; called once at the end, unless contact with the worker is lost."""

    def close(self) -> None:
        """Release what the policy holds; called last, always."""


class AtLeastOnce:
    """Every ``interval``, waits until all records have arrived, then writes offsets; records that were sent after that
    are sent again after a crash.

    For speed it does not learn of single records, only that all have arrived. If some have not within ``timeout``,
    source partitions that have sent to topics with records in flight keep their offsets for the next commit; all other
    offsets are written.
    """

    def __init__(
        self,
        runtime: TaskRuntime,
        task: SourceTask,
        sender: Sender,
        offsets: SourceTaskOffsets,
        offset_log: OffsetLog,
        timing: CommitTiming,
    ) -> None:
        self._task, self._sender, self._offsets, self._log = task, sender, offsets, offset_log
        self._metrics, self._control, self._timing = runtime.metrics, runtime.control, timing
        self._next = time.monotonic() + timing.interval
        self._topics: dict[bytes, set[str]] = {}
        """The topics to which each source partition (canonical) has sent records since its last offset was written."""
        self._expected: set[str] = set()
        self._uncarried: set[bytes] = set()
        """The source partitions (canonical) of pending offsets that no record carries."""

    def parts(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Part]:
        return ((batch, None),)

    def send(self, before: Batch, ready: Batch) -> None:
        if not len(ready):
            return
        try:
            self._sender.send(ready)
        except ConnectError:
            if self._sender.taken:
                self._note(ready.select(range(self._sender.taken)))
            raise
        self._note(ready)

    def uncarried(self, origin: SourceOrigin) -> None:
        distinct_partitions = {id(partition): partition for partition in origin.partitions}
        self._uncarried.update(map(canonical, distinct_partitions.values()))
        self._offsets.sent(origin)

    def _note(self, ready: Batch) -> None:
        """Note that these records have been sent."""
        assert isinstance(ready.origin, SourceOrigin)
        self._offsets.sent(ready.origin)
        self._note_topics(ready.origin.partitions, ready.topics)
        self._metrics.add("source-record-write-total", len(ready))

    def _note_topics(self, partitions: Sequence[dict[str, Any]], topics: list[str]) -> None:
        if partitions.count(partitions[0]) == len(partitions):
            self._topics.setdefault(canonical(partitions[0]), set()).update(topics)
            return
        by_id = {id(partition): partition for partition in partitions}
        for name, topic in set(zip(map(id, partitions), topics, strict=True)):
            self._topics.setdefault(canonical(by_id[name]), set()).add(topic)

    def expect(self, topics: set[str]) -> None:
        self._expected |= topics

    def arrived(self, seconds: float) -> set[str]:
        if not self._sender.flush(seconds):
            return set()
        self._sender.check()
        found, self._expected = self._expected, set()
        return found

    def sent(self) -> None:
        self.tick(time.monotonic())

    def tick(self, now: float) -> float:
        self._sender.poll()
        self._sender.check()
        if now >= self._next or self._offsets.urgent:
            self._commit()
            self._sender.check()
            self._next = time.monotonic() + self._timing.interval
        return self._next - now

    def idle(self, now: float) -> float:
        return self.tick(now)

    def unacknowledged(self) -> int:
        return self._sender.unacknowledged()

    def meanwhile(self, now: float) -> None:
        self.tick(now)

    def polls(self) -> LongPolls | None:
        return LongPolls(lambda: self._next, self._commit_aside)

    def _commit_aside(self) -> None:
        """Commit during a poll. Lost records fail the task after the poll, and an offset that can't be stored fails it
        with the next commit.
        """
        self._next = time.monotonic() + self._timing.interval
        try:
            self._commit()
        except Exception:
            log.exception("Failed to commit offsets")

    def pause(self) -> None:
        self._commit()
        self._sender.check()

    def finish(self, how: Ending) -> None:
        failed = how is Ending.FAILED
        while self._timing.to_the_end and not failed and not self._sender.flush(1.0):
            self._sender.check()
        self._commit()
        if not failed:
            self._sender.check()

    def close(self) -> None:
        self._sender.close()
        self._log.close()

    def _commit(self) -> bool:
        """Attempt a commit once; errors are logged, and the offsets wait for the next attempt."""
        started = time.monotonic()
        taken = self._acknowledged()
        if not self._control.may_write():  # as after a freeze: those of a later run may be written already
            self._offsets.give_back(taken)
            return False
        try:
            if taken:
                self._log.write(taken, self._timing.timeout)
            else:
                self._log.idle()
        except TaskFencedError:
            self._offsets.give_back(taken)
            raise
        except Exception:
            log.exception("Failed to commit offsets")
            self._offsets.give_back(taken)
            self._metrics.committed(time.monotonic() - started, success=False)
            return False
        self._offsets.committed(taken)
        if self._uncarried:
            self._uncarried.difference_update(canonical(each.partition) for each in taken)
        self._metrics.committed(time.monotonic() - started)
        try:
            with self._control.calls.entered("commit"):
                self._task.commit()
        except Exception:
            log.exception("Exception thrown while calling task.commit()")
        return True

    def _acknowledged(self) -> list[SourceOffset]:
        """Wait for records to arrive, and take the offsets of those that have."""
        late = set(self._sender.lost)
        if not self._sender.flush(self._timing.timeout):
            late |= self._sender.in_flight()
            log.error(
                "Failed to flush, timed out while waiting for producer to flush outstanding %d messages. Offsets of "
                "source partitions that send to %s are not committed yet",
                len(self._sender.producer),
                ", ".join(sorted(late)),
            )
        late |= self._sender.lost
        waiting = {name for name, topics in self._topics.items() if topics & late}
        self._topics = {name: self._topics[name] for name in waiting}
        if waiting:  # an identity must not be committed before the offset that belongs to it
            waiting |= self._uncarried
        return self._offsets.take(waiting)


class RecordByRecord(AtLeastOnce):
    """The policy for tasks that override ``commit_record(s)``: each acknowledgement is passed on to the task, and a
    ledger says which offsets may be committed.
    """

    def __init__(
        self,
        runtime: TaskRuntime,
        task: SourceTask,
        sender: Sender,
        offsets: SourceTaskOffsets,
        offset_log: OffsetLog,
        timing: CommitTiming,
    ) -> None:
        super().__init__(runtime, task, sender, offsets, offset_log, timing)
        self._ledger = Ledger()
        self._open: list[TrackedBatch] = []
        self._first: list[tuple[TrackedBatch, set[str]]] = []
        """Batches in flight that have records of expected topics."""

    def parts(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Part]:
        return ((tracked(batch), None),)

    def send(self, before: Batch, ready: Batch) -> None:
        tracked_batch = TrackedBatch(before, ready, self._sender)
        self._ledger.submit(tracked_batch)
        self._open.append(tracked_batch)
        if self._expected:
            self._first.append((tracked_batch, self._expected.intersection(ready.topics)))
        self._sender.send(ready, tracked_batch.callbacks())
        self._metrics.add("source-record-write-total", len(ready))
        self._notify()

    def uncarried(self, origin: SourceOrigin) -> None:
        self._ledger.submit_acknowledged(origin)

    def arrived(self, seconds: float) -> set[str]:
        """Return also the topics of batches that have arrived while others are on their way."""
        try:
            found = super().arrived(seconds)
        finally:
            self._notify()
        found = found.union(*(topics for batch, topics in self._first if batch.complete))
        self._expected -= found
        self._first = [(batch, left) for batch, topics in self._first if (left := topics - found)]
        return found

    def tick(self, now: float) -> float:
        self._sender.poll()
        self._notify()
        return super().tick(now)

    def pause(self) -> None:
        self._sender.flush(self._timing.timeout)
        super().pause()

    def finish(self, how: Ending) -> None:
        self._sender.flush(self._timing.timeout)
        super().finish(how)

    def _acknowledged(self) -> list[SourceOffset]:
        self._sender.poll()
        self._notify()
        for partition, offset in self._ledger.committable():
            self._offsets.put(partition, offset)
        return self._offsets.take()

    def _notify(self) -> None:
        with self._control.calls.entered("commit_record"):
            for batch in self._open:
                batch.notify(self._task)
        self._open = [batch for batch in self._open if not batch.complete]
        for partition, offset in self._ledger.settled():
            self._offsets.put(partition, offset)
