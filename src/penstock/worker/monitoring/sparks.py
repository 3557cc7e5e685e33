"""The two Spark applications of a worker, hosted tasks and queries: is each running, how often has it ended, and how
is its Java?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.model.events import LoopEvent
from penstock.core.model.tasks import SparkDied, SparkFigures, SparkReady
from penstock.worker.monitoring.mbean_values import Value

APPLICATIONS = {False: "hosted", True: "queries"}


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
                "application": APPLICATIONS[queries],
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
            labels = (("application", APPLICATIONS[queries]),)
            yield Value("connect-spark-metrics", "penstock-running", labels, float(running))
            yield Value("connect-spark-metrics", "penstock-ended-total", labels, self._ended.get(queries, 0))
        for queries, java in list(self._java.items()):
            labels = (("application", APPLICATIONS[queries]),)
            yield Value("jvm", "threads-current", labels, java["threads"])
            for area, used in java["memory"].items():
                for name in ("memory-used-bytes", "memory-bytes-used"):
                    yield Value("jvm", name, (("area", area), *labels), used)
            for collector, (count, seconds) in java["collections"].items():
                yield Value("jvm", "gc-collection-seconds-count", (("gc", collector), *labels), count)
                yield Value("jvm", "gc-collection-seconds-sum", (("gc", collector), *labels), seconds)
