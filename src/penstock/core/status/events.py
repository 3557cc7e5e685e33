"""What is told of connectors and tasks that run here, and what that means for their status (Java.

The Listener methods of AbstractHerder).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from penstock.api.errors import ConnectError
from penstock.core import reconfiguration
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
from penstock.core.model.flow import Flow
from penstock.core.model.records import ConnectorStatus, StateName, TaskStatus
from penstock.core.model.state import PAUSED, STARTED, STOPPED
from penstock.core.model.tasks import (
    OffsetsReported,
    TaskEnded,
    TaskEvent,
    TaskFailed,
    TaskId,
    TaskLost,
    TaskMetrics,
    TaskPaused,
    TaskRunning,
    TaskWaiting,
    TopicSeen,
)
from penstock.core.work import ConnectorRun, Phase, TaskRun

if TYPE_CHECKING:
    from penstock.core.herder import Herder

VANISHED = (
    f"{ConnectError.java_name}: The task ended without being asked to and without saying why; "
    "its process may have been killed\n"
)


SOON_MS = 60_000
MOST_LOSSES = 5
"""Tasks that are lost again and again fail: somebody has to look."""
TARGETS = {"RUNNING": STARTED, "PAUSED": PAUSED, "STOPPED": STOPPED}
WITHOUT_VERSION = ("UNASSIGNED", "RESTARTING")
"""States of something that is not there for the moment: no version is written with them."""


def on_connector(herder: Herder, event: ConnectorEvent) -> None:
    run = herder.work.connector(event.name, event.run)
    if run is None:
        return
    match event:
        case ConnectorRunning(version=version):
            _connector_is(herder, run, Phase.RUNNING, "RUNNING", version)
            reconfiguration.request(herder, run.name)
        case ConnectorPaused(version=version):
            _connector_is(herder, run, Phase.PAUSED, "PAUSED", version)
        case ConnectorStopped(version=version):
            _connector_is(herder, run, Phase.PAUSED, "STOPPED", version)
        case ConnectorFailed(trace=trace, version=version):
            run.made = version is not None
            _connector_is(herder, run, Phase.FAILED, "FAILED", version, trace)
        case ConnectorDelayed(reason=reason):
            _connector_delayed(herder, run, reason)
        case ReconfigurationWanted():
            reconfiguration.request(herder, run.name)
        case ConnectorEnded():
            if run.phase is Phase.STOPPING:
                put_connector(herder, run.name, "UNASSIGNED", safe=True)
            herder.work.ended(run)


def _connector_delayed(herder: Herder, run: ConnectorRun, reason: str | None) -> None:
    """Its state is what it was before the call that takes so long; the status says what is waited for."""
    told = run.told
    if run.phase in (Phase.STOPPING, Phase.FAILED) or (reason is None and told is None):
        return
    state = "UNASSIGNED" if told is None or told.state is None else told.state
    version = None if told is None else told.version
    put_connector(herder, run.name, state, version=version, trace=reason, safe=True)


def on_status(herder: Herder, record: ConnectorStatus | TaskStatus) -> None:
    """Somebody else's late word of what this worker runs must not be the last one."""
    run = herder.work.find(record.name if isinstance(record, ConnectorStatus) else record.id)
    own, newer = record.worker_id == herder.settings.worker_id, record.generation >= herder.place.generation
    if run is None or (record.state is not None and (own or (newer and record.state != "UNASSIGNED"))):
        return

    def flow() -> Flow:
        yield actions.ReadConfigToEnd()  # so that there is no quarrel with a leader that has cleared it away
        told, statuses = run.told, herder.statuses
        if told is None or run.phase is Phase.STOPPING or not herder.work.is_current(run):
            return
        known = statuses.connectors.get(told.name) if isinstance(told, ConnectorStatus) else statuses.task(told.id)
        if record.state is not None or known is None:  # else it has been told again since
            herder.emit(actions.AppendStatus((replace(told, generation=herder.place.generation),)))

    herder.start(flow(), what="Telling of a status again")


def _connector_is(
    herder: Herder, run: ConnectorRun, phase: Phase, state: StateName, version: str | None, trace: str | None = None
) -> None:
    if run.phase is Phase.STOPPING:
        return
    if run.phase is Phase.FAILED and phase is not Phase.FAILED:
        run.target, herder.work.dirty = TARGETS[state], True  # it may have been wanted otherwise while it had failed
    run.phase = phase
    put_connector(herder, run.name, state, version=version, trace=trace, safe=state == "FAILED")


