"""The context of a sink task. Java: ``WorkerSinkTaskContext``, ``WorkerErrantRecordReporter`` (KIP-610)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, IllegalWorkerStateError
from penstock.api.plugin_metrics import PluginMetrics
from penstock.api.record import SinkRecord
from penstock.api.sink import ErrantRecordReporter, TopicPartition
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import ErrorHandler, PipelineStage, RecordFailure
from penstock.pipeline.sink.batch import NO_PARTITIONS, Partitions
from penstock.pipeline.sink.events import (
    CommitRequested,
    Flow,
    FlowRequested,
    RewindRequested,
    TaskRequest,
    TimeoutRequested,
)
from penstock.pipeline.sink.member import SinkGroupMember
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins

SINK_TASK_CLASS = "org.apache.kafka.connect.sink.SinkTask"


class SinkContext:
    """The ``SinkTaskContext`` of one run. Keeps the task's requests, events of the machine, until the loop takes them.

    The task may call from any of its threads. Its requests can't be carried out in those threads: the consumer's
    ``pause`` and ``resume`` block while the loop polls.
    """

    member: SinkGroupMember
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
        self._assigned = NO_PARTITIONS
        self._requests: list[TaskRequest] = []

    # -- called by the task

    @property
    def assignment(self) -> Partitions:
        return self._assigned

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        return self._reporter

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._request(RewindRequested({TopicPartition(*partition): offset for partition, offset in offsets.items()}))

    def timeout(self, milliseconds: int) -> None:
        self._request(TimeoutRequested(max(milliseconds, 0) / 1000))

    def pause(self, *partitions: TopicPartition) -> None:
        self._request_flow(Flow.PAUSE, partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self._request_flow(Flow.RESUME, partitions)

    def _request_flow(self, flow: Flow, partitions: tuple[TopicPartition, ...]) -> None:
        requested = frozenset(TopicPartition(*partition) for partition in partitions)
        with self._lock:
            if not requested <= self._assigned:
                raise IllegalWorkerStateError(
                    f"SinkTasks may not {flow.value} partitions that are not currently assigned to them."
                )
            self._requests.append(FlowRequested(flow, requested))

    def request_commit(self) -> None:
        self._request(CommitRequested())

    def _request(self, request: TaskRequest) -> None:
        with self._lock:
            self._requests.append(request)

    # -- called by a task in a JVM

    def report_original(self, original: Batch, error: BaseException) -> None:
        """Report an errant record, as it was read: bytes, one row. Raises as ``ErrantRecordReporter.report`` does."""
        assert self._reporter is not None
        self._reporter.report_original(original, error)

    # -- called by the loop

    def assign(self, assigned: Partitions) -> None:
        """The task has these partitions now."""
        with self._lock:
            self._assigned = assigned

    def take_requests(self) -> list[TaskRequest]:
        """Return the task's requests since the last call, in order."""
        if not self._requests:
            return []
        with self._lock:
            requests, self._requests = self._requests, []
        return requests

    def check_reported(self) -> None:
        """Raises what ``report`` raised, if the task has swallowed it."""
        if self._reporter is not None:
            self._reporter.check()

    def settling(self, queue: DeadLetterQueue | None, seconds: float) -> Callable[[], bool]:
        """Return a function for the loop to call before ``pre_commit`` and after it, in which a task may report, too.

        It waits for dead letters, so many seconds at most, and returns whether all have arrived. It raises ConnectError
        if one never will, or if a report since now was not tolerated.
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
        self._failed(RecordFailure(PipelineStage.TASK_PUT, SINK_TASK_CLASS, error, Batch.of_sink_records([record])))

    def report_original(self, original: Batch, error: BaseException) -> None:
        """``report`` for a record as it was read from its topic, bytes; a batch of one row."""
        self._failed(RecordFailure(PipelineStage.TASK_PUT, SINK_TASK_CLASS, error, original, original=original))

    def _failed(self, failure: RecordFailure) -> None:
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
