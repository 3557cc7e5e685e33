"""Writing of the status of connectors and tasks on this worker (Java: the Listener methods of AbstractHerder)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.group.membership import Membership
from penstock.core.model import actions
from penstock.core.model.flow import Flow, Output
from penstock.core.model.records import ConnectorStatus, StateName, TaskStatus
from penstock.core.model.settings import PluginFacts
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import TaskId
from penstock.core.status.statuses import Statuses
from penstock.core.work import Phase, TaskRun, Work

WITHOUT_VERSION = ("UNASSIGNED", "RESTARTING")
"""States of a task that has no instance at the moment: no version is written with them."""
MAX_TRACE_LENGTH = 100_000
"""Characters, each of which may take six bytes in JSON: a record larger than a megabyte is refused, and the state would
be lost with it.
"""


@dataclass(frozen=True, slots=True)
class Author:
    """Author of statuses: each names its worker, and the group's generation in which it was written."""

    worker_id: str
    membership: Membership

    @property
    def generation(self) -> int:
        return self.membership.generation


@dataclass(slots=True)
class StatusWriter:
    output: Output
    author: Author
    plugins: PluginFacts
    state: ClusterState
    statuses: Statuses
    work: Work

    def put_connector(
        self,
        name: str,
        state: StateName,
        *,
        version: str | None = None,
        trace: str | None = None,
        safe: bool = False,
    ) -> None:
        """Write the connector's status, or its tombstone if it has been deleted.

        ``safe``: write nothing if another worker has taken over.
        """
        connector = self.state.connectors.get(name)
        if connector is None:
            if name in self.statuses.connectors:
                self.output.emit(actions.AppendStatus((ConnectorStatus(name, None),)))
            return
        here = self.author.worker_id, self.author.generation
        status = ConnectorStatus(name, state, *here, _shortened(trace), version)
        self._write(name, status, safe)

    def put_task(self, id: TaskId, state: StateName, *, trace: str | None = None, safe: bool = False) -> None:
        """Write the task's status, as ``put_connector`` does.

        For a task that its connector no longer has, write its end and then its tombstone.
        """
        connector = self.state.connectors.get(id.connector)
        here = self.author.worker_id, self.author.generation
        if connector is None or self.state.task_config(id) is None:
            if self.statuses.task(id) is not None:
                self.output.emit(actions.AppendStatus((TaskStatus(id, "UNASSIGNED", *here), TaskStatus(id, None))))
            return
        version = None if state in WITHOUT_VERSION else self.plugins.version(connector.config)
        self._write(id, TaskStatus(id, state, *here, _shortened(trace), version), safe)

    def fail_task(self, task: TaskRun, trace: str) -> None:
        task.phase = Phase.FAILED
        self.put_task(task.id, "FAILED", trace=trace, safe=True)

    def _write(self, what: str | TaskId, status: ConnectorStatus | TaskStatus, safe: bool) -> None:
        run = self.work.find(what)
        if run is not None:
            run.last_status = status
        if not (safe and self.statuses.superseded(status)):
            self.output.emit(actions.AppendStatus((status,)))

    def restore(self, record: ConnectorStatus | TaskStatus) -> None:
        """Write the last status of a run here again if a late record of another worker replaced it.

        Called with every status read.
        """
        run = self.work.find(record.name if isinstance(record, ConnectorStatus) else record.id)
        own, newer = record.worker_id == self.author.worker_id, record.generation >= self.author.generation
        if run is None or (record.state is not None and (own or (newer and record.state != "UNASSIGNED"))):
            return

        def flow() -> Flow:
            yield actions.ReadConfigToEnd()  # a leader that has deleted the status is right if the connector is gone
            last, statuses = run.last_status, self.statuses
            if last is None or run.phase is Phase.STOPPING or not self.work.is_current(run):
                return
            known = statuses.connectors.get(last.name) if isinstance(last, ConnectorStatus) else statuses.task(last.id)
            if record.state is not None or known is None:  # else it has been written again since
                self.output.emit(actions.AppendStatus((replace(last, generation=self.author.generation),)))

        self.output.start(flow(), what="Writing a status again")


def _shortened(trace: str | None) -> str | None:
    if trace is None or len(trace) <= MAX_TRACE_LENGTH:
        return trace
    left_out = len(trace) - MAX_TRACE_LENGTH
    return f"{trace[:MAX_TRACE_LENGTH]}... ({left_out} more characters are in the log of the worker)\n"
