"""Connectors and tasks that run on this worker, brought into line with the assignment and the config topic.

``reconcile`` compares what should run with what runs and emits actions for the difference; it is called after every
event that may have changed either, and calling it twice changes nothing. A task's run follows the commit of its
configuration: when the connector's tasks are committed again, its tasks stop, and start again only under an assignment
that was made after that commit, so that tasks of the old and the new generation never run at the same time. Nothing
starts before its predecessor has ended.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from penstock.core.group.membership import Assignment
from penstock.core.model import actions
from penstock.core.model.records import ConnectorStatus, TaskStatus
from penstock.core.model.state import PAUSED, STOPPED, ClusterState
from penstock.core.model.tasks import TaskId
from penstock.core.status.statuses import Statuses


class Phase(enum.Enum):
    PREPARING = "preparing"
    """Task that waits until the old generation has been fenced (KIP-618)."""
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    LOST = "lost"
    """Task that ends because it has lost its process or Spark, and is started again afterwards."""
    STOPPING = "stopping"


class Reconfiguration(enum.Enum):
    """Whether a connector is being asked for its task configurations."""

    IDLE = "idle"
    UNDER_WAY = "under way"
    WANTED_AGAIN = "wanted again"
    """Requested again while under way."""


@dataclass(slots=True)
class ConnectorRun:
    name: str
    run: int
    config: dict[str, str]
    target: str
    phase: Phase = Phase.STARTING
    ended: bool = False
    """Whether nothing of it is running any more; only a failed run is kept after that."""
    made: bool = True
    """Whether there is an object of its class; False after a failure to create one."""
    tasks: actions.GeneratedTasks | None = None
    """Task configurations that it generated last."""
    reconfiguration: Reconfiguration = Reconfiguration.IDLE
    last_status: ConnectorStatus | None = None
    """Last status of it that this worker wrote."""


@dataclass(slots=True)
class TaskRun:
    id: TaskId
    run: int
    position: int
    """Offset of the commit of its configuration."""
    paused: bool
    phase: Phase = Phase.STARTING
    ended: bool = False
    running_since: int | None = None
    """Time at which it first ran or was paused; milliseconds."""
    stalled: bool = False
    """Whether a method of its plugin has not returned for long."""
    last_status: TaskStatus | None = None


@dataclass(slots=True)
class Work:
    state: ClusterState
    statuses: Statuses
    emit: Callable[[actions.Action], None]
    prepare: Callable[[str], None]
    """Called with a connector whose tasks must not start before ``prepared`` is called with it."""
    must_prepare: Callable[[str], bool]
    assigned_connectors: set[str] = field(default_factory=set)
    assigned_tasks: set[TaskId] = field(default_factory=set)
    assigned_position: int = -1
    connectors: dict[str, ConnectorRun] = field(default_factory=dict)
    tasks: dict[TaskId, TaskRun] = field(default_factory=dict)
    held: set[str | TaskId] = field(default_factory=set)
    """Connectors and tasks that must not run at present, because they are being restarted."""
    held_back: dict[TaskId, TaskRun] = field(default_factory=dict)
    """Lost tasks with the run that was lost: the same configuration waits for a delay before its next start."""
    dirty: bool = False
    _runs: int = 0

    # -- what should run

    def assign(self, assignment: Assignment) -> None:
        self.assigned_connectors = set(assignment.connectors) - set(assignment.revoked_connectors)
        self.assigned_tasks = set(assignment.tasks) - set(assignment.revoked_tasks)
        self.assigned_position = assignment.offset
        self.dirty = True

    def revoke(self, connectors: Iterable[str], tasks: Iterable[TaskId]) -> None:
        self.assigned_connectors -= set(connectors)
        self.assigned_tasks -= set(tasks)
        self.dirty = True

    def assigned(self, what: str | TaskId) -> bool:
        return what in self.assigned_tasks if isinstance(what, TaskId) else what in self.assigned_connectors

    def is_stalled(self, id: TaskId) -> bool:
        """Whether the task runs here and waits too long for its plugin."""
        run = self.tasks.get(id)
        return run is not None and run.stalled and run.phase is not Phase.FAILED

    def hold(self, what: Iterable[str | TaskId]) -> None:
        """Stop these and keep them stopped until ``release``; delays of lost tasks end with it."""
        self.held |= set(what)
        for id in self.held_back.keys() & self.held:
            del self.held_back[id]
        self.dirty = True

    def release(self, what: Iterable[str | TaskId]) -> None:
        self.held -= set(what)
        self.dirty = True

    def idle(self, what: Iterable[str | TaskId]) -> bool:
        """Whether none of these is running."""
        return all(self._idle(x) for x in what)

    def _idle(self, what: str | TaskId) -> bool:
        run = self.find(what)
        return run is None or run.ended

    def forget(self, what: Iterable[str | TaskId]) -> None:
        """Forget these, which are idle: failed ones are kept until then."""
        for x in what:
            if isinstance(x, TaskId):
                self.tasks.pop(x, None)
            else:
                self.connectors.pop(x, None)

    # -- starting and stopping

    def reconcile(self) -> None:
        if not self.dirty:
            return
        self.dirty = False
        for connector in list(self.connectors.values()):
            self._update_connector(connector)
        for task in list(self.tasks.values()):
            self._update_task(task)
        for name in sorted(self.assigned_connectors - self.connectors.keys() - self.held):
            if name in self.state.connectors:
                self._start_connector(name)
        for id in sorted(self.assigned_tasks - self.tasks.keys() - self.held):
            if self._may_run(id):
                self._start_task(id)

    def _update_connector(self, run: ConnectorRun) -> None:
        known = self.state.connectors.get(run.name)
        wanted = run.name in self.assigned_connectors and run.name not in self.held
        if not wanted or known is None or known.config is not run.config:
            self._stop_connector(run)
        elif run.phase is not Phase.STOPPING and run.target != (target := self.state.target_state(run.name)):
            run.target = target
            if run.phase is not Phase.FAILED or (target == STOPPED and run.made):  # even a failed one can be stopped
                run.phase = Phase.STARTING
                self.emit(actions.ChangeConnectorState(run.name, run.run, target))

    def _stop_connector(self, run: ConnectorRun) -> None:
        if run.ended:
            del self.connectors[run.name]
        elif run.phase is not Phase.STOPPING:
            run.phase = Phase.STOPPING
            self.emit(actions.StopConnectorRun(run.name, run.run))

    def _start_connector(self, name: str) -> None:
        self._runs += 1
        config, target = self.state.connectors[name].config, self.state.target_state(name)
        self.connectors[name] = ConnectorRun(name, self._runs, config, target)
        self.emit(actions.StartConnector(name, self._runs, config, target))

    def _may_run(self, id: TaskId) -> bool:
        connector = self.state.connectors.get(id.connector)
        return (
            connector is not None
            and id in self.assigned_tasks
            and id not in self.held
            and self.state.task_config(id) is not None
            and not ((lost := self.held_back.get(id)) and lost.position == connector.tasks_position)
            and connector.tasks_position <= self.assigned_position
            and self.state.target_state(id.connector) != STOPPED
        )

    def is_wanted(self, task: TaskRun) -> bool:
        """Whether this run is still what the assignment and the config topic ask for."""
        return self._may_run(task.id) and task.position == self.state.connectors[task.id.connector].tasks_position

    def _update_task(self, task: TaskRun) -> None:
        if not self.is_wanted(task):
            if task.ended or task.phase is Phase.PREPARING:
                del self.tasks[task.id]
                self.dirty = True
            elif task.phase is not Phase.STOPPING:
                task.phase = Phase.STOPPING
                self.emit(actions.StopTask(task.id))
            return
        paused = self.state.target_state(task.id.connector) == PAUSED
        if paused != task.paused and task.phase in (Phase.STARTING, Phase.RUNNING, Phase.PAUSED):
            task.paused = paused
            self.emit(actions.PauseTask(task.id) if paused else actions.ResumeTask(task.id))

    def _start_task(self, id: TaskId) -> None:
        self._runs += 1
        connector = self.state.connectors[id.connector]
        task = TaskRun(id, self._runs, connector.tasks_position, self.state.target_state(id.connector) == PAUSED)
        self.tasks[id] = task
        if self.must_prepare(id.connector):
            task.phase = Phase.PREPARING
            self.prepare(id.connector)
        else:
            self._launch(task)

    def _launch(self, task: TaskRun) -> None:
        task.phase = Phase.STARTING
        task.paused = self.state.target_state(task.id.connector) == PAUSED
        connector = self.state.connectors[task.id.connector]
        topics = tuple(self.statuses.topics.of(task.id.connector))
        config = connector.task_configs[task.id.task]
        skips = self.state.skips_of(task.id.connector)
        self.emit(actions.StartTask(task.id, task.run, config, connector.config, task.paused, topics, skips))

    def preparing(self, connector: str) -> list[TaskRun]:
        """Return the tasks of this connector that wait for ``prepared``."""
        return [t for t in self.tasks.values() if t.id.connector == connector and t.phase is Phase.PREPARING]

    def prepared(self, connector: str) -> None:
        """Start the tasks of this connector that waited."""
        for task in self.preparing(connector):
            if self._may_run(task.id) and not self.must_prepare(connector):
                self._launch(task)
            else:
                del self.tasks[task.id]
                self.dirty = True

    def reset_topics(self, connector: str) -> None:
        """Have the connector's tasks here report their topics again (KIP-558)."""
        for id in self.tasks:
            if id.connector == connector:
                self.emit(actions.ResetTaskTopics(id))

    # -- the runs

    def connector(self, name: str, run: int) -> ConnectorRun | None:
        """Return the run of this number, if it is the current one."""
        known = self.connectors.get(name)
        return known if known is not None and known.run == run else None

    def find(self, what: str | TaskId) -> ConnectorRun | TaskRun | None:
        return self.tasks.get(what) if isinstance(what, TaskId) else self.connectors.get(what)

    def is_current(self, run: ConnectorRun | TaskRun) -> bool:
        return self.find(run.id if isinstance(run, TaskRun) else run.name) is run

    def task(self, id: TaskId, run: int) -> TaskRun | None:
        known = self.tasks.get(id)
        return known if known is not None and known.run == run else None

    def ended(self, run: ConnectorRun | TaskRun) -> None:
        """Note that the run has ended; forget it unless it has failed."""
        run.ended = True
        self.dirty = True
        if run.phase is not Phase.FAILED:
            if isinstance(run, ConnectorRun):
                del self.connectors[run.name]
            else:
                del self.tasks[run.id]
