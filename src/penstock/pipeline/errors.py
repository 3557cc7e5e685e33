"""Error handling of records: they are retried, reported, skipped, or fail the task.

Every operation of the pipeline is a ``Step`` on a whole batch. If it raises, the batch is halved until the records that
fail are alone, unless the step says which one failed (``PartlyAppliedError``). Each is retried while it raises
RetriableError and ``errors.retry.timeout`` allows, then handed to the reporters, and then ``errors.tolerance`` decides.
An ``Error`` of Java ends the task instead.
Java: ``RetryWithToleranceOperator``, ``ProcessingContext``,
``PipelineStage``, ``LogReporter`` (KIP-298).
"""

from __future__ import annotations

import enum
import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from penstock.api.batch import Batch, SinkOrigin, SourceOrigin
from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConnectError, DataError, RetriableError
from penstock.api.returned import even
from penstock.core.config.connector import TOLERANCE
from penstock.core.config.runtime_settings import value_of
from penstock.core.model.tasks import TaskId
from penstock.hosts.errors import FatalJavaError
from penstock.pipeline.metrics import Metrics

log = logging.getLogger(__name__)

RETRY_DELAY_MIN = 0.3
MEANWHILE_SECONDS = 0.5


class PipelineStage(enum.Enum):
    """A place in the pipeline; names appear in logs and dead letter headers."""

    TASK_POLL = enum.auto()
    TASK_PUT = enum.auto()
    TRANSFORMATION = enum.auto()
    KEY_CONVERTER = enum.auto()
    VALUE_CONVERTER = enum.auto()
    HEADER_CONVERTER = enum.auto()
    KAFKA_PRODUCE = enum.auto()
    KAFKA_CONSUME = enum.auto()


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of the pipeline on a batch; it never changes the batch it is given."""

    stage: PipelineStage
    plugin: str
    """The class of the plugin, by the name that configurations use."""
    apply: Callable[[Batch], Batch]
    alias: str | None = None
    """The transform's alias in the configuration."""


class PartlyAppliedError(Exception):
    """A step has raised ``error`` for the record in this row of the batch. Those before it have been processed, with
    this result. None of them must be again: a plugin may count them, or may have changed them in place.
    """

    def __init__(self, applied: Batch, row: int, error: Exception) -> None:
        super().__init__(applied, row, error)
        self.applied, self.row, self.error = applied, row, error


@dataclass(frozen=True, slots=True)
class RecordFailure:
    """A record that failed in a step, as it was before that step; ``record`` has one row."""

    stage: PipelineStage
    plugin: str
    error: BaseException
    record: Batch
    alias: str | None = None
    original: Batch | None = None
    """The record as it was read, in bytes, if the reporter of the failure has it; one row."""

    def place(self) -> str:
        """Return where it happened, for traces and logs."""
        what = f"stage {self.stage.name}, class {self.plugin}"
        if self.alias is not None:
            what += f", transformation {self.alias}"
        match self.record.origin:
            case SinkOrigin(topics, partitions, offsets):
                return f"{what}, topic {topics[0]}, partition {partitions[0]}, offset {offsets[0]}"
            case SourceOrigin(partitions, offsets):
                what += f", topic {self.record.topics[0]}"
                return f"{what}, source partition {partitions[0]}, source offset {offsets[0]}"
            case None:
                return f"{what}, topic {self.record.topics[0]}"


def origin_of(batch: Batch, row: int) -> str:
    """Return where the source had a record from, for messages."""
    match batch.origin:
        case SourceOrigin(partitions, offsets):
            return f"source partition {partitions[row]}, source offset {offsets[row]}"
    return "of an unknown source offset"


class FailureReporter(Protocol):
    """A reporter, which is called for every failure, tolerated or not."""

    def __call__(self, failure: RecordFailure) -> None: ...


