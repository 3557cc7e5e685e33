"""Source tasks from jars, as the pipeline's loop knows source tasks; Java: ``SourceTasks``.

``poll`` waits only a moment for the plugin's own ``poll``, which may block for long: meanwhile offsets are committed,
as in Java Connect, where another thread does that. The records that it returns stay in the JVM, and so do their source
offsets until somebody reads them.

While a batch is sent the plugin is polled for the next one, but not for a further one. A plugin that overrides
``commit`` is not: it may commit what it has returned so far, which must have been sent then.

As in Java, a running poll is waited for before a pause or a stop, and its records are sent; the plugin's ``stop`` comes
last. Only if a poll does not return for long does another thread call ``stop`` meanwhile.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, assert_never, overload

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import SelectedRows
from penstock.api.errors import RetriableError
from penstock.api.runtime_hooks import RuntimeHooks
from penstock.api.source import SourceTask
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.messages.base import SinkRequest
from penstock.hosts.jvm.messages.batches import BatchInJvm, FetchOffsets, KeptBatch
from penstock.hosts.jvm.messages.from_jvm import (
    PluginMessage,
    RaiseConnectorError,
    ReadSourceOffsets,
    RequestReconfiguration,
)
from penstock.hosts.jvm.messages.tasks import (
    CommitJavaRecords,
    CommitJavaTask,
    CreateJavaSourceTask,
    JavaTaskReference,
    PolledInJvm,
    PollJavaTask,
    StartJavaSourceTask,
    StopJavaSourceTask,
)
from penstock.hosts.jvm.session import JavaCall, unanswered
from penstock.hosts.jvm.tasks.remote_batch import Handle, RemoteBatch, input_of, received
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm
from penstock.values.no_offset import NoOffset

log = logging.getLogger(__name__)

POLL_SECONDS = 0.1
STOP_SECONDS = 1.0
"""Time after which another thread calls the plugin's ``stop`` during a poll, and for which the poll is awaited then."""
GRACEFUL = "task.shutdown.graceful.timeout.ms"
SHARE = 0.6
"""The part of that time for which a poll is awaited; the rest is for its records, and for ``stop``."""
CLOSE_SECONDS = 10.0
TASK_CLASS = "task.class"
RETRIABLE_OF_CLIENTS = "org.apache.kafka.common.errors.RetriableException"
"""Exception of Kafka's clients that a poll may throw as well as Connect's RetriableException."""
_BEHIND = "_MilliSecondsBehindSource"


