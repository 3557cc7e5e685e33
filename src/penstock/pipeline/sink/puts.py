"""Puts of a sink task: begun, awaited, and ended with an event. In this process the end follows at once.

A put in a JVM converts the records if nothing but converters lies between the consumer and the task. A second one may
be begun behind it, which waits in the JVM and does nothing unless the task takes the records of the first and asks for
nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.returned import ran
from penstock.api.sink import SinkTask
from penstock.hosts.jvm.tasks.sink_task import BegunPut, JavaSinkTask, NotConvertedError
from penstock.hosts.jvm.tasks.steps import JavaStepOf
from penstock.pipeline.errors import Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.sink import events
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.failed_put import named_records
from penstock.pipeline.sink.original_records import OriginalRecords

PUT_FAILED = "Exiting WorkerSinkTask due to unrecoverable exception."
QUICK_SECONDS = 0.1
"""A put that takes longer has none begun behind it, for which a rebalance or a stop would wait as well."""
NO_RECORDS = FetchedBatch(Batch.of_sink_records([]), {}, converted=True)


class BegunSinkPut(Protocol):
    """A put that has begun."""

    batch: FetchedBatch
    """The records; once the put has ended, as it has converted them."""
    clear: bool
    """Whether the task has asked for nothing, so that the put begun behind this one runs."""
    quick: bool
    """Whether it took so little time that another one may be begun behind the next."""

    def end(self) -> float | None:
        """Return when the task has taken the records; the seconds that took, if they are known better than by waiting.

        Raises what the task's ``put`` has raised, and NotConvertedError: then no record has been put.
        """


class SinkPuts(Protocol):
    """The loop's way to put records."""

    elsewhere: bool
    """Whether a put that has begun runs while the loop does something else."""
    convert: bool
    """Whether a put takes records as they were fetched."""

    def begin(self, batch: FetchedBatch, behind: bool = False) -> BegunSinkPut:
        """Begin to put the records; ``behind`` the put that runs. Raises if they can't be sent."""

    def prepare(self, batch: FetchedBatch) -> None:
        """Prepare what will be sent of these records."""


class LocalPuts:
    """Puts of a task in this process, or behind it in another Python interpreter."""

    elsewhere = convert = False

    def __init__(self, task: SinkTask) -> None:
        self._task = task

    def begin(self, batch: FetchedBatch, behind: bool = False) -> LocalPut:
        return LocalPut(self._task, batch)

    def prepare(self, batch: FetchedBatch) -> None:
        """Nothing is sent."""


class LocalPut:
    """One put, whose ``end`` calls the task."""

    clear = quick = False

    def __init__(self, task: SinkTask, batch: FetchedBatch) -> None:
        self._task, self.batch = task, batch

    def end(self) -> None:
        ran("put_batch", self._task.put_batch(self.batch.records))  # type: ignore[func-returns-value]


class JavaPuts:
    """Puts of a task in a JVM."""

    elsewhere = True

    def __init__(
        self, task: JavaSinkTask, converters: Mapping[str, JavaStepOf] | None, note: Step, metrics: Metrics
    ) -> None:
        """``converters``: those of key, value and header, if nothing but them and the step ``note`` lies between
        records as they are read and the task: then a put converts them.
        """
        self._task, self._converters, self._note, self._metrics = task, converters, note, metrics
        self.convert = converters is not None

    def begin(self, batch: FetchedBatch, behind: bool = False) -> JavaPut:
        converts = len(batch) > 0 and not batch.converted
        begun = self._task.begin_put(batch.records, self._converters if converts else None, behind)
        return JavaPut(batch, begun, converts and self._converters is not None, self._note, self._metrics)

    def prepare(self, batch: FetchedBatch) -> None:
        self._task.prepare(batch.records)


class JavaPut:
    """One put, which runs in a JVM."""

    def __init__(self, batch: FetchedBatch, begun: BegunPut, converts: bool, note: Step, metrics: Metrics) -> None:
        self.batch = batch
        self.clear = self.quick = False
        self._begun, self._converts, self._note, self._metrics = begun, converts, note, metrics

    def end(self) -> float:
        begun = self._begun
        try:
            begun.wait()
        finally:
            if begun.converted and self._converts:
                self._metrics.spent("convert", begun.converting)
                self._note.apply(self.batch.records)
                if begun.again is not None:
                    self.batch = FetchedBatch(begun.again, self.batch.ends, converted=True)
        self.clear, self.quick = begun.clear, begun.converting + begun.seconds < QUICK_SECONDS
        return begun.seconds


class RunningPuts:
    """The put that runs, and the one that has begun behind it."""

    def __init__(
        self,
        puts: SinkPuts,
        runtime: TaskRuntime,
        check_reported: Callable[[], None],
        handle: Callable[[events.SinkEvent], None],
        originals: OriginalRecords,
    ) -> None:
        """``check_reported`` raises what the errant record reporter has raised; ``handle`` gets the ends of puts."""
        self._puts, self._runtime, self._check_reported, self._handle = puts, runtime, check_reported, handle
        self._originals = originals
        self._running: BegunSinkPut | None = None
        self._behind: BegunSinkPut | None = None

    def put(self, batch: FetchedBatch) -> None:
        try:
            self._running = self._puts.begin(batch)
        except Exception as e:  # what a transform has made of a record has no counterpart in Java
            self._handle(events.PutFailed(self._failed(e, batch)))
            return
        if not self._puts.elsewhere:
            self.await_end()

    def put_behind(self, batch: FetchedBatch) -> None:
        try:
            self._behind = self._puts.begin(batch, behind=True)
        except Exception as e:
            self._handle(events.FailureFound(self._failed(e, batch)))

    def prepare(self, batch: FetchedBatch) -> None:
        try:
            self._puts.prepare(batch)
        except Exception as e:
            self._handle(events.FailureFound(e))

    def await_end(self) -> None:
        """Wait for the end of the put, if one runs."""
        put, self._running = self._running, None
        if put is not None:
            event = self._ended(put)
            if not isinstance(event, events.PutFailed):  # after which both are abandoned
                clear = isinstance(event, events.PutTaken) and event.clear
                self._running, self._behind = self._behind if clear else None, None
            self._handle(event)

    def _ended(self, put: BegunSinkPut) -> events.PutEnded:
        batch, size, started = put.batch, len(put.batch), time.monotonic()
        try:
            with self._runtime.control.calls.entered("put"):
                known = put.end()
        except NotConvertedError:
            return events.PutUnconverted()
        except RetriableError as e:
            return events.PutRefused(e, None if put.batch is batch else put.batch)
        except Exception as e:
            return events.PutFailed(self._failed(e, batch))
        try:
            self._check_reported()
        except ConnectError as e:
            return events.PutFailed(e)
        if size:
            metrics = self._runtime.metrics
            metrics.add("sink-record-send-total", size)
            metrics.observe("batch-size", size)
            seconds = time.monotonic() - started if known is None else known
            metrics.observe("put-batch", seconds * 1000, "-time-ms")
            metrics.spent("put", seconds)
        return events.PutTaken(put.clear, put.quick)

    def abandon(self) -> None:
        """Wait for the ends of both, with whatever result."""
        puts = (self._running, self._behind)
        self._running = self._behind = None
        for put in puts:
            if put is not None:
                with contextlib.suppress(Exception):
                    put.end()

    def _failed(self, cause: Exception, batch: FetchedBatch) -> ConnectError:
        error = ConnectError(PUT_FAILED)
        error.__cause__ = cause
        with_keys = self._runtime.errors.settings.log_messages
        if note := named_records(batch.records, self._originals, with_keys):
            error.add_note(note)
        return error
