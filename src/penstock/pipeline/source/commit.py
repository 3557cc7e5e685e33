"""When source offsets are committed without transactions: at least once, every ``offset.flush.interval.ms``.

A commit policy is what the loop of ``source`` is given beside the task; ``transactions.ExactlyOnce`` is the other one.
Java: ``WorkerSourceTask``, ``SourceTaskOffsetCommitter``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError
from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask
from penstock.kafka.offsets.records import canonical
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.delivery_tracking import TrackedBatch, tracked
from penstock.pipeline.source.ledger import Ledger
from penstock.pipeline.source.offset_log import OffsetLog
from penstock.pipeline.source.offsets import SourceOffset, SourceTaskOffsets
from penstock.pipeline.source.sender import Sender
from penstock.pipeline.task import TaskControl

log = logging.getLogger(__name__)

Piece = tuple[Batch, Callable[[], None] | None]


class Commit(Protocol):
    """What the loop asks of a commit policy. ``seconds`` and ``now`` are of ``time.monotonic``."""

    def pieces(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Piece]:
        """The batch in the parts in which it is sent, each with what is to be done after it."""

    def send(self, before: Batch, ready: Batch) -> None:
        """Send a part: ``before`` as it was polled, ``ready`` as bytes, without what was dropped."""

    def expect(self, topics: set[str]) -> None:
        """Called before ``send`` with topics that the task has not used before."""

    def arrived(self, seconds: float) -> set[str]:
        """The expected topics in which a record has arrived since the last call; waits up to so many seconds."""

    def sent(self) -> None:
        """Called after the last part of each batch."""

    def tick(self, now: float) -> float:
        """Called often; answers in how many seconds it wants to be called again."""

    def pause(self) -> None:
        """Called before a pause: nothing may be left open."""

    def finish(self, failed: bool) -> None:
        """Called once at the end, unless contact with the worker is lost."""

    def close(self) -> None:
        """Called last, in any case."""


class AtLeastOnce:
    """Every ``offset.flush.interval.ms``, wait for what was sent, then write offsets; what was sent since is sent again
    after a crash.

    A record's arrival is not told, for speed: only that all have arrived. If they have not in time, the offsets of
    those source partitions wait that have sent to topics for which records are still under way; all others are written.
    """

    def __init__(
        self,
        sender: Sender,
        offsets: SourceTaskOffsets,
        offset_log: OffsetLog,
        metrics: Metrics,
        control: TaskControl,
        interval: float,
        timeout: float,
    ) -> None:
        self.task: SourceTask
        self._sender, self._offsets, self._log, self._metrics = sender, offsets, offset_log, metrics
        self._control, self._interval, self._timeout = control, interval, timeout
        self._next = time.monotonic() + interval
        self._topics: dict[bytes, set[str]] = {}
        """Where each source partition (canonical) has sent records since its last offset was written."""
        self._expected: set[str] = set()

    def pieces(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Piece]:
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

    def _note(self, ready: Batch) -> None:
        """These records have been sent."""
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
            self._next = time.monotonic() + self._interval
        return self._next - now

    def pause(self) -> None:
        self._commit()
        self._sender.check()

    def finish(self, failed: bool) -> None:
        self._commit()
        if not failed:
            self._sender.check()

    def close(self) -> None:
        self._log.close()

    def _commit(self) -> bool:
        """One attempt; what goes wrong is logged, and the offsets wait for the next one."""
        started = time.monotonic()
        taken = self._acknowledged()
        try:
            if taken:
                self._log.write(taken, self._timeout)
        except Exception:
            log.exception("Failed to commit offsets")
            self._offsets.give_back(taken)
            self._metrics.committed(time.monotonic() - started, success=False)
            return False
        self._offsets.committed(taken)
        self._metrics.committed(time.monotonic() - started)
        try:
            self.task.commit()
        except Exception:
            log.exception("Exception thrown while calling task.commit()")
        return True

    def _acknowledged(self) -> list[SourceOffset]:
        """Wait, and take the offsets that stand for records which Kafka has."""
        late = set(self._sender.lost)
        if not self._sender.flush(self._timeout):
            late |= self._sender.under_way()
            log.error(
                "Failed to flush, timed out while waiting for producer to flush outstanding %d messages. Offsets of "
                "source partitions that send to %s are not committed yet",
                len(self._sender.producer),
                ", ".join(sorted(late)),
            )
        late |= self._sender.lost
        waiting = {name for name, topics in self._topics.items() if topics & late}
        self._topics = {name: self._topics[name] for name in waiting}
        return self._offsets.take(waiting)


class RecordByRecord(AtLeastOnce):
    """For tasks that want to hear of their records: each acknowledgement is told to them, and a ledger says what may
    be committed.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._ledger = Ledger()
        self._open: list[TrackedBatch] = []

    def pieces(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Piece]:
        return ((tracked(batch), None),)

    def send(self, before: Batch, ready: Batch) -> None:
        told = TrackedBatch(before, ready, self._sender)
        self._ledger.submit(told)
        self._open.append(told)
        self._sender.send(ready, told.callbacks())
        self._metrics.add("source-record-write-total", len(ready))
        self._tell()

    def arrived(self, seconds: float) -> set[str]:
        try:
            return super().arrived(seconds)
        finally:
            self._tell()

    def tick(self, now: float) -> float:
        self._sender.poll()
        self._tell()
        return super().tick(now)

    def finish(self, failed: bool) -> None:
        self._sender.flush(self._timeout)
        super().finish(failed)

    def _acknowledged(self) -> list[SourceOffset]:
        self._sender.poll()
        self._tell()
        for partition, offset in self._ledger.committable():
            self._offsets.put(partition, offset)
        return self._offsets.take()

    def _tell(self) -> None:
        for told in self._open:
            told.tell(self.task)
        self._open = [told for told in self._open if not told.complete]