class JavaSourceTask(SourceTask, RuntimeHooks):
    """A source task in a JVM. Making one makes the plugin's task in the JVM of the task that is being made.

    The object's class overrides ``commit`` and ``commit_records`` only if the plugin's does.
    """

    polls_aside = True

    def __new__(cls) -> JavaSourceTask:
        jvm = TaskJvm.current()
        jvm.session.answer_with(lambda message, payload: made._answer(message, payload))
        version = jvm.connector_config.get("connector.plugin.version")
        task = JavaTaskReference(jvm.connector_config["connector.class"], version, jvm.task_config[TASK_CLASS])
        overrides = jvm.session.call(CreateJavaSourceTask(task)).result
        made: JavaSourceTask = object.__new__(_CLASSES[overrides.commit, overrides.commit_record])
        return made

    def __init__(self) -> None:
        self._jvm = TaskJvm.current()
        self._polling: JavaCall[PolledInJvm] | None = None
        self._began = 0.0
        """Start of that poll, by ``time.monotonic``."""
        self._poll_lock = threading.Lock()
        self._polls_ahead = type(self).commit is SourceTask.commit
        self._stopping = False
        self._stopped = threading.Event()
        self._patience = SHARE * int(self._jvm.worker_config.get(GRACEFUL, "5000")) / 1000
        self._give_up = math.inf
        """End of the wait for a poll, by ``time.monotonic``."""
        self._taken = 0
        """Number of batches of the plugin that have been taken."""

    def start(self, config: Mapping[str, str]) -> None:
        self._jvm.before_close.append(self._await_stop)
        self._jvm.lane = "records"
        transactions = self.context.transaction is not None
        self._jvm.session.call(StartJavaSourceTask(dict(config), transactions))

    def _answer(self, message: PluginMessage, payload: memoryview) -> Any:
        match message:
            case ReadSourceOffsets(partitions):
                return self.context.offset_reader.offsets(partitions)
            case RequestReconfiguration() | RaiseConnectorError() | SinkRequest():
                return unanswered(message, payload)
            case _:
                assert_never(message)

    def poll(self) -> Batch | None:
        with self._poll_lock:
            if self._polling is None and not self._stopping:
                self._polling = self._begin_poll()
        return self._take(self._polls_ahead)

    def poll_begun(self) -> Batch | None:
        """Return the records of a poll that has been begun, like ``poll``, without beginning another one."""
        return self._take(ahead=False)

    def _take(self, ahead: bool) -> Batch | None:
        """Take a poll's records; ``ahead``: whether to begin the next poll if there are any."""
        polling = self._polling
        if polling is None:
            return None
        try:
            reply = polling.wait(POLL_SECONDS)
        except BaseException as error:
            self._polling = None
            if RETRIABLE_OF_CLIENTS in getattr(error, "java_classes", ()):
                raise RetriableError(str(error)) from error
            raise
        if reply is None:
            return None
        polled = reply.result
        batch = None if polled.batch is None else self._received(polled.batch, polled)
        self._taken += batch is not None
        with self._poll_lock:
            ahead = ahead and batch is not None and not self._stopping
            self._polling = self._begin_poll() if ahead else None
        self._end_transactions(polled, batch)
        return batch

    @property
    def begun(self) -> bool:
        """Return whether a poll has been begun that has not been taken."""
        return self._polling is not None

    @property
    def awaited(self) -> bool:
        """Return whether such a poll may still bring records that are to be sent before the end."""
        if (polling := self._polling) is None:
            return False
        return polling.succeeded if polling.done.is_set() else time.monotonic() < self._give_up

    def polling_since(self) -> float | None:
        """Return the start of the plugin's poll, by ``time.monotonic``, or None if it has returned.

        A plugin without records should return now and then, as Kafka's documentation of ``SourceTask`` says.
        """
        return None if (polling := self._polling) is None or polling.done.is_set() else self._began

    def _begin_poll(self) -> JavaCall[PolledInJvm]:
        self._began = time.monotonic()
        return self._jvm.session.begin(PollJavaTask(self._jvm.take_free()), aside=True)

    def idle(self) -> float:
        return 0.0

    def seconds_behind(self) -> float | None:
        """Return the delay that Debezium's connectors report by an MBean, where -1 is unknown."""
        known = [each["value"] for each in self._jvm.plugin_metrics() if each["name"].endswith(_BEHIND)]
        return max((value / 1000 for value in known if value >= 0), default=None)

    def _received(self, made: BatchInJvm, polled: PolledInJvm) -> RemoteBatch:
        distinct, rows = polled.source_partitions, polled.source_partition_rows
        partitions = distinct * made.n if rows is None else [distinct[row] for row in rows]
        known = dict(zip(polled.last, polled.last_offsets, strict=True))
        fetched = FetchedOffsets(self._jvm, known)
        batch = received(self._jvm, made, SourceOrigin(partitions, PolledOffsets(fetched, range(made.n))))
        fetched.batch = batch.anchor
        return batch

    def _end_transactions(self, polled: PolledInJvm, batch: Batch | None) -> None:
        transaction: Any = self.context.transaction
        if transaction is None:
            return
        if batch is not None and polled.ends:
            transaction.end_after(batch, [(row, end == "abort") for row, end in polled.ends])
        if polled.commit:
            transaction.commit_transaction()
        if polled.abort:
            transaction.abort_transaction()

    def end_polls(self, stop: Callable[[], None]) -> None:
        """Begin no poll from now on, since the task is to stop; called by another thread than ``poll``.

        If a poll goes on for too long, ``stop`` is called, which calls the method of that name.
        """
        with self._poll_lock:
            self._stopping = True
            self._give_up = time.monotonic() + self._patience + STOP_SECONDS
            polling = self._polling
        if polling is not None and not polling.done.wait(max(self._patience - STOP_SECONDS, 0.0)):
            stop()

    def stop(self) -> None:
        """Stop the task. Called once, perhaps by another thread than ``poll`` while the plugin's poll blocks."""
        try:
            with self._poll_lock:
                self._stopping = True
            lane = "task"
            if (polling := self._polling) is not None and not polling.done.wait(STOP_SECONDS):
                lane = "stop"
            if not self._jvm.session.gone:
                self._jvm.session.call(StopJavaSourceTask(), lane=lane, timeout=CLOSE_SECONDS)
        finally:
            self._stopped.set()

    def _await_stop(self) -> None:
        if not self._stopped.wait(CLOSE_SECONDS):
            log.warning("The task's stop() has not returned after %.0f s; its threads are interrupted", CLOSE_SECONDS)


