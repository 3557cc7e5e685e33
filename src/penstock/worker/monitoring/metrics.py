"""The worker's metrics: Java Connect's MBeans of type ``connect-worker-metrics``, ``connect-worker-rebalance-metrics``,
``connector-metrics``, ``connector-task-metrics``, ``source-task-metrics``, ``sink-task-metrics`` and
``task-error-metrics``, by their names (Java: ``ConnectMetricsRegistry``).

``observe`` counts events; the present connectors and tasks and their states (``restarting`` among them, KIP-745) are
read from the herder when values are requested. Nothing is done per record: tasks report their own sums every few
seconds.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.group.membership import Assignment, Joined, Lost, Revoked
from penstock.core.herder import Herder
from penstock.core.model.events import ConnectorEvent, ConnectorFailed, ConnectorRunning, LoopEvent
from penstock.core.model.tasks import (
    SparkDied,
    SparkFigures,
    SparkReady,
    TaskEvent,
    TaskFailed,
    TaskId,
    TaskLost,
    TaskMetrics,
    TaskPaused,
    TaskRunning,
)
from penstock.core.status.overall import overall
from penstock.kafka.statistics import OWN
from penstock.worker.monitoring.attention import watched
from penstock.worker.monitoring.mbean_values import Value, client_values, plugin_values, task_values
from penstock.worker.monitoring.prometheus_text import STATES
from penstock.worker.monitoring.task_health import restart_metrics

PROTOCOLS = ("EAGER", "COMPATIBLE", "SESSIONED")


SPARK_APPLICATIONS = {False: "hosted", True: "queries"}


@dataclass(slots=True)
class RunTimes:
    """Times that a run of a connector or task has spent in its states, in seconds."""

    number: int
    state: str
    since: float
    began: float
    started: bool = False
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    values: Mapping[str, Any] = field(default_factory=dict)

    def becomes(self, state: str, now: float) -> None:
        self.spent[self.state] += now - self.since
        self.state, self.since = state, now

    def ratio(self, state: str, now: float) -> float:
        """Return the share of the run's time that it has spent in the state."""
        whole = now - self.began
        spent = self.spent.get(state, 0.0) + (now - self.since if self.state == state else 0.0)
        return spent / whole if whole > 0 else 0.0


@dataclass(slots=True)
class Startups:
    attempts: int = 0
    successes: int = 0

    def count(self, success: bool) -> None:
        self.attempts += 1
        self.successes += success

    def values(self, kind: str) -> Iterator[tuple[str, float]]:
        failures = self.attempts - self.successes
        yield f"{kind}-startup-attempts-total", self.attempts
        yield f"{kind}-startup-success-total", self.successes
        yield f"{kind}-startup-failure-total", failures
        yield f"{kind}-startup-success-percentage", self.successes / self.attempts if self.attempts else 0.0
        yield f"{kind}-startup-failure-percentage", failures / self.attempts if self.attempts else 0.0


@dataclass(slots=True)
class Rebalances:
    """Rebalances, each from the revocation or assignment of work until the worker has taken on its assignment."""

    completed: int = 0
    longest: float = 0.0
    whole: float = 0.0
    ended: float = -math.inf
    protocol: int = 0
    started: float | None = None
    awaited: Assignment | None = None

    def begin(self, now: float) -> None:
        self.started = now if self.started is None else self.started

    def end(self, now: float) -> None:
        lasted = now - (now if self.started is None else self.started)
        self.completed, self.ended, self.started, self.awaited = self.completed + 1, now, None, None
        self.longest, self.whole = max(self.longest, lasted), self.whole + lasted


