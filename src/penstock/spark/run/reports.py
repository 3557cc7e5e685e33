"""What a run of a task tells the worker's loop: its states, and what its process sends while it is admitted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

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
from penstock.spark.channel import Message

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

    def heard(self, message: Message) -> None:
        """Called with every message of the task's process, in order; those about other things change nothing."""
        id, run = self._id, self._run
        match message["say"]:
            case "running":
                self._deliver(TaskRunning(id, run, message.get("degraded_reason")))
            case "stalled":
                self._deliver(TaskStalled(id, run, message["reason"]))
            case "waiting":
                self.waiting(message["reason"])
            case "paused":
                self._deliver(TaskPaused(id, run))
            case "lost":
                self.lost(message["reason"], died=message.get("died", False))
            case "failed":
                self._failed(message["trace"])
            case "topic":
                self._deliver(TopicSeen(id, run, message["topic"]))
            case "offsets":
                self._deliver(OffsetsReported(id, run, tuple((p, o) for p, o in message["offsets"])))
            case "metrics":
                self._deliver(TaskMetrics(id, run, message["values"]))
            case "log":
                self._log(message)

    def _failed(self, trace: str) -> None:
        whose = {"connector": self._id.connector, "task": self._id.task}
        log.error("Task %s has failed\n%s", self._id, trace.rstrip(), extra=whose)
        self._deliver(TaskFailed(self._id, self._run, trace))

    def _log(self, message: Message) -> None:
        logger = logging.getLogger(message["name"])
        if logger.isEnabledFor(message["level"]):
            # The connector and the task are Java's `connector.context`; the thread's name is Java's as well.
            name, level = message["name"], message["level"]
            record = logger.makeRecord(name, level, message["path"], message["line"], message["text"], (), None)
            record.connector, record.task = self._id.connector, self._id.task
            record.trace = message.get("trace")
            record.created, record.msecs = message["created"], message["created"] % 1 * 1000
            record.threadName = f"task-thread-{self._id}"
            logger.handle(record)
