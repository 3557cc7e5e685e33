"""Events that a run of a task delivers to the worker's loop, and the reasons why its process ended."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from typing import Any, assert_never

from penstock.core.model.tasks import (
    OffsetsReported,
    SkipOver,
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
from penstock.spark.admission import Link
from penstock.spark.messages.task import (
    CommittedOffsetsRequest,
    DoneReport,
    FailedReport,
    GroupMemberReport,
    LogLine,
    LogReport,
    LostReport,
    MetricsReport,
    NotHostedReport,
    OffsetsReport,
    PausedReport,
    RunningReport,
    SkipReport,
    StalledReport,
    TaskReport,
    TopicReport,
    WaitingReport,
)
from penstock.spark.run.process import SETTLING, TaskProcess
from penstock.spark.run.sharing import SharedProcess
from penstock.spark.supervisor import JAVA_ENDS, JobEnd
from penstock.spark.task_exit import crashed_on_executor, lost_with_executor

log = logging.getLogger(__name__)

LINES_DROPPED = "penstock-log-lines-dropped-total"
LossReason = tuple[str, bool]
"""The reason for the status of a task that was lost, and whether its process ended by itself."""


class TaskReports:
    """Each method delivers one event of this run; ``deliver`` returns at once."""

    def __init__(
        self,
        id: TaskId,
        run: int,
        deliver: Callable[[Any], None],
        write: Callable[[Callable[[], None]], None] = lambda lines: lines(),
    ) -> None:
        """``write`` calls a function that logs lines, now or later, in the order in which it gets them."""
        self._id, self._run, self._deliver, self._write = id, run, deliver, write
        self._dropped = 0
        """Lines that were more than the log could take."""

    def waiting(self, reason: str) -> None:
        self._deliver(TaskWaiting(self._id, self._run, reason))

    def lost(self, reason: str, died: bool = False) -> None:
        """Report that the task is lost. ``died``: whether its process ended by itself."""
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
            case SkipReport():
                self._deliver(SkipOver(id, run, report.skip))
            case OffsetsReport():
                self._deliver(OffsetsReported(id, run, report.offsets))
            case MetricsReport():
                self._deliver(TaskMetrics(id, run, report.values | {LINES_DROPPED: self._dropped}))
            case LogReport():
                self._dropped += report.dropped
                self._write(functools.partial(self._log, report))
            case CommittedOffsetsRequest() | GroupMemberReport() | NotHostedReport() | DoneReport():
                pass  # concern the run alone
            case _:
                assert_never(report)

    def _failed(self, trace: str) -> None:
        # After the lines that the task has logged before.
        self._write(lambda: log.error("Task %s has failed\n%s", self._id, trace.rstrip(), extra=self._whose))
        self._deliver(TaskFailed(self._id, self._run, trace))

    @property
    def _whose(self) -> dict[str, Any]:
        return {"connector": self._id.connector, "task": self._id.task}

    def _log(self, report: LogReport) -> None:
        for line in report.lines:
            self._log_line(line)
        if report.dropped:
            log.warning("%d lines dropped: task %s logs faster than its worker can write",
                        report.dropped, self._id, extra=self._whose)  # fmt: skip

    def _log_line(self, line: LogLine) -> None:
        logger = logging.getLogger(line.name)
        if logger.isEnabledFor(line.level):
            # The connector and the task are Java's `connector.context`; the thread's name is Java's as well.
            record = logger.makeRecord(line.name, line.level, line.path, line.line, line.text, (), None)
            record.connector, record.task = self._id.connector, self._id.task
            record.trace = line.trace
            record.created, record.msecs = line.created, line.created % 1 * 1000
            record.threadName = f"task-thread-{self._id}"
            logger.handle(record)


def silent_reason(link: Link, lease: float) -> LossReason:
    return f"No heartbeat of the task ({_place(link)}) for {lease:g} s: it is frozen or cut off", False


async def end_reason(link: Link, job: asyncio.Future[JobEnd] | None, process: TaskProcess, query: bool) -> LossReason:
    """Return why a task that closed its channel ended, from Spark's job or its exit status; wait a little for both."""
    where = _place(link)
    if job is not None:
        # A query's job ends with Java, which is given its own time to end.
        await asyncio.wait({job}, timeout=SETTLING + 2 * JAVA_ENDS if query else SETTLING)
        if job.done() and job.result().driver_died:
            return f"The task ended with Spark ({where}): {job.result().error}", False
    error = job.result().error if job is not None and job.done() else None
    if lost_with_executor(error):
        return f"The task ended with its executor ({where}): {error}", False
    seen = await process.ended_how()
    how, died = ("it was killed, or it crashed", crashed_on_executor(error)) if seen is None else seen
    return f"The process of the task ended without a report ({where}): {how}", died


def ended_by_another(process: SharedProcess, group: str) -> LossReason | None:
    """Return the reason if the process was ended because of another run in it, else None."""
    if process.ended_by in ("", group):
        return None
    return f"The process was ended because of run {process.ended_by} of another task in it, which did not end", False


def reason_in_company(reason: str) -> LossReason:
    """Return the reason for a task that shared a process that ended by itself: another may have ended it."""
    return f"{reason}. Other tasks were in it, and this one starts again in a process of its own", False


def _place(link: Link) -> str:
    return f"process {link.who.pid} on {link.who.host}"