@dataclass(frozen=True, slots=True)
class ErrorSettings:
    """The settings ``errors.*`` of a connector; times in seconds, a negative ``retry_timeout`` means without end."""

    tolerate: bool = False
    retry_timeout: float = 0.0
    retry_delay_max: float = 60.0
    log: bool = False
    log_messages: bool = False

    @classmethod
    def of(cls, config: Mapping[str, str]) -> ErrorSettings:
        def flag(name: str) -> bool:
            return value_of(config, name).strip().lower() == "true"

        def seconds(name: str) -> float:
            return float(parse_type(name, value_of(config, name), ConfigType.LONG) / 1000)

        return cls(
            tolerate=value_of(config, TOLERANCE).strip().lower() == "all",
            retry_timeout=seconds("errors.retry.timeout"),
            retry_delay_max=seconds("errors.retry.delay.max.ms"),
            log=flag("errors.log.enable"),
            log_messages=flag("errors.log.include.messages"),
        )


class StoppedError(ConnectError):
    """The task was stopped while it retried a record, which was neither processed nor skipped."""


Ended = ConnectError | FatalJavaError
"""The errors that end the processing of records."""


class ErrorHandler:
    """Runs steps under the settings ``errors.*`` of one task.

    ``wait`` sleeps so many seconds and returns True if the task is stopped meanwhile; StoppedError is raised then.
    """

    def __init__(
        self,
        settings: ErrorSettings,
        metrics: Metrics,
        wait: Callable[[float], bool],
        reporters: tuple[FailureReporter, ...] = (),
    ) -> None:
        self.settings, self.metrics = settings, metrics
        self._wait, self._reporters = wait, reporters
        self.meanwhile: Callable[[], None] | None = None
        """Called repeatedly while a record waits for its next attempt, for what must not wait with it."""

    def run(self, steps: list[Step], batch: Batch) -> Batch:
        """The batch after all steps, without the records that were dropped or skipped.

        Raises ConnectError, ``Tolerance exceeded in error handler``, caused by the error of the first record that
        failed; or FatalJavaError.
        """
        batch, error = self.run_until(steps, batch)
        if error is not None:
            raise error
        return batch

    def run_until(self, steps: list[Step], batch: Batch) -> tuple[Batch, Ended | None]:
        """Do what ``run`` does, but return what it would raise, with the records before the one that failed.

        Failures are reported in the order of the records: from the step that failed on, each half of the batch passes
        all steps before the next half, and nothing after the record that fails the task is processed.
        """
        for i, step in enumerate(steps):
            if len(batch) == 1:
                try:
                    batch = self._run_one(step, batch)
                except (ConnectError, FatalJavaError) as e:
                    return batch.select(()), e
            elif len(batch):
                match _attempted(step, batch):
                    case PartlyAppliedError() as stop:
                        return self._around(steps[i:], batch, stop)
                    case Exception():
                        return self._halves(steps[i:], batch)
                    case made:
                        batch = made
        return batch, None

    def _around(self, steps: list[Step], batch: Batch, stop: PartlyAppliedError) -> tuple[Batch, Ended | None]:
        before, error = self.run_until(steps[1:], stop.applied)
        if error is not None:
            return before, error
        try:
            alone = self._run_one(steps[0], batch.select((stop.row,)), stop.error)
        except (ConnectError, FatalJavaError) as e:
            return before, e
        alone, error = self.run_until(steps[1:], alone)
        if error is not None:
            return Batch.concat([before, alone]), error
        behind, error = self._halves(steps, batch.select(range(stop.row + 1, len(batch))))
        return Batch.concat([before, alone, behind]), error

    def _halves(self, steps: list[Step], batch: Batch) -> tuple[Batch, Ended | None]:
        middle = len(batch) // 2
        first, error = self.run_until(steps, batch.select(range(middle)))
        if error is not None:
            return first, error
        second, error = self.run_until(steps, batch.select(range(middle, len(batch))))
        return Batch.concat([first, second]), error

    def _run_one(self, step: Step, record: Batch, raised: Exception | None = None) -> Batch:
        """``raised``: by the first attempt, if that has been made."""
        started, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            try:
                if raised is not None and attempt == 1:
                    raise raised
                return even(step.apply(record))
            except FatalJavaError:
                raise
            except RetriableError as e:
                self.metrics.add("total-record-failures")
                if self._may_retry(started, attempt, e):
                    self.metrics.add("total-retries")
                    continue
                error: Exception = e
            except Exception as e:
                self.metrics.add("total-record-failures")
                error = nested_too_deeply(e) if isinstance(e, RecursionError) else e
            self.metrics.add("total-record-errors")
            self._failed(RecordFailure(step.stage, step.plugin, error, record, step.alias))
            self.metrics.add("total-records-skipped")
            return record.select(())

    def _may_retry(self, started: float, attempt: int, error: RetriableError) -> bool:
        """Wait before the next attempt; False if there is none."""
        limit = self.settings.retry_timeout
        left = float("inf") if limit < 0 else started + limit - time.monotonic()
        if left <= 0:
            return False
        delay = RETRY_DELAY_MIN * 2.0 ** min(attempt - 1, 30)
        if delay > self.settings.retry_delay_max:
            delay = random.uniform(0, self.settings.retry_delay_max)
        if self._pause(min(delay, left)):
            raise StoppedError("The task was stopped while an operation on a record was to be tried again") from error
        return True

    def _pause(self, seconds: float) -> bool:
        """Whether the task is stopped meanwhile."""
        if self.meanwhile is None:
            return self._wait(seconds)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.meanwhile()
            if self._wait(min(left, MEANWHILE_SECONDS)):
                return True
        return False

    def failed(self, failure: RecordFailure) -> None:
        """An operation outside of the steps failed for this record; raises as ``run`` does unless it is tolerated.

        As Java's ``executeFailed`` it counts an error only if it is not.
        """
        self.metrics.add("total-record-failures")
        if not self.settings.tolerate:
            self.metrics.add("total-record-errors")
        self._failed(failure)

    def _failed(self, failure: RecordFailure) -> None:
        self.metrics.put("last-error-timestamp", int(time.time() * 1000))
        self.metrics.survived(failure.error)
        for report in self._reporters:
            report(failure)
        if not self.settings.tolerate:
            exceeded = ConnectError("Tolerance exceeded in error handler")
            exceeded.add_note(f"In {failure.place()}")
            raise exceeded from failure.error


