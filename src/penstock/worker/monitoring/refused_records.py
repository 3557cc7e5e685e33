"""Records that tasks of this worker could not process within the last hour, for the attention list."""

from __future__ import annotations

import shlex
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from penstock.core.attention.rows import NextStep, Row
from penstock.core.model.events import LoopEvent
from penstock.core.model.tasks import TaskId, TaskMetrics

WINDOW_S = 3600.0
STEP_S = 60.0
"""Length of the intervals in which records are counted."""
LETTERS, SKIPPED = "deadletterqueue-produce-requests", "total-records-skipped"


@dataclass(slots=True)
class _Interval:
    began: float
    last: float
    letters: float = 0.0
    skipped: float = 0.0


@dataclass(slots=True)
class _Task:
    run: int = -1
    letters: float = 0.0
    skipped: float = 0.0
    """Totals of the run, as last reported."""
    intervals: deque[_Interval] = field(default_factory=deque)


class RefusedRecords:
    """``observe`` is called by the worker's loop with every event; ``rows`` from any thread."""

    def __init__(self, is_known: Callable[[str], bool], clock: Callable[[], float] = time.time) -> None:
        """``is_known`` says whether there is such a connector."""
        self._is_known, self._clock = is_known, clock
        self._tasks: dict[TaskId, _Task] = {}

    def observe(self, event: LoopEvent) -> None:
        if not isinstance(event, TaskMetrics):
            return
        task, now = self._tasks.setdefault(event.id, _Task()), self._clock()
        if task.run != event.run:
            task.run, task.letters, task.skipped = event.run, 0.0, 0.0
        letters, skipped = event.values.get(LETTERS, 0.0), event.values.get(SKIPPED, 0.0)
        new, left_out = letters - task.letters, skipped - task.skipped
        task.letters, task.skipped = letters, skipped
        if new <= 0 and left_out <= 0:
            return
        if not task.intervals or now - task.intervals[-1].began >= STEP_S:
            task.intervals.append(_Interval(now, now))
        interval = task.intervals[-1]
        interval.last, interval.letters, interval.skipped = now, interval.letters + new, interval.skipped + left_out
        while now - task.intervals[0].last > WINDOW_S:
            task.intervals.popleft()

    def rows(self) -> Iterator[Row]:
        """Yield a row for each connector with such records. Forgets connectors that there are not any more."""
        now = self._clock()
        self._tasks = {id: task for id, task in list(self._tasks.items()) if self._is_known(id.connector)}
        found: dict[str, list[tuple[int, _Interval]]] = {}
        for id, task in sorted(self._tasks.items()):
            recent = [each for each in list(task.intervals) if now - each.last <= WINDOW_S]
            found.setdefault(id.connector, []).extend((id.task, each) for each in recent)
        for name, intervals in found.items():
            if intervals:
                yield _row(name, intervals)


def _row(name: str, intervals: list[tuple[int, _Interval]]) -> Row:
    quoted = shlex.quote(name)
    letters, skipped = (int(sum(getattr(each, what) for _, each in intervals)) for what in ("letters", "skipped"))
    last = max(each.last for _, each in intervals)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(last))
    if letters:
        why = f"{_records(letters)} sent to the dead letter queue within the last hour, the last at {when}"
        command = f"penstock dlq list {quoted}"
        step = NextStep("See why they were refused; send them again once the cause is removed", command, "dead-letters")
    else:
        why = f"{_records(skipped)} left out within the last hour, the last at {when}; they are in no dead letter queue"
        text = "See why: errors.tolerance=all leaves out records that fail, and users discard some by skips"
        step = NextStep(text, f"penstock logs {quoted}", "logs")
    tasks = tuple(sorted({task for task, _ in intervals}))
    return Row("dead-letters", why, step, name, tasks, since_ms=int(min(each.began for _, each in intervals) * 1000))


def _records(count: int) -> str:
    return "1 record was" if count == 1 else f"{count:,} records were"
