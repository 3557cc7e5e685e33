"""A source task of a jar, as the pipeline's loop knows source tasks; Java: ``SourceTasks``.

``poll`` does not wait longer than a moment for the plugin's own ``poll``, which may block for long: meanwhile offsets
are committed, as in Java Connect, where another thread does that. The records that it returns stay in the JVM.

While a batch is sent the plugin is polled for the next one, no further. A plugin that overrides ``commit`` is not: it
may commit what it has returned so far, which must have been sent then.

As in Java, a poll that goes on is waited for before a pause or a stop, and its records are sent; the plugin's ``stop``
comes last. Only if a poll does not return for long does another thread call ``stop`` meanwhile.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import RetriableError
from penstock.api.runtime_hooks import RuntimeHooks
from penstock.api.source import SourceTask
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.session import Pending
from penstock.hosts.jvm.tasks.polled_offsets import PolledOffsets, Stored
from penstock.hosts.jvm.tasks.remote_batch import RemoteBatch, input_of, received
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm

log = logging.getLogger(__name__)

POLL_SECONDS = 0.1
STOP_SECONDS = 1.0
"""How long a poll that is not awaited may go on before another thread calls the plugin's ``stop``; and how long one is
awaited after that.
"""
GRACEFUL = "task.shutdown.graceful.timeout.ms"
SHARE = 0.6
"""The part of that time for which a poll is awaited; the rest is for its records, and for ``stop``."""
CLOSE_SECONDS = 10.0
TASK_CLASS = "task.class"
RETRIABLE_OF_CLIENTS = "org.apache.kafka.common.errors.RetriableException"
"""What Kafka's clients throw; of a poll, it is Connect's RetriableException, too."""
_BEHIND = "_MilliSecondsBehindSource"


class JavaSourceTask(SourceTask, RuntimeHooks):
    """Making one makes the plugin's task in the JVM, and gives an object whose class overrides ``commit`` and
    ``commit_records`` only if the plugin's does.
    """

    polls_aside = True

    def __new__(cls) -> JavaSourceTask:
        jvm = TaskJvm.current()
        jvm.session.on("source.offsets", lambda args, _: made.context.offset_reader.offsets(args["partitions"]))
        args = {
            "connector": jvm.connector_config["connector.class"],
            "connector_version": jvm.connector_config.get("connector.plugin.version"),
            "task": jvm.task_config[TASK_CLASS],
        }
        overrides = jvm.session.call("source.create", args).result
        made: JavaSourceTask = object.__new__(_CLASSES[overrides["commit"], overrides["commitRecord"]])
        return made

    def __init__(self) -> None:
        self._jvm = TaskJvm.current()
        self._polling: Pending | None = None
        self._began = 0.0
        """When that was begun."""
        self._poll_lock = threading.Lock()
        self._polls_ahead = type(self).commit is SourceTask.commit
        self._stopping = False
        self._stopped = threading.Event()
        self._patience = SHARE * int(self._jvm.worker_config.get(GRACEFUL, "5000")) / 1000
        self._give_up = math.inf
        """Until when a poll is awaited, by ``time.monotonic``."""
        self._taken = 0
        """How many batches of the plugin have been taken."""

    def start(self, config: Mapping[str, str]) -> None:
        self._jvm.before_close.append(self._await_stop)
        self._jvm.lane = "records"
        transactions = self.context.transaction is not None
        self._jvm.session.call("source.start", {"config": dict(config), "transactions": transactions})

    def poll(self) -> Batch | None:
        with self._poll_lock:
            if self._polling is None and not self._stopping:
                self._polling = self._begin_poll()
        return self._take(self._polls_ahead)

    def poll_begun(self) -> Batch | None:
        """As ``poll``, but of a poll that has been begun; no other one is."""
        return self._take(ahead=False)

    def _take(self, ahead: bool) -> Batch | None:
        """``ahead``: whether to begin the next poll if this one has brought records."""
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
        batch = self._received(reply.result) if "batch" in reply.result else None
        self._taken += batch is not None
        with self._poll_lock:
            ahead = ahead and batch is not None and not self._stopping
            self._polling = self._begin_poll() if ahead else None
        self._end_transactions(reply.result, batch)
        return batch

    @property
    def begun(self) -> bool:
        """Whether a poll has been begun that has not been taken."""
        return self._polling is not None

    @property
    def awaited(self) -> bool:
        """Whether such a poll may bring records still that are to be sent before the end."""
        if (polling := self._polling) is None:
            return False
        return polling.succeeded if polling.done.is_set() else time.monotonic() < self._give_up

    def polling_since(self) -> float | None:
        """Since when the plugin has not returned from its poll, by ``time.monotonic``; None if it has. One that has
        nothing should return now and then, as Kafka's documentation of ``SourceTask`` says.
        """
        return None if (polling := self._polling) is None or polling.done.is_set() else self._began

    def _begin_poll(self) -> Pending:
        self._began = time.monotonic()
        return self._jvm.session.begin("source.poll", {"free": self._jvm.take_free()}, aside=True)

    def idle(self) -> float:
        return 0.0

    def seconds_behind(self) -> float | None:
        """As connectors of Debezium say by an MBean; -1 is what they don't know."""
        known = [each["value"] for each in self._jvm.plugin_metrics() if each["name"].endswith(_BEHIND)]
        return max((value / 1000 for value in known if value >= 0), default=None)

    def _received(self, result: dict[str, Any]) -> RemoteBatch:
        n, distinct = result["n"], result["source_partitions"]
        rows = result.get("source_partition_rows")
        partitions = distinct * n if rows is None else [distinct[row] for row in rows]
        known = dict(zip(result["last"], result["last_offsets"], strict=True))
        stored = Stored(self._jvm, known)
        batch = received(self._jvm, result, SourceOrigin(partitions, PolledOffsets(stored, range(n))))
        stored.batch = batch.anchor
        return batch

    def _end_transactions(self, result: dict[str, Any], batch: Batch | None) -> None:
        transaction: Any = self.context.transaction
        if transaction is None:
            return
        if batch is not None and result["ends"]:
            transaction.end_after(batch, [(row, end == "abort") for row, end in result["ends"]])
        if result["commit"]:
            transaction.commit_transaction()
        if result["abort"]:
            transaction.abort_transaction()

    def end_polls(self, stop: Callable[[], None]) -> None:
        """Called when the task is to stop, from another thread than ``poll``: no poll is begun from now on. If one goes
        on for too long, ``stop`` is called, which calls the method of that name.
        """
        with self._poll_lock:
            self._stopping = True
            self._give_up = time.monotonic() + self._patience + STOP_SECONDS
            polling = self._polling
        if polling is not None and not polling.done.wait(max(self._patience - STOP_SECONDS, 0.0)):
            stop()

    def stop(self) -> None:
        """Called once; perhaps from another thread than ``poll``, while the plugin's own blocks."""
        try:
            with self._poll_lock:
                self._stopping = True
            lane = "task"
            if (polling := self._polling) is not None and not polling.done.wait(STOP_SECONDS):
                lane = "stop"
            if not self._jvm.session.gone:
                self._jvm.session.call("source.stop", lane=lane, timeout=CLOSE_SECONDS)
        finally:
            self._stopped.set()

    def _await_stop(self) -> None:
        if not self._stopped.wait(CLOSE_SECONDS):
            log.warning("The task's stop() has not returned after %.0f s; its threads are interrupted", CLOSE_SECONDS)


class _Commits(JavaSourceTask):
    def commit(self) -> None:
        """Does nothing if the plugin has returned records that have not been taken: it might commit them, too."""
        self._jvm.session.call("source.commit", {"taken": self._taken}, lane="commit")


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
        """``timestamps``: None for records that were not sent."""
        place, payload = input_of(self._jvm, batch, ())
        args = {
            "input": place,
            "free": self._jvm.take_free(),
            "sent": timestamps is not None,
            "topics": list(topics),
            "partitions": list(partitions),
            "offsets": list(offsets),
            "timestamps": timestamps or [],
        }
        for failure in self._jvm.session.call("source.commitRecords", args, payload, lane="commit").result:
            log.error("Exception thrown while calling task.commitRecord()", exc_info=java_error(failure))


class _CommitsAndAcknowledges(_Commits, _Acknowledges):
    pass


_CLASSES: dict[tuple[bool, bool], type[JavaSourceTask]] = {
    (False, False): JavaSourceTask,
    (True, False): _Commits,
    (False, True): _Acknowledges,
    (True, True): _CommitsAndAcknowledges,
}
