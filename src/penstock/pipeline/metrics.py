"""Counters and gauges of one run of a task, by the names that Java Connect gives them.

``add`` counts (names end in ``-total`` or stand for a number of things), ``observe`` keeps maximum and average of a
figure, ``put`` is a gauge. For each ``<x>-total`` in RATES, ``<x>-rate`` is the number per second over the last half
minute. Java: ``ConnectMetricsRegistry``, ``TaskMetricsGroup``, ``SourceTaskMetricsGroup``, ``SinkTaskMetricsGroup``,
``ErrorHandlingMetrics``. Names that begin with ``penstock-`` are ours; one of them is a text.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from penstock.java.text import java_class_name

RATES = (
    "source-record-poll",
    "source-record-write",
    "sink-record-read",
    "sink-record-send",
    "offset-commit-completion",
    "offset-commit-skip",
)
ERRORS = (
    "total-record-failures",
    "total-record-errors",
    "total-records-skipped",
    "total-retries",
    "total-errors-logged",
    "deadletterqueue-produce-requests",
    "deadletterqueue-produce-failures",
    "last-error-timestamp",
)
_WINDOW = 30.0

Report = Callable[[dict[str, float | str]], None]


class Metrics:
    """Not thread-safe but for single additions; belongs to the loop's thread. ``report`` is given all values now and
    then.
    """

    def __init__(self, report: Report, totals: tuple[str, ...], every: float = 5.0) -> None:
        self._report, self._every = report, every
        self._values: dict[str, float] = dict.fromkeys((*totals, *ERRORS), 0.0)
        self._observed: dict[str, list[float]] = {}
        self._history: deque[tuple[float, dict[str, float]]] = deque()
        self._commits = [0, 0]
        self._said: dict[str, float | str] = {}
        self.before_report: Callable[[], None] = lambda: None
        """Called before values are reported, for gauges that cost something."""
        self._next = time.monotonic() + every

    def add(self, name: str, count: float = 1) -> None:
        self._values[name] = self._values.get(name, 0.0) + count

    def put(self, name: str, value: float) -> None:
        self._values[name] = value

    def observe(self, name: str, value: float, unit: str = "") -> None:
        """Figures ``<name>-max<unit>`` and ``<name>-avg<unit>`` since the last half minute began."""
        found = self._observed.setdefault(f"{name}\0{unit}", [0.0, 0.0, 0.0])
        found[0], found[1], found[2] = max(found[0], value), found[1] + value, found[2] + 1

    def survived(self, error: BaseException) -> None:
        """An error that did not end the task, though something has to wait, or is lost."""
        message = f"{java_class_name(type(error))}: {error}" if error.args else java_class_name(type(error))
        self._said = {"penstock-last-error": message, "penstock-last-error-timestamp": int(time.time() * 1000)}

    def say(self, name: str, text: str) -> None:
        """A text among the values, such as another process of this task has found."""
        self._said[name] = text

    def committed(self, seconds: float, success: bool = True) -> None:
        """One attempt to commit offsets has ended."""
        self._commits[success] += 1
        if success:
            self.observe("offset-commit", seconds * 1000, "-time-ms")

    def tick(self, now: float) -> None:
        """Called by the loop as often as it comes by; reports when it is time."""
        if now >= self._next:
            self._next = now + self._every
            self.before_report()
            self._report(self.snapshot(now))

    def snapshot(self, now: float) -> dict[str, float | str]:
        values: dict[str, float | str] = {**self._values, **self._said}
        while self._history and self._history[0][0] < now - _WINDOW:
            self._history.popleft()
        if self._history:
            then, old = self._history[0]
            seconds = max(now - then, 1.0)
            for name in RATES:
                if (total := f"{name}-total") in self._values:
                    values[f"{name}-rate"] = (self._values[total] - old.get(total, 0.0)) / seconds
        self._history.append((now, dict(self._values)))
        for key, (most, whole, count) in self._observed.items():
            prefix, unit = key.split("\0")
            values[f"{prefix}-max{unit}"], values[f"{prefix}-avg{unit}"] = most, whole / count
        if attempts := sum(self._commits):
            values["offset-commit-success-percentage"] = self._commits[1] / attempts
            values["offset-commit-failure-percentage"] = self._commits[0] / attempts
        return values
