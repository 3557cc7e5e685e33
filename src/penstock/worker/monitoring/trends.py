"""Trends of the connectors with tasks on this worker, for the attention list: growing backlogs and silent sources."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.core.attention.backlog import Backlog
from penstock.core.attention.rows import Row
from penstock.core.attention.silence import MIN_SILENT_MS, Silence
from penstock.core.model.events import ConfigRead, LoopEvent
from penstock.core.model.tasks import TaskEnded, TaskEvent, TaskId, TaskMetrics, TaskPaused, TaskRunning

BEHIND, POLLED = "penstock-records-behind", "source-record-poll-total"
TAKEN = (POLLED, "sink-record-read-total", "sink-record-send-total")
"""Totals of which one at least changes when a task takes records."""


class Trends:
    """``observe`` is called by the worker's loop with every event; ``rows`` and ``polling`` from any thread."""

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
        self._taken: dict[TaskId, tuple[int, list[Any]]] = {}
        """The run of each task that is here, and the last totals of the records that it has taken."""

    def observe(self, event: LoopEvent) -> None:
        if not isinstance(event, TaskEvent | ConfigRead):
            return
        with self._lock:
            match event:
                case ConfigRead():
                    for name in event.deleted():
                        self._backlogs.pop(name, None)
                        self._silences.pop(name, None)
                case TaskMetrics(id=id, run=run, values=values):
                    self._reported(id, run, values)
                case TaskRunning(id=id) | TaskPaused(id=id):
                    self._interrupted(id.connector)
                case TaskEnded(id=id):
                    self._ended(id)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of connectors that are to run and have tasks here."""
        now = self._now()
        found: list[Row | None] = []
        with self._lock:
            tasks: dict[str, list[int]] = {}
            for id in sorted(self._taken):
                tasks.setdefault(id.connector, []).append(id.task)
            for name, numbers in tasks.items():
                if self._is_started(name):
                    if (silence := self._silences.get(name)) is not None:
                        found.append(silence.row(name, tuple(numbers), now))
                    if (backlog := self._backlogs.get(name)) is not None:
                        found.append(backlog.row(name, now))
        yield from (row for row in found if row is not None)

    def polling(self) -> frozenset[str]:
        """Return the sources whose tasks here have polled records lately."""
        with self._lock:
            since = self._now() - MIN_SILENT_MS
            return frozenset(name for name, silence in self._silences.items() if silence.has_polled_since(since))

    def _reported(self, id: TaskId, run: int, values: Mapping[str, Any]) -> None:
        now, name = self._now(), id.connector
        is_started = self._is_started(name)
        if not is_started and name not in self._silences and name not in self._backlogs:
            return
        totals = [values.get(total) for total in TAKEN]
        known_run, before = self._taken.get(id, (None, []))
        is_new = known_run != run
        self._taken[id] = (run, totals)
        has_taken = any(totals) if is_new else totals != before
        if values.get(POLLED) is not None:
            silence = self._silences.setdefault(name, Silence(now))
            if is_new or not is_started:
                silence.interrupted(now)
            if has_taken:
                silence.polled(now)
        behind = values.get(BEHIND)
        if behind is not None and is_started and (has_taken or not behind):
            self._backlogs.setdefault(name, Backlog()).report(id.task, int(behind), now)

    def _ended(self, id: TaskId) -> None:
        """Forget a task that has ended here. The time without records begins again: it may poll elsewhere."""
        self._taken.pop(id, None)
        if (backlog := self._backlogs.get(id.connector)) is not None:
            backlog.forget(id.task)
        self._interrupted(id.connector)

    def _interrupted(self, connector: str) -> None:
        if (silence := self._silences.get(connector)) is not None:
            silence.interrupted(self._now())

    def _now(self) -> int:
        return int((self._offset + self._clock()) * 1000)
