"""What a run of a task tells the worker's loop: its states, and what its process sends while it is admitted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, assert_never

from penstock.core.model.tasks import (
    OffsetsReported,
    TaskFailed,
    TaskId,
    TaskLost,
    TaskMetrics,
    TaskPaused,
    TaskRunning,
    TaskStalled,
    TaskWaiting,
    TopicSeen,
)
from penstock.pipeline.trace import trace
from penstock.spark.messages.task import (
    CommittedOffsetsRequest,
    DoneReport,
    FailedReport,
    GroupMemberReport,
    LogReport,
    LostReport,
    MetricsReport,
    NotHostedReport,
    OffsetsReport,
    PausedReport,
    RunningReport,
    StalledReport,
    TaskReport,
    TopicReport,
    WaitingReport,
)

log = logging.getLogger(__name__)


class TaskReports:
    """Each method delivers one event of this run; ``deliver`` returns at once."""

    def __init__(self, id: TaskId, run: int, deliver: Callable[[Any], None]) -> None:
        self._id, self._run, self._deliver = id, run, deliver

    def waiting(self, reason: str) -> None:
        self._deliver(TaskWaiting(self._id, self._run, reason))

    def lost(self, reason: str, died: bool = False) -> None:
        """``died``: whether its process ended by itself."""
        self._deliver(TaskLost(self._id, self._run, reason, died))

    def failed(self, reason: str) -> None:
        self._failed(f"org.apache.kafka.connect.errors.ConnectException: {reason}\n")

    def raised(self, error: BaseException) -> None:
        self._failed(trace(error))

    def heard(self, report: TaskReport) -> None:
        """Deliver what the task's process reports to the worker's loop. Called with every report, in order."""
        id, run = self._id, self._run
        match report:
            case RunningReport():
                self._deliver(TaskRunning(id, run, report.degraded_reason))
            case StalledReport():
                self._deliver(TaskStalled(id, run, report.reason))
            case WaitingReport():
                self.waiting(report.reason)
            case PausedReport():
                self._deliver(TaskPaused(id, run))
            case LostReport():
                self.lost(report.reason, died=report.died)
            case FailedReport():
                self._failed(report.trace)
            case TopicReport():
                self._deliver(TopicSeen(id, run, report.topic))
            case OffsetsReport():
                self._deliver(OffsetsReported(id, run, report.offsets))
            case MetricsReport():
                self._deliver(TaskMetrics(id, run, report.values))
            case LogReport():
                self._log(report)
            case CommittedOffsetsRequest() | GroupMemberReport() | NotHostedReport() | DoneReport():
                pass  # concern the run alone
            case _:
                assert_never(report)

    def _failed(self, trace: str) -> None:
        whose = {"connector": self._id.connector, "task": self._id.task}
        log.error("Task %s has failed\n%s", self._id, trace.rstrip(), extra=whose)
        self._deliver(TaskFailed(self._id, self._run, trace))

    def _log(self, line: LogReport) -> None:
        logger = logging.getLogger(line.name)
        if logger.isEnabledFor(line.level):
            # The connector and the task are Java's `connector.context`; the thread's name is Java's as well.
            record = logger.makeRecord(line.name, line.level, line.path, line.line, line.text, (), None)
            record.connector, record.task = self._id.connector, self._id.task
            record.trace = line.trace
            record.created, record.msecs = line.created, line.created % 1 * 1000
            record.threadName = f"task-thread-{self._id}"
            logger.handle(record)
