"""Events of connectors and tasks that run here, and what they mean for their status.

Java: the Listener methods of AbstractHerder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from penstock.api.errors import ConnectError
from penstock.core.group.membership import Membership
from penstock.core.model import actions
from penstock.core.model.events import (
    ConnectorDelayed,
    ConnectorEnded,
    ConnectorEvent,
    ConnectorFailed,
    ConnectorPaused,
    ConnectorRunning,
    ConnectorStopped,
    ReconfigurationWanted,
)
from penstock.core.model.output import Output
from penstock.core.model.records import StateName
from penstock.core.model.state import PAUSED, STARTED, STOPPED
from penstock.core.model.tasks import (
    OffsetsReported,
    TaskEnded,
    TaskEvent,
    TaskFailed,
    TaskLost,
    TaskMetrics,
    TaskPaused,
    TaskRunning,
    TaskWaiting,
    TopicSeen,
)
from penstock.core.reconfiguration import Reconfigurations
from penstock.core.status.writer import StatusWriter
from penstock.core.topic_tracking import TopicTracking
from penstock.core.work import ConnectorRun, Phase, TaskRun, Work

VANISHED = (
    f"{ConnectError.java_name}: The task ended without being asked to and without saying why; "
    "its process may have been killed\n"
)
SOON_MS = 60_000
MAX_LOSSES = 5
"""A task that is lost more often than this in a row fails: an operator has to look."""
TARGETS = {"RUNNING": STARTED, "PAUSED": PAUSED, "STOPPED": STOPPED}


@dataclass(slots=True)
class ConnectorEvents:
    work: Work
    writer: StatusWriter
    reconfigurations: Reconfigurations

    def handle(self, event: ConnectorEvent) -> None:
        run = self.work.connector(event.name, event.run)
        if run is None:
            return
        match event:
            case ConnectorRunning(version=version):
                self._reached(run, Phase.RUNNING, "RUNNING", version)
                self.reconfigurations.request(run.name)
            case ConnectorPaused(version=version):
                self._reached(run, Phase.PAUSED, "PAUSED", version)
            case ConnectorStopped(version=version):
                self._reached(run, Phase.PAUSED, "STOPPED", version)
            case ConnectorFailed(trace=trace, version=version):
                run.made = version is not None
                self._reached(run, Phase.FAILED, "FAILED", version, trace)
            case ConnectorDelayed(reason=reason):
                self._delayed(run, reason)
            case ReconfigurationWanted():
                self.reconfigurations.request(run.name)
            case ConnectorEnded():
                if run.phase is Phase.STOPPING:
                    self.writer.put_connector(run.name, "UNASSIGNED", safe=True)
                self.work.ended(run)

    def _reached(
        self, run: ConnectorRun, phase: Phase, state: StateName, version: str | None, trace: str | None = None
    ) -> None:
        if run.phase is Phase.STOPPING:
            return
        if run.phase is Phase.FAILED and phase is not Phase.FAILED:
            run.target, self.work.dirty = TARGETS[state], True  # the target may have changed while it had failed
        run.phase = phase
        self.writer.put_connector(run.name, state, version=version, trace=trace, safe=state == "FAILED")

    def _delayed(self, run: ConnectorRun, reason: str | None) -> None:
        """Its state is that of before the long call; the status says what is waited for."""
        last = run.last_status
        if run.phase in (Phase.STOPPING, Phase.FAILED) or (reason is None and last is None):
            return
        state = "UNASSIGNED" if last is None or last.state is None else last.state
        version = None if last is None else last.version
        self.writer.put_connector(run.name, state, version=version, trace=reason, safe=True)


@dataclass(slots=True)
class TaskEvents:
    output: Output
    membership: Membership
    work: Work
    writer: StatusWriter
    topics: TopicTracking

    def handle(self, event: TaskEvent) -> None:
        task = self.work.task(event.id, event.run)
        if task is None:
            return
        match event:
            case TaskRunning(degraded_reason=reason):
                self._reached(task, Phase.RUNNING, "RUNNING", reason)
            case TaskPaused():
                self._reached(task, Phase.PAUSED, "PAUSED")
            case TaskWaiting(reason=reason):
                if task.phase is Phase.STARTING:
                    self.writer.put_task(task.id, "UNASSIGNED", trace=reason, safe=True)
            case TaskFailed(trace=trace):
                if task.phase is Phase.STOPPING:
                    self.output.log("WARNING", f"Task {task.id} failed while it was being stopped:\n{trace}")
                else:
                    self.writer.fail_task(task, trace)
            case TaskLost(reason=reason):
                self._lost(task, reason)
            case TaskEnded():
                self._ended(task)
            case TopicSeen(topic=topic):
                self.topics.seen(task.id, topic)
            case OffsetsReported() | TaskMetrics():
                pass  # handled by the worker, outside the herder

    def _reached(self, task: TaskRun, phase: Phase, state: StateName, reason: str | None = None) -> None:
        if task.phase in (Phase.STARTING, Phase.RUNNING, Phase.PAUSED):
            task.phase = phase
            self.writer.put_task(task.id, state, trace=reason)

    def _lost(self, task: TaskRun, reason: str) -> None:
        self.output.log("WARNING", f"Task {task.id} has lost contact with this worker. {reason}")
        if task.phase is Phase.FAILED:
            return
        task.lost = True
        if task.phase is Phase.STOPPING:
            return
        losses, last = self.work.losses.get(task.id, (0, 0))
        losses = losses + 1 if self.output.now - last < SOON_MS else 1
        self.work.losses[task.id] = losses, self.output.now
        if losses > MAX_LOSSES:
            trace = f"{ConnectError.java_name}: {reason}. That has happened {losses} times in a row.\n"
            self.writer.fail_task(task, trace)
        else:
            task.phase = Phase.LOST
            self.writer.put_task(task.id, "UNASSIGNED", trace=f"{reason}. The task is started again.", safe=True)

    def _ended(self, task: TaskRun) -> None:
        match task.phase:
            case Phase.STOPPING:
                self.writer.put_task(task.id, "UNASSIGNED", safe=True)
            case Phase.FAILED | Phase.LOST:
                pass
            case Phase.STARTING | Phase.RUNNING | Phase.PAUSED | Phase.PREPARING:
                self.writer.fail_task(task, VANISHED)
            case _ as never:
                assert_never(never)
        if task.lost and task.phase is not Phase.FAILED:
            # The group knows whether the task is still this worker's.
            if not self.work.unsure and self.membership.assignment is not None:
                self.output.emit(actions.Rejoin(f"task {task.id} had lost this worker and is to start again"))
            self.work.unsure.add(task.id)
        self.work.ended(task)
