"""Source records and their offsets in transactions of Kafka: exactly once (KIP-618).

One transactional producer per task, ``<group.id>-<connector>-<task>``. ``transaction.boundary`` says where a
transaction ends: with each poll, after an interval, or where the connector wants. While a transaction is being
committed the task already polls the next records, unless it overrides ``commit`` or ``commit_record(s)``, since it may
wait for that call. Java: ``ExactlyOnceWorkerSourceTask``, ``WorkerTransactionContext``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import confluent_kafka as ck

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError
from penstock.api.record import SourceRecord
from penstock.api.runtime_hooks import hooks_of
from penstock.api.source import SourceTask
from penstock.kafka.clients import init_transactions
from penstock.pipeline.broker_errors import broker_error, is_away, transaction_failure, unsent
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.source.commit import Ending, Part
from penstock.pipeline.source.long_polls import LongPolls
from penstock.pipeline.source.offset_log import OffsetCopies
from penstock.pipeline.source.offsets import SourceOffset, SourceTaskOffsets
from penstock.pipeline.source.sending.delivery_tracking import (
    SampledBatch,
    TrackedBatch,
    tracked,
    wants_acknowledgements,
)
from penstock.pipeline.source.sending.sender import ContactLostError, Delivered, Put, Sender
from penstock.pipeline.source.transaction_boundaries import TransactionBoundaries, TransactionEnd
from penstock.values.repeated import distinct

log = logging.getLogger(__name__)

BEGIN_SECONDS = 60
"""The time to wait at the start for brokers that don't answer; Java's default of ``max.block.ms``."""
BEGIN_AGAIN_SECONDS = 0.1
IDLE_SECONDS = 3600.0
"""The time to the next tick while there is nothing that must be committed."""
ABORT_SECONDS = 30.0
"""The time to wait for the records of a transaction before it is aborted, and then for the abort."""


@dataclass(frozen=True, slots=True)
class TransactionalOffsets:
    """The task's offsets, the topic to which they are written in its transactions, and the copies of them."""

    offsets: SourceTaskOffsets
    topic: str
    copies: OffsetCopies