class _Commits(JavaSourceTask):
    def commit(self) -> None:
        """Call the plugin's ``commit`` unless it has returned records that were not taken: it might commit them."""
        self._jvm.session.call(CommitJavaTask(self._taken), lane="commit")


class _Acknowledges(JavaSourceTask):
    takes_timestamps = True

    def commit_records(
        self, batch: Batch, topics: Sequence[str], partitions: Sequence[int], offsets: Sequence[int]
    ) -> None:
        self._commit_records(batch, topics, partitions, offsets, None)

    def commit_records_at(
        self,
        batch: Batch,
        topics: Sequence[str],
        partitions: Sequence[int],
        offsets: Sequence[int],
        timestamps: Sequence[int],
    ) -> None:
        self._commit_records(batch, topics, partitions, offsets, timestamps)

    def _commit_records(
        self,
        batch: Batch,
        topics: Sequence[str],
        partitions: Sequence[int],
        offsets: Sequence[int],
        timestamps: Sequence[int] | None,
    ) -> None:
        """Call ``commit_records`` with the timestamps of the messages, or None for records that were not sent."""
        input, payload = input_of(self._jvm, batch, ())
        request = CommitJavaRecords(
            input,
            self._jvm.take_free(),
            timestamps is not None,
            list(topics),
            list(partitions),
            list(offsets),
            list(timestamps or ()),
        )
        for failure in self._jvm.session.call(request, payload, lane="commit").result:
            log.error("Exception thrown while calling task.commitRecord()", exc_info=java_error(failure))


class _CommitsAndAcknowledges(_Commits, _Acknowledges):
    pass


_CLASSES: dict[tuple[bool, bool], type[JavaSourceTask]] = {
    (False, False): JavaSourceTask,
    (True, False): _Commits,
    (False, True): _Acknowledges,
    (True, True): _CommitsAndAcknowledges,
}


# -- source offsets


class PolledOffsets(SelectedRows[dict[str, Any]]):
    """The source offsets of a batch in the JVM.

    The last of each source partition are here; the others are fetched together when one of them is read.
    """

    __slots__ = ("_fetched",)

    def __init__(self, fetched: FetchedOffsets, rows: Sequence[int]) -> None:
        self._fetched, self.rows = fetched, rows

    def select(self, rows: Sequence[int]) -> Self:
        return type(self)(self._fetched, [self.rows[row] for row in rows])

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, row: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, row: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return [self._fetched.get(each) for each in self.rows[row]]
        return self._fetched.get(self.rows[row])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._fetched.get, self.rows)


class FetchedOffsets:
    """The source offsets of a batch that are known here. ``batch`` keeps the batch in the JVM."""

    __slots__ = ("_jvm", "_known", "batch")

    batch: Handle

    def __init__(self, jvm: TaskJvm, known: dict[int, dict[str, Any] | None]) -> None:
        self._jvm, self._known = jvm, _distinct(known)

    def get(self, row: int) -> dict[str, Any]:
        if row not in self._known:
            self._fetch()
        return self._known[row]

    def _fetch(self) -> None:
        request = FetchOffsets(KeptBatch(self.batch.number), self._jvm.take_free())
        found = self._jvm.session.call(request, lane=self._jvm.lane).result
        self._known = {**_distinct(dict(enumerate(found))), **self._known}


def _distinct(offsets: dict[int, dict[str, Any] | None]) -> dict[int, dict[str, Any]]:
    return {row: NoOffset() if offset is None else offset for row, offset in offsets.items()}
