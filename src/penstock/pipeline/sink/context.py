"""What a sink task may ask of its loop. Java: ``WorkerSinkTaskContext``, ``WorkerErrantRecordReporter`` (KIP-610)."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterable, Mapping

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, IllegalWorkerStateError
from penstock.api.plugin_metrics import PluginMetrics
from penstock.api.record import SinkRecord
from penstock.api.sink import ErrantRecordReporter, TopicPartition
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import ErrorHandler, Failure, Stage
from penstock.pipeline.sink.member import GroupMember
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins

SINK_TASK_CLASS = "org.apache.kafka.connect.sink.SinkTask"

Partitions = frozenset[TopicPartition]


class Flow(enum.Enum):
    """What a task asks for partitions: that they are fetched from, or not."""

    PAUSE = "pause"
    RESUME = "resume"


class SinkContext:
    """The ``SinkTaskContext`` of one run. Keeps the task's requests until the loop takes them.

    The task may call from any of its threads. Its requests can't be carried out in those threads: the consumer's
    ``pause`` and ``resume`` block while the loop polls.
    """

    member: GroupMember
    """Set before the task starts."""

    def __init__(
        self,
        configs: Mapping[str, str],
        reporter: WorkerErrantRecordReporter | None,
        plugin_metrics: PluginMetrics | None = None,
    ) -> None:
        self.configs = configs
        self.plugin_metrics: PluginMetrics = plugin_metrics or MetricsOfPlugins({}).of()
        self._reporter = reporter
        self._lock = threading.Lock()
        self._assigned: Partitions = frozenset()
        self._paused: Partitions = frozenset()
        self._flow: list[tuple[Flow, Partitions]] = []
        self._rewinds: dict[TopicPartition, int] = {}
        self._retry_after: float | None = None
        self._commit_requested = False

    # -- called by the task

    @property
    def assignment(self) -> Partitions:
        return self._assigned

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        return self._reporter

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        with self._lock:
            self._rewinds.update({TopicPartition(*partition): offset for partition, offset in offsets.items()})

    def timeout(self, milliseconds: int) -> None:
        with self._lock:
            self._retry_after = max(milliseconds, 0) / 1000

    def pause(self, *partitions: TopicPartition) -> None:
        with self._lock:
            asked = self._checked(Flow.PAUSE, partitions)
            self._paused |= asked
            self._flow.append((Flow.PAUSE, asked))

    def resume(self, *partitions: TopicPartition) -> None:
        with self._lock:
            asked = self._checked(Flow.RESUME, partitions)
            self._paused -= asked
            self._flow.append((Flow.RESUME, asked))

    def _checked(self, flow: Flow, partitions: tuple[TopicPartition, ...]) -> Partitions:
        asked = frozenset(TopicPartition(*partition) for partition in partitions)
        if not asked <= self._assigned:
            raise IllegalWorkerStateError(
                f"SinkTasks may not {flow.value} partitions that are not currently assigned to them."
            )
        return asked

    def request_commit(self) -> None:
        with self._lock:
            self._commit_requested = True

    # -- called by a task in a JVM

    def report_original(self, original: Batch, error: BaseException) -> None:
        """Report an errant record, as it was read: bytes, one row. Raises as ``ErrantRecordReporter.report`` does."""
        assert self._reporter is not None
        self._reporter.report_original(original, error)

    # -- called by the loop

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        with self._lock:
            self._assigned |= frozenset(partitions)
            self._paused &= self._assigned

    def revoke(self, partitions: Iterable[TopicPartition], for_good: bool = True) -> None:
        """Not ``for_good``: those that the assignment after this rebalance has again stay paused, as in Java."""
        with self._lock:
            self._assigned -= frozenset(partitions)
            if for_good:
                self._paused &= self._assigned

    @property
    def paused(self) -> Partitions:
        """The partitions that the task has paused."""
        with self._lock:
            return self._paused & self._assigned

    def take_flow(self) -> list[tuple[Flow, Partitions]]:
        """The pauses and resumptions since the last call, in order."""
        with self._lock:
            flow, self._flow = self._flow, []
        return flow

    @property
    def rewinds(self) -> dict[TopicPartition, int]:
        """The offsets from which the task wants to read again."""
        with self._lock:
            return dict(self._rewinds)

    def end_rewind(self, partition: TopicPartition, offset: int) -> None:
        """The consumer is at this offset, or has lost the partition. A later request for the partition stays."""
        with self._lock:
            if self._rewinds.get(partition) == offset:
                del self._rewinds[partition]

    def take_rewinds(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The requests for these partitions; they are answered."""
        with self._lock:
            return {each: self._rewinds.pop(each) for each in partitions if each in self._rewinds}

    def take_retry_after(self) -> float | None:
        """Seconds to wait at most before the next put, or before the next attempt, if the task said so."""
        with self._lock:
            seconds, self._retry_after = self._retry_after, None
        return seconds

    @property
    def commit_requested(self) -> bool:
        return self._commit_requested

    def take_commit_request(self) -> bool:
        """Whether a commit was requested since the last call."""
        with self._lock:
            requested, self._commit_requested = self._commit_requested, False
        return requested

    def check_reported(self) -> None:
        """Raises what ``report`` raised, if the task has swallowed it."""
        if self._reporter is not None:
            self._reporter.check()

    def settling(self, queue: DeadLetterQueue | None, seconds: float) -> Callable[[], bool]:
        """A function for the loop to call before ``pre_commit`` and after it, in which a task may report, too: it waits
        for dead letters, so many seconds at most, and says whether all have arrived. It raises ConnectError if one
        never will, or if a report since now was not tolerated.
        """
        failed = self._reporter is not None and self._reporter.failed

        def settle() -> bool:
            arrived = queue is None or queue.arrived(seconds)
            if not failed:
                self.check_reported()
            return arrived

        return settle


class WorkerErrantRecordReporter:
    """The ``ErrantRecordReporter`` of a task whose connector has a dead letter queue or logs errors."""

    def __init__(self, errors: ErrorHandler) -> None:
        self._errors = errors
        self._raised: ConnectError | None = None

    def report(self, record: SinkRecord, error: BaseException) -> None:
        self._failed(Failure(Stage.TASK_PUT, SINK_TASK_CLASS, error, Batch.of_sink_records([record])))

    def report_original(self, original: Batch, error: BaseException) -> None:
        """``report`` for a record as it was read from its topic, bytes; a batch of one row."""
        self._failed(Failure(Stage.TASK_PUT, SINK_TASK_CLASS, error, original, original=original))

    def _failed(self, failure: Failure) -> None:
        try:
            self._errors.failed(failure)
        except ConnectError as e:
            self._raised = e
            raise

    @property
    def failed(self) -> bool:
        return self._raised is not None

    def check(self) -> None:
        if self._raised is not None:
            raise self._raised
