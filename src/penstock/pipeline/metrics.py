"""Counters and gauges of one run of a task, by the names that Java Connect gives them.

``add`` counts (names end in ``-total`` or stand for a number of things), ``observe`` keeps maximum and average of a
figure (of those of MINIMA the minimum, too), ``put`` is a gauge. For each ``<x>-total`` in RATES, ``<x>-rate`` is the
number per second over the last half minute. Names that begin with ``penstock-`` are ours; some of them are texts, and
lists of objects.
Java: ``ConnectMetricsRegistry``, ``TaskMetricsGroup``, ``SourceTaskMetricsGroup``, ``SinkTaskMetricsGroup``,
``ErrorHandlingMetrics``.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.java.text import java_class_name
from penstock.pipeline.telemetry.traces import NO_TRACES, NoTraces
from penstock.pipeline.trace import causes, headline, message_of

STAGES = ("poll", "transform", "convert", "send", "put", "commit")
"""The stages in which a task spends its time; the rate of a stage is its share of the time."""
_STAGES = tuple(f"penstock-stage-{stage}-seconds" for stage in STAGES)
RATES = (
    *_STAGES,
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
MINIMA = ("transaction-size",)
_WINDOW = 30.0

Report = Callable[[dict[str, Any]], None]


class Metrics:
    """Any thread may count and observe; ``tick`` is the loop's. ``report`` gets all values now and then."""

    def __init__(
        self,
        report: Report,
        totals: tuple[str, ...],
        every: float = 5.0,
        traces: NoTraces = NO_TRACES,
        plugins: Callable[[], list[dict[str, Any]]] = list,
    ) -> None:
        """``plugins``: returns the metrics of plugins of the task; called when it reports."""
        self._report, self._every = report, every
        self._lock = threading.Lock()
        self._values: dict[str, float] = dict.fromkeys((*totals, *ERRORS), 0.0)
        self._observed: dict[tuple[str, str], _Observed] = {}
        self._history: deque[tuple[float, dict[str, float]]] = deque()
        self._commits = [0, 0]
        self._texts: dict[str, Any] = {}
        self._news: dict[str, list[Any]] = {}
        self.before_report: Callable[[], None] = lambda: None
        """Called before values are reported, for gauges that are expensive to measure."""
        self.traces, self._plugins = traces, plugins
        self._next = time.monotonic() + every

    def add(self, name: str, count: float = 1) -> None:
        with self._lock:
            self._values[name] = self._values.get(name, 0.0) + count

    def put(self, name: str, value: float | None) -> None:
        """Set a gauge; None: it is not known any more."""
        with self._lock:
            if value is None:
                self._values.pop(name, None)
            else:
                self._values[name] = value

    def observe(self, name: str, value: float, unit: str = "") -> None:
        """Keep the figures ``<name>-max<unit>`` and ``<name>-avg<unit>`` since the start of the task."""
        with self._lock:
            self._observed.setdefault((name, unit), _Observed()).add(value)

    def survived(self, error: BaseException) -> None:
        """Note an error that did not end the task, though something is retried or lost."""
        name = java_class_name(type(error))
        message = f"{name}: {message_of(error)}" if error.args else name
        message = " caused by ".join((message, *map(headline, causes(error)[1:])))
        with self._lock:
            self._texts |= {"penstock-last-error": message, "penstock-last-error-timestamp": int(time.time() * 1000)}
        self.traces.survived(error)

    def spent(self, stage: str, seconds: float) -> None:
        """Add the time that one batch has spent in one of STAGES."""
        self.add(f"penstock-stage-{stage}-seconds-total", seconds)
        self.traces.stage(stage, seconds)

    def say(self, name: str, what: Any) -> None:
        """Set a text, or a list of objects as JSON has them, among the values."""
        with self._lock:
            self._texts[name] = what

    def say_once(self, name: str, what: Any) -> None:
        """Add an object to a list that only the next report has."""
        with self._lock:
            self._news.setdefault(name, []).append(what)

    def committed(self, seconds: float, success: bool = True, traced: bool = True) -> None:
        """Count an attempt to commit offsets. ``traced``: false for one that had nothing to commit."""
        with self._lock:
            self._commits[success] += 1
        if success:
            self.observe("offset-commit", seconds * 1000, "-time-ms")
        if traced:
            self.traces.committed(seconds, success)

    def tick(self, now: float) -> None:
        """Report when it is time; called by the loop in each turn."""
        if now >= self._next:
            self._next = now + self._every
            self.report(now)

    def report(self, now: float) -> None:
        """Report all values; called by the thread of the loop."""
        self.before_report()
        if found := self._plugins():
            self.say("penstock-plugins", found)
        with self._lock:
            news, self._news = self._news, {}
        self._report({**self.snapshot(now), **news})

    def snapshot(self, now: float) -> dict[str, Any]:
        with self._lock:
            totals, texts = dict(self._values), dict(self._texts)
            figures = [(*key, each.minimum, each.maximum, each.average) for key, each in self._observed.items()]
            failed, done = self._commits
        values: dict[str, Any] = {**totals, **texts, **self._rates(now, totals)}
        for name, unit, minimum, maximum, average in figures:
            values[f"{name}-max{unit}"], values[f"{name}-avg{unit}"] = maximum, average
            if name in MINIMA:
                values[f"{name}-min{unit}"] = minimum
        if attempts := failed + done:
            values["offset-commit-success-percentage"] = done / attempts
            values["offset-commit-failure-percentage"] = failed / attempts
        return values

    def _rates(self, now: float, totals: dict[str, float]) -> dict[str, float]:
        while self._history and self._history[0][0] < now - _WINDOW:
            self._history.popleft()
        then, old = self._history[0] if self._history else (now, {})
        first = not self._history
        self._history.append((now, totals))
        if first:
            return {}
        seconds = max(now - then, 1.0)
        rates = {
            name: (totals[total] - old.get(total, 0.0)) / seconds
            for name in RATES
            if (total := f"{name}-total") in totals
        }
        # Stages of tasks in a JVM overlap, and a call that ends now may have begun before the window.
        whole = max(sum(rates.get(name, 0.0) for name in _STAGES), 1.0)
        return {f"{name}-rate": rate / whole if name in _STAGES else rate for name, rate in rates.items()}


@dataclass(slots=True)
class _Observed:
    maximum: float = 0.0
    minimum: float = math.inf
    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.minimum = min(self.minimum, value)
        self.maximum, self.total, self.count = max(self.maximum, value), self.total + value, self.count + 1

    @property
    def average(self) -> float:
        return self.total / self.count