class WorkerMetrics:
    """``observe`` is called by the worker's loop with every event, before the herder handles it.

    ``values`` may be called from any thread: what it reads is replaced as a whole or copied at once.
    """

    def __init__(
        self,
        herder: Herder,
        class_name: Callable[[Mapping[str, str]], str],
        clock: Callable[[], float] = time.monotonic,
        failures: Callable[[], Mapping[str, int] | None] = lambda: None,
    ) -> None:
        """``class_name`` gives the full name of the class that a configuration means; it must not raise. ``failures``
        counts failures and losses within an hour by connector, and is None where nobody knows.
        """
        self._herder, self._class_name, self._clock, self._failures = herder, class_name, clock, failures
        self._runs: dict[str | TaskId, RunTimes] = {}
        self._connectors, self._tasks, self._rebalances = Startups(), Startups(), Rebalances()
        self._sparks = SparkApplications()
        self.connectors_plugins: Callable[[], Iterable[Mapping[str, Any]]] = tuple
        """The metrics of this worker's connectors' own."""

    # -- events

    def observe(self, event: LoopEvent) -> None:
        now = self._clock()
        self._sparks.observe(event)
        if self._rebalances.awaited is not None and self._herder.membership.assignment is self._rebalances.awaited:
            self._rebalances.end(now)
        match event:
            case ConnectorEvent(name, number):
                self._follow(name, number, event, self._connectors, now)
            case TaskEvent(id, number):
                self._follow(id, number, event, self._tasks, now)
            case Revoked() | Lost():
                self._rebalances.begin(now)
            case Joined():
                self._joined(event, now)

    def _follow(self, what: str | TaskId, number: int, event: LoopEvent, startups: Startups, now: float) -> None:
        run = self._runs.get(what)
        if run is None or number > run.number:
            run = self._runs[what] = RunTimes(number, "unassigned", now, now)
        elif number < run.number:
            return
        match event:
            case ConnectorRunning() | TaskRunning():
                run.becomes("running", now)
                if not run.started:
                    run.started = True
                    startups.count(success=True)
            case TaskPaused():
                run.becomes("paused", now)
            case TaskLost():
                run.becomes("unassigned", now)
            case ConnectorFailed() | TaskFailed():
                run.becomes("failed", now)
                if not run.started:
                    run.started = True
                    startups.count(success=False)
            case TaskMetrics(values=values):
                run.values = values

    def _joined(self, event: Joined, now: float) -> None:
        rebalances, assignment = self._rebalances, event.assignment
        rebalances.protocol = event.protocol_version
        rebalances.begin(now)
        if assignment.failed:
            return
        if assignment.offset <= self._herder.state.position:
            rebalances.end(now)  # the herder takes it in this turn
        else:
            rebalances.awaited = assignment
        work = self._herder.work
        self._runs = {what: run for what, run in self._runs.items() if what in work.tasks or what in work.connectors}

    # -- values

    def about(self) -> dict[str, Any]:
        """Describe this worker, its group and its Spark applications for ``http.routes.workers``."""
        settings, membership = self._herder.settings, self._herder.membership
        joined = settings.distributed and membership.assignment is not None
        return {
            "worker_id": settings.worker_id,
            "leader": membership.leader_url if joined else None,
            "generation": membership.generation if joined else None,
            "knows": list(membership.known_workers) if joined else [],
            "spark": self._sparks.described(),
        }

    def values(self) -> Iterator[Value]:
        now = self._clock()
        connectors, tasks = list(self._herder.work.connectors), list(self._herder.work.tasks)
        yield from self._worker(connectors, tasks)
        if self._herder.settings.distributed:
            yield from self._rebalancing(now)
        failures = self._failures()
        for name in connectors:
            yield from self._connector(name)
            if failures is not None and name in self._herder.state.connectors:
                labels = (("connector", name),)
                yield Value("connector-metrics", "penstock-failures-last-hour", labels, failures.get(name, 0))
        states = {id: self._state(id) for id in tasks}
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for id, state in states.items():
            counts[id.connector][state] += 1
        for name, count in counts.items():
            yield from _task_counts(name, count)
        for id, state in states.items():
            yield from self._task(id, state, now)
        yield from plugin_values(self.connectors_plugins())
        for id in tasks:
            yield from plugin_values(self._reported(id).get("penstock-plugins", ()))
        reported = [each for id in tasks for each in self._reported(id).get("penstock-clients", ())]
        yield from client_values([*(each.read().described() for each in list(OWN)), *reported])

    def _worker(self, connectors: list[str], tasks: list[TaskId]) -> Iterator[Value]:
        numbers = [("connector-count", len(connectors)), ("task-count", len(tasks))]
        for name, value in (*numbers, *self._connectors.values("connector"), *self._tasks.values("task")):
            yield Value("connect-worker-metrics", name, (), value)
        yield from self._sparks.values()

    def _rebalancing(self, now: float) -> Iterator[Value]:
        r = self._rebalances
        assignment = self._herder.membership.assignment or Assignment()
        for name, value in (
            ("connect-protocol", PROTOCOLS[r.protocol]),
            ("leader-name", self._herder.membership.leader_url or ""),
            ("epoch", self._herder.membership.generation),
            ("completed-rebalances-total", r.completed),
            ("rebalancing", float(r.started is not None)),
            ("rebalance-max-time-ms", r.longest * 1000),
            ("rebalance-avg-time-ms", r.whole * 1000 / r.completed if r.completed else 0.0),
            ("time-since-last-rebalance-ms", (now - r.ended) * 1000),
        ):
            yield Value("connect-worker-rebalance-metrics", name, (), value)
        yield Value("connect-coordinator-metrics", "assigned-connectors", (), len(assignment.connectors))
        yield Value("connect-coordinator-metrics", "assigned-tasks", (), len(assignment.tasks))

    def _connector(self, name: str) -> Iterator[Value]:
        known, status = self._herder.state.connectors.get(name), self._herder.statuses.connectors.get(name)
        if known is None:  # it has just been deleted
            return
        state = "unassigned" if status is None or status.state is None else status.state.lower()
        for attribute, value in (
            ("connector-class", self._class_name(known.config)),
            ("connector-type", self._herder.plugins.kind(known.config)),
            ("connector-version", self._herder.plugins.version(known.config) or ""),
            ("status", state),
            ("penstock-overall-status", overall(watched(self._herder, name, known)).lower()),
        ):
            yield Value("connector-metrics", attribute, (("connector", name),), value)
        for attribute, figure in restart_metrics(self._herder.restart_policy, name, None):
            yield Value("connector-metrics", attribute, (("connector", name),), figure)

    def _task(self, id: TaskId, state: str, now: float) -> Iterator[Value]:
        labels = (("connector", id.connector), ("task", str(id.task)))
        yield Value("connector-task-metrics", "status", labels, state)
        stalled = float(self._herder.work.is_stalled(id))
        yield Value("connector-task-metrics", "penstock-stalled", labels, stalled)
        for name, value in restart_metrics(self._herder.restart_policy, *id):
            yield Value("connector-task-metrics", name, labels, value)
        run = self._runs.get(id)
        if run is None:
            return
        yield Value("connector-task-metrics", "running-ratio", labels, run.ratio("running", now))
        yield Value("connector-task-metrics", "pause-ratio", labels, run.ratio("paused", now))
        yield from task_values(labels, run.values)

    def _reported(self, id: TaskId) -> Mapping[str, Any]:
        run = self._runs.get(id)
        return {} if run is None else run.values

    def _state(self, id: TaskId) -> str:
        status = self._herder.statuses.task(id)
        return "unassigned" if status is None or status.state is None else status.state.lower()