class ExactlyOnce:
    """The commit policy of exactly once; ``commit.CommitPolicy`` says when the loop calls what."""

    def __init__(
        self,
        runtime: TaskRuntime,
        task: SourceTask,
        sender: Sender,
        stored: TransactionalOffsets,
        boundaries: TransactionBoundaries,
    ) -> None:
        self._id, self._metrics, self._control = runtime.id, runtime.metrics, runtime.control
        self._task, self._sender, self._boundaries = task, sender, boundaries
        self._offsets, self._topic, self._copies = stored.offsets, stored.topic, stored.copies
        self._acknowledges = wants_acknowledgements(type(task))
        self._tracks = SampledBatch if hooks_of(task).samples_acknowledgements else TrackedBatch
        self._overlaps = type(task).commit is SourceTask.commit and not self._acknowledges
        """Whether the task polls on while a transaction is being committed."""
        self._open = False
        self._size = 0
        self._awaited: set[str] = set()
        self._committing: set[str] = set()
        """Awaited topics of the transaction that is being committed."""
        self._arrived: set[str] = set()
        """The topics of transactions that have been committed, until they are reported."""
        self._tracked: list[TrackedBatch] = []
        self._thread = ThreadPoolExecutor(1, f"commit-{runtime.id}")
        self._running: Future[None] | None = None
        self._written: list[SourceOffset] = []
        """The offsets written in the open transaction."""
        self._started = 0.0

    def begin(self) -> bool:
        """Fence older producers of this task; called once, before the task starts. False if it was stopped meanwhile.

        Raises TaskFencedError if no broker has answered by the end of ``BEGIN_SECONDS``.
        """
        give_up = time.monotonic() + BEGIN_SECONDS
        while True:
            try:
                init_transactions(self._sender.producer, 5.0)
                self._boundaries.restart()
                return True
            except ck.KafkaException as e:
                late = is_away(e.args[0]) and time.monotonic() < give_up
                if not (late or e.args[0].retriable()):
                    otherwise = "Failed to initialize the transactional producer"
                    raise transaction_failure(self._id, e.args[0], otherwise) from broker_error(e.args[0])
                if self._control.halted.wait(BEGIN_AGAIN_SECONDS):
                    return False

    @property
    def context(self) -> TransactionBoundaries | None:
        """The task's ``TransactionContext``."""
        return self._boundaries if self._boundaries.kind == "connector" else None

    def parts(self, polled: Sequence[SourceRecord] | Batch, batch: Batch) -> Iterable[Part]:
        if self._acknowledges:
            batch = tracked(batch)
        start = 0
        for end, how in self._boundaries.take_record_requests(polled):
            finish = self._abort_and_commit if how is TransactionEnd.ABORT else self._commit
            yield batch.select(range(start, end)), finish
            start = end
        yield (batch.select(range(start, len(batch))) if start else batch), None

    def send(self, before: Batch, ready: Batch) -> None:
        began = time.monotonic()
        self._settle()
        self._metrics.spent("commit", time.monotonic() - began)
        if self._topic in distinct(ready.topics):
            raise ConnectError(
                "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"
            )
        callbacks: Sequence[Delivered | None] | None = None
        if self._acknowledges:
            tracked_batch = self._tracks(before, ready, self._sender)
            self._tracked.append(tracked_batch)
            callbacks = tracked_batch.callbacks()
        if not len(ready):
            return
        self._begin()
        if isinstance(ready.origin, SourceOrigin):
            self._offsets.sent(ready.origin)
        # If this batch is the whole transaction its offsets go first: the coordinator hears of all partitions at once.
        ahead = self._take_offsets() if self._boundaries.kind == "poll" else []
        with self._unsent():
            self._sender.send(ready, callbacks, ahead)
        self._size += len(ready)
        self._metrics.add("source-record-write-total", len(ready))

    def uncarried(self, origin: SourceOrigin) -> None:
        self._settle()
        self._begin()  # so that they are committed in time, also without a record
        self._offsets.sent(origin)

    def expect(self, topics: set[str]) -> None:
        self._awaited |= topics

    def arrived(self, seconds: float) -> set[str]:
        """Return the topics of a transaction once it has been committed, and all of them once the producer is empty,
        since it does not report single records; that of a busy task hardly ever is.
        """
        if self._running is None and self._sender.flush(seconds):
            self._sender.check()
            self._arrived |= self._awaited
            self._awaited = set()
        found, self._arrived = self._arrived, set()
        return found

    def sent(self) -> None:
        match self._boundaries.kind:
            case "poll":
                self._commit()
            case "interval":
                if self._boundaries.due(time.monotonic()):
                    self._commit()
            case _:
                self._commit_as_requested()

    def tick(self, now: float) -> float:
        if not self._busy:
            self._settle()
            self._sender.poll()
            self._sender.check()
            if self._uncommitted and self._boundaries.due(now):
                self._commit()
            if self._boundaries.kind == "connector":
                self._commit_as_requested()
        if self._running is not None:
            return 0.01
        return self._boundaries.remaining(now) if self._uncommitted else IDLE_SECONDS

    def idle(self, now: float) -> float:
        """Ends the empty transaction where one with records would end, so that ``SourceTask.commit`` is called
        (KAFKA-14727). Not while a transaction is being committed: a task that overrides ``commit`` waits for that.
        """
        wanted = self.tick(now)
        if self._running is None and (self._boundaries.kind == "poll" or self._boundaries.due(now)):
            self._commit()
        return wanted if self._running is None else 0.01

    @property
    def _busy(self) -> bool:
        """Whether the other thread is committing a transaction."""
        return self._running is not None and not self._running.done()

    @property
    def _uncommitted(self) -> bool:
        """Whether there are records in the open transaction, or dropped ones of which the task is to be notified."""
        return self._open or bool(self._tracked)

    def unacknowledged(self) -> int:
        """While a transaction is being committed the other thread serves the producer's callbacks."""
        return len(self._sender.producer) if self._busy else self._sender.unacknowledged()

    def meanwhile(self, now: float) -> None:
        if self._boundaries.kind != "connector":  # which may have requested an end after the record that waits
            self.tick(now)

    def polls(self) -> LongPolls | None:
        """Return None: transactions are ended where the task or its polls say."""
        return None

    def pause(self) -> None:
        """End the transaction; an open one would time out, or hold up consumers that read committed records."""
        self._finish()
        self._settle()
        self._boundaries.restart()

    def finish(self, how: Ending) -> None:
        if how is Ending.HALFWAY and self._boundaries.kind == "connector":
            self._boundaries.take_batch_request()  # it is for all records of the poll
        elif how is not Ending.FAILED:
            self._finish()
        self._settle()
        if self._open:
            self._abort()

    def close(self) -> None:
        if self._control.aborted:
            self._sender.producer.purge(blocking=False)
        self._thread.shutdown(wait=not self._control.aborted)
        self._copies.close()

    def _finish(self) -> None:
        if self._boundaries.kind == "connector":
            self._commit_as_requested()
        else:
            self._commit()

    def _commit_as_requested(self) -> None:
        match self._boundaries.take_batch_request():
            case TransactionEnd.COMMIT:
                self._commit()
            case TransactionEnd.ABORT:
                self._abort_and_commit()

    def _begin(self) -> None:
        if self._open:
            return
        try:
            self._sender.producer.begin_transaction()
        except ck.KafkaException as e:
            raise unsent(self._id, e.args[0]) from broker_error(e.args[0])
        self._open = True

    def _abort_and_commit(self) -> None:
        """Abort the records, but commit their offsets, so that they are not read again."""
        self._settle()
        if self._open:
            log.info("Aborting transaction as requested by connector")
            # The coordinator must know the transaction first: soon after another one it may still refuse the partitions
            # of this one, and librdkafka's request to end an unknown transaction would be fatal.
            self._sender.flush(ABORT_SECONDS)
            self._sender.check()
            if (error := self._abort()) is not None:
                raise unsent(self._id, error) from broker_error(error)
        else:
            log.warning("Ignoring request by task to abort transaction as the current transaction is empty")
        self._commit()

    def _abort(self) -> ck.KafkaError | None:
        """Abort the transaction; return and log the error if that fails: no other transaction can be begun then."""
        self._open, self._size = False, 0
        self._offsets.give_back(self._written)
        self._written = []
        try:
            self._sender.producer.abort_transaction(ABORT_SECONDS)
        except ck.KafkaException as e:
            error: ck.KafkaError = e.args[0]
            log.warning("The transaction of task %s could not be aborted: %s", self._id, error.str())
            return error
        return None

    def _commit(self) -> None:
        """Write the offsets and commit the transaction, in another thread if the task may poll on meanwhile."""
        self._settle()
        self._started = time.monotonic()
        offsets = self._take_offsets()
        if not self._open and not offsets:
            self._committed([])
            return
        self._begin()
        with self._unsent():
            for each in offsets:
                self._sender.put(*each)
        self._committing, self._awaited = self._awaited, set()
        if self._overlaps:
            self._running = self._thread.submit(self._commit_transaction)
        else:
            self._running = _called(self._commit_transaction)
            self._settle()

    def _take_offsets(self) -> list[Put]:
        """Take the offsets that are to be written in the open transaction now."""
        offsets = self._offsets.take()
        self._written += offsets
        return [(self._topic, each.key, each.value, *((each.headers,) if each.headers else ())) for each in offsets]

    @contextmanager
    def _unsent(self) -> Iterator[None]:
        try:
            yield
        except ck.KafkaException as e:
            raise unsent(self._id, e.args[0]) from broker_error(e.args[0])

    def _commit_transaction(self) -> None:
        while True:
            try:
                self._sender.producer.commit_transaction(1.0)
                return
            except ck.KafkaException as e:
                if self._control.aborted or not e.args[0].retriable():
                    raise

    def _settle(self) -> None:
        """Wait for the commit in the other thread, if any, and do what follows it."""
        if self._running is None:
            return
        while True:
            try:
                self._running.result(0.5)
                break
            except TimeoutError:
                if self._control.aborted:
                    raise ContactLostError("Contact with the worker is lost") from None
            except ck.KafkaException as e:
                self._running = None
                self._metrics.committed(time.monotonic() - self._started, success=False)
                error: ck.KafkaError = e.args[0]
                self._open = error.txn_requires_abort()
                self._sender.check()
                raise unsent(self._id, error) from broker_error(error)
        self._running, self._open = None, False
        self._sender.check()
        self._arrived |= self._committing
        self._metrics.observe("transaction-size", self._size)
        self._size = 0
        written, self._written = self._written, []
        self._committed(written)

    def _committed(self, offsets: list[SourceOffset]) -> None:
        self._offsets.committed(offsets)
        self._copies.copy(offsets)
        self._metrics.committed(time.monotonic() - self._started, traced=bool(offsets))
        if self._tracked:
            batches, self._tracked = self._tracked, []
            with self._control.calls.entered("commit_record"):
                for each in batches:
                    each.notify(self._task)
        if type(self._task).commit is SourceTask.commit:
            return
        try:
            with self._control.calls.entered("commit"):
                self._task.commit()
        except Exception:
            log.exception("Exception thrown while calling task.commit()")


def _called(function: Callable[[], None]) -> Future[None]:
    """Call a function in this thread; return its result as a future."""
    call: Future[None] = Future()
    try:
        function()
    except Exception as error:
        call.set_exception(error)
    else:
        call.set_result(None)
    return call
