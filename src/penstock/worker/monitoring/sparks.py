"""The two Spark applications of a worker, hosted tasks and queries: is each running, and how often has it ended?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.core.model.tasks import SparkDied, SparkReady

APPLICATIONS = {False: "hosted", True: "queries"}


@dataclass(slots=True)
class SparkApplications:
    """``observe`` is called by the worker's loop with every event; ``values`` from any thread."""

    _running: dict[bool, bool] = field(default_factory=dict)
    _ended: dict[bool, int] = field(default_factory=dict)

    def observe(self, event: object) -> None:
        match event:
            case SparkReady(queries=queries):
                self._running[queries] = True
            case SparkDied(queries=queries):
                self._running[queries] = False
                self._ended[queries] = self._ended.get(queries, 0) + 1

    def values(self) -> Iterator[tuple[str, str, float]]:
        """Application, name and value; nothing of an application that has not been started."""
        for queries, running in list(self._running.items()):
            yield APPLICATIONS[queries], "penstock-running", float(running)
            yield APPLICATIONS[queries], "penstock-ended-total", self._ended.get(queries, 0)
