"""Trends of the connectors with tasks on this worker, for the attention list: growing backlogs and silent sources."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from penstock.core.attention.backlog import Backlog
from penstock.core.attention.rows import Row
from penstock.core.attention.silence import Silence
from penstock.core.model.events import ConfigRead, LoopEvent
from penstock.core.model.tasks import TaskEnded, TaskEvent, TaskId, TaskMetrics

BEHIND, POLLED = "penstock-records-behind", "source-record-poll-total"


class Trends:
    """``observe`` is called by the worker's loop with every event; ``rows`` from any thread."""

    def __init__(
        self, is_started: Callable[[str], bool], clock: Callable[[], float] = time.monotonic, at: float | None = None
    ) -> None:
        """``is_started`` says whether there is such a connector that is neither paused nor stopped.

        ``at``: the present time of day, from which on it is counted by ``clock``, which nobody sets.
        """
        self._is_started, self._clock = is_started, clock
        self._offset = (time.time() if at is None else at) - clock()
        self._lock = threading.Lock()
        self._backlogs: dict[str, Backlog] = {}
        self._silences: dict[str, Silence] = {}
        self._polled: dict[TaskId, tuple[int, float]] = {}
        """The run of each source task that is here, and the records that it has polled."""

    def observe(self, event: LoopEvent) -> None:
        if not isinstance(event, TaskEvent | ConfigRead):
            return
        with self._lock:
            match event:
                case ConfigRead():
                    for name in event.deleted():
                        self._backlogs.pop(name, None)
                        self._silences.pop(name, None)
                case TaskMetrics(values=values):
                    self._reported(event.id, values.get(BEHIND))
                    self._counted(event, values.get(POLLED))
                case TaskEnded():
                    self._ended(event.id)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of connectors that are to run and have tasks here."""
        now = self._now()
        with self._lock:
            polling = {id.connector for id in self._polled}
            silences = {name: each for name, each in self._silences.items() if name in polling}
            found = [
                row
                for each in (self._backlogs, silences)
                for name, trend in each.items()
                if self._is_started(name) and (row := trend.row(name, now)) is not None
            ]
        yield from found

    def _reported(self, id: TaskId, behind: float | None) -> None:
        if behind is not None and self._is_started(id.connector):
            self._backlogs.setdefault(id.connector, Backlog()).report(id.task, int(behind), self._now())

    def _counted(self, event: TaskMetrics, total: float | None) -> None:
        if total is None:
            return
        id, now = event.id, self._now()
        if id.connector not in self._silences and not self._is_started(id.connector):
            return
        silence = self._silences.setdefault(id.connector, Silence(now))
        run, before = self._polled.get(id, (event.run, 0.0))
        self._polled[id] = (event.run, total)
        if total > (before if run == event.run else 0.0):
            silence.polled(now)
        elif run != event.run or not self._is_started(id.connector):
            silence.interrupted(now)

    def _ended(self, id: TaskId) -> None:
        """Forget a task that has ended here. The time without records begins again: it may poll elsewhere."""
        self._polled.pop(id, None)
        if (backlog := self._backlogs.get(id.connector)) is not None:
            backlog.forget(id.task)
        if (silence := self._silences.get(id.connector)) is not None:
            silence.interrupted(self._now())

    def _now(self) -> int:
        return int((self._offset + self._clock()) * 1000)