def put_connector(
    herder: Herder,
    name: str,
    state: StateName,
    *,
    version: str | None = None,
    trace: str | None = None,
    safe: bool = False,
) -> None:
    """Write the connector's status.

    Its tombstone if it has been deleted; nothing if ``safe`` and another has taken over.
    """
    connector = herder.state.connectors.get(name)
    if connector is None:
        if name in herder.statuses.connectors:
            herder.emit(actions.AppendStatus((ConnectorStatus(name, None),)))
        return
    status = ConnectorStatus(name, state, herder.settings.worker_id, herder.place.generation, trace, version)
    _write(herder, name, status, safe)


def on_task(herder: Herder, event: TaskEvent) -> None:
    task = herder.work.task(event.id, event.run)
    if task is None:
        return
    match event:
        case TaskRunning(trouble=trouble):
            _task_is(herder, task, Phase.RUNNING, "RUNNING", trouble)
        case TaskPaused():
            _task_is(herder, task, Phase.PAUSED, "PAUSED")
        case TaskWaiting(reason=reason):
            if task.phase is Phase.STARTING:
                put_task(herder, task.id, "UNASSIGNED", trace=reason, safe=True)
        case TaskFailed(trace=trace):
            if task.phase is Phase.STOPPING:
                herder.log("WARNING", f"Task {task.id} failed while it was being stopped:\n{trace}")
            else:
                fail_task(herder, task, trace)
        case TaskLost(reason=reason):
            _task_lost(herder, task, reason)
        case TaskEnded():
            _task_ended(herder, task)
        case TopicSeen(topic=topic):
            if herder.settings.topic_tracking and task.id.connector in herder.state.connectors:
                record = herder.statuses.topics.discover(task.id.connector, topic, task.id.task, herder.now)
                if record is not None:
                    herder.emit(actions.AppendStatus((record,)))
        case OffsetsReported() | TaskMetrics():
            pass  # the worker's own affair


def _task_is(herder: Herder, task: TaskRun, phase: Phase, state: StateName, trouble: str | None = None) -> None:
    if task.phase is Phase.STARTING or task.phase in (Phase.RUNNING, Phase.PAUSED):
        task.phase = phase
        put_task(herder, task.id, state, trace=trouble)


def _task_lost(herder: Herder, task: TaskRun, reason: str) -> None:
    herder.log("WARNING", f"Task {task.id} has lost its worker. {reason}")
    if task.phase is Phase.FAILED:
        return
    task.lost = True
    if task.phase is Phase.STOPPING:
        return
    losses, last = herder.work.losses.get(task.id, (0, 0))
    losses = losses + 1 if herder.now - last < SOON_MS else 1
    herder.work.losses[task.id] = losses, herder.now
    if losses > MOST_LOSSES:
        fail_task(herder, task, f"{ConnectError.java_name}: {reason}. That has happened {losses} times in a row.\n")
    else:
        task.phase = Phase.LOST
        put_task(herder, task.id, "UNASSIGNED", trace=f"{reason}. The task is started again.", safe=True)


def _task_ended(herder: Herder, task: TaskRun) -> None:
    match task.phase:
        case Phase.STOPPING:
            put_task(herder, task.id, "UNASSIGNED", safe=True)
        case Phase.FAILED | Phase.LOST:
            pass
        case Phase.STARTING | Phase.RUNNING | Phase.PAUSED | Phase.PREPARING:
            fail_task(herder, task, VANISHED)
        case _ as never:
            assert_never(never)
    if task.lost and task.phase is not Phase.FAILED:
        # The group knows whether the task is still this worker's.
        if not herder.work.unsure and herder.place.assignment is not None:
            herder.emit(actions.Rejoin(f"task {task.id} had lost this worker and is to start again"))
        herder.work.unsure.add(task.id)
    herder.work.ended(task)


def fail_task(herder: Herder, task: TaskRun, trace: str) -> None:
    task.phase = Phase.FAILED
    put_task(herder, task.id, "FAILED", trace=trace, safe=True)


def put_task(herder: Herder, id: TaskId, state: StateName, *, trace: str | None = None, safe: bool = False) -> None:
    """As ``put_connector``. Of a task that its connector no longer has the end is told, and then its tombstone."""
    connector = herder.state.connectors.get(id.connector)
    here = herder.settings.worker_id, herder.place.generation
    if connector is None or herder.state.task_config(id) is None:
        if herder.statuses.task(id) is not None:
            herder.emit(actions.AppendStatus((TaskStatus(id, "UNASSIGNED", *here), TaskStatus(id, None))))
        return
    version = None if state in WITHOUT_VERSION else herder.plugins.version(connector.config)
    status = TaskStatus(id, state, *here, trace, version)
    _write(herder, id, status, safe)


def _write(herder: Herder, what: str | TaskId, status: ConnectorStatus | TaskStatus, safe: bool) -> None:
    run = herder.work.find(what)
    if run is not None:
        run.told = status
    if not (safe and herder.statuses.superseded(status)):
        herder.emit(actions.AppendStatus((status,)))