def _task_counts(connector: str, states: Counter[str]) -> Iterator[Value]:
    labels = (("connector", connector),)
    yield Value("connect-worker-metrics", "connector-total-task-count", labels, states.total())
    for state in STATES:
        yield Value("connect-worker-metrics", f"connector-{state}-task-count", labels, states[state])


@dataclass(slots=True)
class SparkApplications:
    """``observe`` is called by the worker's loop with every event; ``values`` from any thread."""

    _running: dict[bool, bool] = field(default_factory=dict)
    _ended: dict[bool, int] = field(default_factory=dict)
    _java: dict[bool, Mapping[str, Any]] = field(default_factory=dict)

    def observe(self, event: LoopEvent) -> None:
        match event:
            case SparkReady(queries=queries):
                self._running[queries] = True
            case SparkFigures(values, queries):
                self._java[queries] = values
            case SparkDied(queries=queries):
                self._running[queries] = False
                self._java.pop(queries, None)
                self._ended[queries] = self._ended.get(queries, 0) + 1

    def described(self) -> list[dict[str, Any]]:
        """Each that has been started, for people."""
        return [
            {
                "application": SPARK_APPLICATIONS[queries],
                "running": running,
                "ended": self._ended.get(queries, 0),
                "heap_bytes": self._java.get(queries, {}).get("memory", {}).get("heap"),
            }
            for queries, running in list(self._running.items())
        ]

    def values(self) -> Iterator[Value]:
        """Nothing of an application that has not been started.

        Java's are those of Prometheus' JVM collectors, its memory also by the name it had before their version 1.
        """
        for queries, running in list(self._running.items()):
            labels = (("application", SPARK_APPLICATIONS[queries]),)
            yield Value("connect-spark-metrics", "penstock-running", labels, float(running))
            yield Value("connect-spark-metrics", "penstock-ended-total", labels, self._ended.get(queries, 0))
        for queries, java in list(self._java.items()):
            labels = (("application", SPARK_APPLICATIONS[queries]),)
            yield Value("jvm", "threads-current", labels, java["threads"])
            for area, used in java["memory"].items():
                for name in ("memory-used-bytes", "memory-bytes-used"):
                    yield Value("jvm", name, (("area", area), *labels), used)
            for collector, (count, seconds) in java["collections"].items():
                yield Value("jvm", "gc-collection-seconds-count", (("gc", collector), *labels), count)
                yield Value("jvm", "gc-collection-seconds-sum", (("gc", collector), *labels), seconds)
