"""Handling of the events of connectors and tasks that run on this worker: what they mean for their status.

Java: the Listener methods of AbstractHerder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from penstock.core.model.events import (
    ConnectorChange,
    ConnectorDelayed,
    ConnectorEnded,
    ConnectorFailed,
    ConnectorPaused,
    ConnectorRunning,
    ConnectorStopped,
    ReconfigurationWanted,
)
from penstock.core.model.flow import Output
from penstock.core.model.records import StateName
from penstock.core.model.state import PAUSED, STARTED, STOPPED
from penstock.core.model.tasks import (
    SkipOver,
    TaskChange,
    TaskEnded,
    TaskFailed,
    TaskLost,
    TaskPaused,
    TaskRunning,
    TaskStalled,
    TaskWaiting,
    TopicSeen,
)
from penstock.core.reconfiguration import Reconfigurations
from penstock.core.skips import Skips
from penstock.core.status.losses import Losses
from penstock.core.status.writer import StatusWriter
from penstock.core.topic_tracking import TopicTracking
from penstock.core.work import ConnectorRun, Phase, TaskRun, Work

VANISHED = "The task ended without being asked to and without saying why"
TARGETS = {"RUNNING": STARTED, "PAUSED": PAUSED, "STOPPED": STOPPED}


@dataclass(slots=True)
class ConnectorEvents:
    work: Work
    writer: StatusWriter
    reconfigurations: Reconfigurations

    def handle(self, event: ConnectorChange) -> None:
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
            case _:
                assert_never(event)

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
        """Keep the state as it was before the long call; the status says what is waited for."""
        last = run.last_status
        if run.phase in (Phase.STOPPING, Phase.FAILED) or (reason is None and last is None):
            return
        state = "UNASSIGNED" if last is None or last.state is None else last.state
        version = None if last is None else last.version
        self.writer.put_connector(run.name, state, version=version, trace=reason, safe=True)


@dataclass(slots=True)
class TaskEvents:
    output: Output
    work: Work
    writer: StatusWriter
    topics: TopicTracking
    losses: Losses
    skips: Skips

    def handle(self, event: TaskChange) -> None:
        task = self.work.task(event.id, event.run)
        if task is None:
            return
        match event:
            case TaskRunning(degraded_reason=reason):
                self._reached(task, Phase.RUNNING, "RUNNING", reason)
            case TaskPaused():
                self._reached(task, Phase.PAUSED, "PAUSED")
            case TaskStalled(reason=reason):
                self._stalled(task, reason)
            case TaskWaiting(reason=reason):
                if task.phase is Phase.STARTING:
                    self.writer.put_task(task.id, "UNASSIGNED", trace=reason, safe=True)
            case TaskFailed(trace=trace):
                if task.phase is Phase.STOPPING:
                    self.output.log("WARNING", f"Task {task.id} failed while it was being stopped:\n{trace}")
                else:
                    self.writer.fail_task(task, trace)
            case TaskLost(reason=reason, died=died):
                self.losses.lost(task, reason, died)
            case TaskEnded():
                self._ended(task)
            case TopicSeen(topic=topic):
                self.topics.seen(task.id, topic)
            case SkipOver(skip=skip):
                self.skips.over(task.id.connector, skip)
            case _:
                assert_never(event)

    def _reached(self, task: TaskRun, phase: Phase, state: StateName, reason: str | None = None) -> None:
        if task.phase in (Phase.STARTING, Phase.RUNNING, Phase.PAUSED):
            task.phase = phase
            task.running_since = self.output.now if task.running_since is None else task.running_since
            self.writer.put_task(task.id, state, trace=reason)

    def _stalled(self, task: TaskRun, reason: str | None) -> None:
        """Keep the state; the status says where the task is blocked."""
        state: dict[Phase, StateName] = {Phase.RUNNING: "RUNNING", Phase.PAUSED: "PAUSED", Phase.STARTING: "UNASSIGNED"}
        if task.phase in state:
            task.stalled = reason is not None
            if reason is not None or task.phase is not Phase.STARTING:
                self.writer.put_task(task.id, state[task.phase], trace=reason, safe=True)

    def _ended(self, task: TaskRun) -> None:
        if task.phase in (Phase.STARTING, Phase.RUNNING, Phase.PAUSED, Phase.PREPARING):
            self.losses.lost(task, VANISHED, died=True)
        if task.phase is Phase.STOPPING:
            self.writer.put_task(task.id, "UNASSIGNED", safe=True)
        elif task.phase is Phase.LOST:
            self.losses.ended(task)
        self.work.ended(task)
