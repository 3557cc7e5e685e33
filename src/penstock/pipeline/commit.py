"""When source offsets are committed without transactions: at least once, every ``offset.flush.interval.ms``.

A commit policy is what the loop of ``source`` is given beside the task; ``transactions.ExactlyOnce`` is the other one.
Java: ``WorkerSourceTask``, ``SourceTaskOffsetCommitter``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import confluent_kafka as ck

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask
from penstock.kafka.offset_records import canonical
from penstock.pipeline.ledger import Ledger
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.offset_log import OffsetLog
from penstock.pipeline.offsets import SourceOffsets
from penstock.pipeline.sender import Delivered, Sender
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
    """Every ``offset.flush.interval.ms`` the offsets of what Kafka has acknowledged are written; what was sent beyond
    them is sent again after a crash.

    Each record's acknowledgement is heard of, since of one source partition whose topic is in trouble nothing may be
    committed, and of all others everything.
    """

    def __init__(
        self,
        sender: Sender,
        offsets: SourceOffsets,
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
        self._ledger = Ledger()
        self._awaited: set[str] = set()
        """Topics of which the first record to arrive is waited for."""
        self._arrived: set[str] = set()

    def pieces(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Piece]:
        return ((batch, None),)

    def send(self, before: Batch, ready: Batch) -> None:
        if not len(ready):
            return
        self._sender.send(ready, self._callbacks(ready))
        self._metrics.add("source-record-write-total", len(ready))

    def _callbacks(self, ready: Batch) -> list[Delivered]:
        """What is called when the records arrive, having entered them into the ledger."""
        assert isinstance(ready.origin, SourceOrigin)
        partitions, offsets, n = ready.origin.partitions, ready.origin.offsets, len(ready)
        heard = self._acknowledged
        if partitions.count(partitions[0]) == n:
            acked = self._ledger.submit(partitions[0], offsets)
            return [partial(heard, acked, i) for i in range(n)]
        rows: dict[bytes, list[int]] = {}
        names: dict[int, bytes] = {}
        for row, partition in enumerate(partitions):
            name = names.get(id(partition))
            if name is None:
                name = names[id(partition)] = canonical(partition)
            rows.setdefault(name, []).append(row)
        callbacks: list[Any] = [None] * n
        for own in rows.values():
            acked = self._ledger.submit(partitions[own[0]], [offsets[row] for row in own])
            for i, row in enumerate(own):
                callbacks[row] = partial(heard, acked, i)
        return callbacks

    def _acknowledged(self, acked: bytearray, i: int, error: ck.KafkaError | None, message: Any) -> None:
        if error is None:
            acked[i] = 1
            if self._awaited:
                self._first_of(message.topic())
        elif self._lost(error, message):
            acked[i] = 1

    def _first_of(self, topic: str) -> None:
        if topic in self._awaited:
            self._awaited.discard(topic)
            self._arrived.add(topic)

    def _lost(self, error: ck.KafkaError, message: Any) -> bool:
        """A record did not arrive; whether that is tolerated."""
        if message is not None:
            self._sender.failed(error, message)
        return self._sender.tolerates

    def expect(self, topics: set[str]) -> None:
        self._awaited |= topics

    def arrived(self, seconds: float) -> set[str]:
        self._sender.flush(seconds)
        self._sender.check()
        found, self._arrived = self._arrived, set()
        return found

    def sent(self) -> None:
        self.tick(time.monotonic())

    def tick(self, now: float) -> float:
        self._sender.producer.poll(0)
        self._sender.check()
        self._collect()
        if now >= self._next:
            self._commit()
            self._next = time.monotonic() + self._interval
        return self._next - now

    def pause(self) -> None:
        self._sender.flush(self._timeout)
        self._sender.check()
        self._commit()

    def finish(self, failed: bool) -> None:
        if not self._sender.flush(self._timeout):
            log.error(
                "Failed to flush, timed out while waiting for producer to flush outstanding %d messages",
                len(self._sender.producer),
            )
        self._commit()
        if not failed:
            self._sender.check()

    def close(self) -> None:
        self._log.close()

    def _collect(self) -> None:
        for partition, offset in self._ledger.committable():
            self._offsets.put(partition, offset)

    def _commit(self) -> bool:
        """One attempt; what goes wrong is logged, and the offsets wait for the next one."""
        started = time.monotonic()
        self._collect()
        taken = self._offsets.take()
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


class RecordByRecord(AtLeastOnce):
    """For tasks that define ``commit_record``: each acknowledgement is told to them."""

    def pieces(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Piece]:
        return ((tracked(batch), None),)

    def send(self, before: Batch, ready: Batch) -> None:
        originals, dropped = correlated(before, ready)
        for record in dropped:
            self._tell(record, record.topic, -1 if record.partition is None else record.partition, -1)
        if not len(ready):
            return
        told = [self._telling(record, heard) for record, heard in zip(originals, self._callbacks(ready), strict=True)]
        self._sender.send(ready, told)
        self._metrics.add("source-record-write-total", len(ready))

    def _telling(self, record: SourceRecord, heard: Delivered) -> Delivered:
        def delivered(error: ck.KafkaError | None, message: Any) -> None:
            heard(error, message)
            if error is None:
                self._tell(record, message.topic(), message.partition(), message.offset())
            elif self._sender.tolerates:
                self._tell(record, record.topic, -1, -1)

        return delivered

    def _tell(self, record: SourceRecord, topic: str, partition: int, offset: int) -> None:
        try:
            self.task.commit_record(record, topic, partition, offset)
        except Exception:
            log.exception("Exception thrown while calling task.commit_record()")


def tracked(batch: Batch) -> Batch:
    """The same batch, each record with a source offset object of its own, by which it is recognised after
    transforms.
    """
    assert isinstance(batch.origin, SourceOrigin)
    return batch.with_(origin=SourceOrigin(batch.origin.partitions, [dict(offset) for offset in batch.origin.offsets]))


def correlated(before: Batch, ready: Batch) -> tuple[list[SourceRecord], list[SourceRecord]]:
    """For a tracked batch and what became of it: the original of each record that is left, and the originals of the
    others.
    """
    records: list[SourceRecord] = list(before.rows())  # type: ignore[arg-type]
    by_offset = {id(record.source_offset): record for record in records}
    assert isinstance(ready.origin, SourceOrigin)
    kept = [by_offset.pop(id(offset)) for offset in ready.origin.offsets]
    return kept, list(by_offset.values())
