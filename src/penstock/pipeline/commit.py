"""When source offsets are committed without transactions: at least once, every ``offset.flush.interval.ms``.

A commit policy is what the loop of ``source`` is given beside the task; ``transactions.ExactlyOnce`` is the other one.
Java: ``WorkerSourceTask``, ``SourceTaskOffsetCommitter``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import confluent_kafka as ck

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask
from penstock.pipeline.ledger import Ledger, Submitted
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
    """Flush, then write offsets. What was sent since the last commit is sent again after a crash."""

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

    def pieces(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Piece]:
        return ((batch, None),)

    def send(self, before: Batch, ready: Batch) -> None:
        self._sender.send(ready)
        if isinstance(ready.origin, SourceOrigin):
            self._offsets.sent(ready.origin)
        self._metrics.add("source-record-write-total", len(ready))

    def sent(self) -> None:
        self.tick(time.monotonic())

    def tick(self, now: float) -> float:
        self._sender.producer.poll(0)
        self._sender.check()
        if now >= self._next:
            self._commit()
            self._next = time.monotonic() + self._interval
        return self._next - now

    def pause(self) -> None:
        self._commit()

    def finish(self, failed: bool) -> None:
        self._commit()

    def close(self) -> None:
        self._log.close()

    def _commit(self) -> bool:
        """One attempt; what goes wrong with the offsets is logged, and they wait for the next one."""
        started = time.monotonic()
        if not self._acknowledged():
            log.error(
                "Failed to flush, timed out while waiting for producer to flush outstanding %d messages",
                len(self._sender.producer),
            )
            self._metrics.committed(time.monotonic() - started, success=False)
            return False
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

    def _acknowledged(self) -> bool:
        """Wait until the offsets that are about to be committed stand for records that Kafka has."""
        done = self._sender.flush(self._timeout)
        self._sender.check()
        return done


class RecordByRecord(AtLeastOnce):
    """For tasks that define ``commit_record``: each acknowledgement is told to them, and a ledger says what may be
    committed.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._ledger = Ledger()

    def pieces(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Piece]:
        return ((tracked(batch), None),)

    def send(self, before: Batch, ready: Batch) -> None:
        originals, dropped = correlated(before, ready)
        for record in dropped:
            self._tell(record, record.topic, -1 if record.partition is None else record.partition, -1)
        callbacks: list[Delivered] = []
        assert isinstance(ready.origin, SourceOrigin)
        for i, record in enumerate(originals):
            entry = self._ledger.submit(ready.origin.partitions[i], ready.origin.offsets[i])
            callbacks.append(self._callback(entry, record))
        self._sender.send(ready, callbacks)
        self._metrics.add("source-record-write-total", len(ready))

    def _callback(self, entry: Submitted, record: SourceRecord) -> Delivered:
        def delivered(error: ck.KafkaError | None, message: Any) -> None:
            if error is not None and message is not None:
                self._sender.failed(error, message)
                if not self._sender.tolerates:
                    return
            entry.acked = True
            if error is None:
                self._tell(record, message.topic(), message.partition(), message.offset())
            else:
                self._tell(record, record.topic, -1, -1)

        return delivered

    def _tell(self, record: SourceRecord, topic: str, partition: int, offset: int) -> None:
        try:
            self.task.commit_record(record, topic, partition, offset)
        except Exception:
            log.exception("Exception thrown while calling task.commit_record()")

    def finish(self, failed: bool) -> None:
        self._sender.flush(self._timeout)
        self._commit()

    def _acknowledged(self) -> bool:
        self._sender.producer.poll(0)
        for entry in self._ledger.committable():
            self._offsets.put(entry.partition, entry.offset)
        return True


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
