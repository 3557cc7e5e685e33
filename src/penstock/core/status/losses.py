"""Lost tasks, which have lost their process or Spark and are started again.

A task whose own code or configuration raised has *failed*, as in Java, and stays FAILED. A task is *lost* when its
process died, when Spark or an executor ended, when it lost contact with its worker, or when another instance of it has
fenced its producer. It is started again, the first time at once, then after growing delays, under the assignment of
that time. A task fails only if its process dies by itself several times in a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.api.errors import ConnectError
from penstock.core.model.flow import Flow, Output, Until
from penstock.core.model.tasks import TaskId
from penstock.core.status.writer import StatusWriter
from penstock.core.work import Phase, TaskRun, Work

BACKOFF_MS = (0, 1_000, 2_000, 5_000, 10_000, 30_000)
"""Delays before the first, second, ... start after a loss; the last applies to all further ones."""
HEALTHY_MS = 300_000
"""Time of running after which the losses of a task are counted from the beginning."""
STARTED_AGAIN = "The task is started again"
"""Words in the status of a task that was lost."""
MAX_DEATHS = 6
"""Times in a row that a task's process may die by itself before the task fails and needs an operator."""


@dataclass(slots=True)
class Loss:
    """Losses of one task in a row."""

    position: int
    """Offset of the commit of the configuration that it ran."""
    count: int = 0
    deaths: int = 0


@dataclass(slots=True)
class Losses:
    output: Output
    work: Work
    writer: StatusWriter
    _of: dict[TaskId, Loss] = field(default_factory=dict)

    def lost(self, task: TaskRun, reason: str, died: bool) -> None:
        """Count a loss, and show it in the status; called when a run is lost, before it has ended.

        ``died``: its process ended by itself, while Spark, the worker and the contact between them were intact.
        """
        if task.phase in (Phase.FAILED, Phase.STOPPING, Phase.LOST):
            return
        self.output.log("WARNING", f"Task {task.id} was lost: {reason}")
        loss = self._counted(task, died)
        if loss.deaths >= MAX_DEATHS:
            del self._of[task.id]
            trace = f"{ConnectError.java_name}: {reason}. That has happened {loss.deaths} times in a row.\n"
            self.writer.fail_task(task, trace)
            return
        task.phase = Phase.LOST
        delay = _delay(loss)
        when = f" in {delay // 1000} s" if delay else ""
        self.writer.put_task(task.id, "UNASSIGNED", trace=f"{reason}. {STARTED_AGAIN}{when}.", safe=True)

    def ended(self, task: TaskRun) -> None:
        """Delay the next start; called when a lost run has ended and nothing of it is running any more."""
        loss = self._of.get(task.id)
        if loss is not None and (delay := _delay(loss)):
            self.output.start(self._hold_back(task, delay), what=f"Starting task {task.id} again")

    def forget(self, connector: str) -> None:
        """Forget the losses of a connector; called when it has been deleted."""
        for id in [id for id in self._of if id.connector == connector]:
            del self._of[id]

    def _counted(self, task: TaskRun, died: bool) -> Loss:
        healthy = task.running_since is not None and self.output.now - task.running_since >= HEALTHY_MS
        loss = self._of.get(task.id)
        if loss is None or healthy or loss.position != task.position:
            loss = self._of[task.id] = Loss(task.position)
        loss.count += 1
        loss.deaths += died
        return loss

    def _hold_back(self, task: TaskRun, delay: int) -> Flow:
        held = self.work.held_back
        held[task.id] = task
        try:
            yield Until(lambda: held.get(task.id) is not task, delay, "")
        except TimeoutError:
            del held[task.id]
            self.work.dirty = True


def _delay(loss: Loss) -> int:
    return BACKOFF_MS[min(loss.count, len(BACKOFF_MS)) - 1]