def nested_too_deeply(error: RecursionError) -> DataError:
    """Return the error for a record that Python's stack is too small for."""
    deep = DataError("The record is nested too deeply for this step, or its schema contains itself")
    deep.__cause__ = error
    return deep


def _attempted(step: Step, batch: Batch) -> Batch | Exception:
    """Return what the step makes of the batch, or raises: not raised here, so that it does not become the context of
    what the records raise afterwards, one by one.
    """
    try:
        return even(step.apply(batch))
    except Exception as e:
        return e


class LogReporter:
    """``errors.log.enable`` and ``errors.log.include.messages``: every failure as one line, with Java's words."""

    def __init__(self, task: TaskId, settings: ErrorSettings, metrics: Metrics) -> None:
        self._task, self.settings, self._metrics = task, settings, metrics

    def __call__(self, failure: RecordFailure) -> None:
        if self.settings.log:
            log.error("%s", self.message(failure), exc_info=failure.error)
            self._metrics.add("total-errors-logged")

    def message(self, failure: RecordFailure) -> str:
        text = f"Error encountered in task {self._task}. Executing stage '{failure.stage.name}'"
        text += f" with class '{failure.plugin}'"
        return text + (self.record_text(failure.record) if self.settings.log_messages else "") + "."

    def record_text(self, record: Batch) -> str:
        """Return the text on a consumed record in the message; a source's reporter has its own."""
        origin = record.origin
        if not isinstance(origin, SinkOrigin):
            return ""
        time_text, kind = "", origin.timestamp_types[0]
        if kind != "NoTimestampType":
            time_text = f", timestamp={record.timestamps[0]}, timestampType={kind}"
        place = f"topic='{origin.topics[0]}', partition={origin.partitions[0]}, offset={origin.offsets[0]}{time_text}"
        return f", where consumed record is {{{place}}}"
