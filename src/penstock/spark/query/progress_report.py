"""Progress of Spark's streaming queries (``StreamingQueryProgress``): times of stages, and offsets.

It is read when a task reports, every few seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.source import SourceProgress
from penstock.pipeline.metrics import Metrics

KEPT = 20
"""Progress reports that Spark keeps of a query: batches that it may run between two reports of the task."""
_STAGES = {
    "latestOffset": "poll",
    "getBatch": "poll",
    "queryPlanning": "poll",
    "walCommit": "commit",
    "commitOffsets": "commit",
}
"""Stages by the names of ``durationMs``; the rest of a batch is ``addBatch``."""


@dataclass(slots=True)
class BatchTimes:
    """Counts what Spark's own steps of a query's batches took, each batch once."""

    metrics: Metrics
    last: int = -1

    def count(self, query: Any) -> None:
        """``query``: a StreamingQuery."""
        self.count_reports(json.loads(each.json()) for each in query._jsq.recentProgress())

    def count_reports(self, reports: Iterable[Mapping[str, Any]]) -> None:
        batches = {report["batchId"]: report["durationMs"] for report in reports if "addBatch" in report["durationMs"]}
        new = {number: times for number, times in batches.items() if number > self.last}
        if not new:
            return
        # Of batches that Spark has forgotten: as long as the others took.
        scale = (max(new) - self.last) / len(new)
        self.last = max(new)
        for times in new.values():
            for name, stage in _STAGES.items():
                if name in times:
                    self.metrics.spent(stage, times[name] / 1000 * scale)


def shares(stages: Mapping[str, float], busy: float, seconds: float, rest: str = "put") -> dict[str, float]:
    """Divide the ``seconds`` that a batch took among its stages, as Spark's Python processes have spent their time:
    ``stages`` of the seconds for which they were ``busy``.

    The rest is that of one stage: of a sink ``put``, which is reading Kafka's records as well, since Spark does both at
    once.
    """
    found = {stage: seconds * min(time / busy, 1.0) for stage, time in stages.items() if time and busy}
    others = sum(share for stage, share in found.items() if stage != rest)
    return {**found, rest: max(seconds - others, 0.0)}


def source_progress(query: Any) -> list[SourceProgress]:
    """Return how far a query has read its sources, and where they ended when it last looked."""
    last = query._jsq.lastProgress()
    return [] if last is None else positions(json.loads(last.json()))


def positions(report: Mapping[str, Any]) -> list[SourceProgress]:
    """Return all numbers of the sources' offsets: Kafka's are by topic and partition, files' are batches, and so on."""
    found = []
    for number, source in enumerate(report.get("sources", ())):
        # The rest of the description may have options.
        name = str(source.get("description", "")).partition("[")[0] or f"source {number}"
        unit = "records" if name.startswith("Kafka") else "offsets"
        ends = dict(_numbers(source.get("latestOffset")))
        for path, position in _numbers(source.get("endOffset")):
            part = {"source": name, **({"offset": ".".join(path)} if path else {})}
            found.append(SourceProgress(part, position, ends.get(path), unit))
    return found


def _numbers(offset: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    if isinstance(offset, Mapping):
        for name, value in offset.items():
            yield from _numbers(value, (*path, str(name)))
    elif isinstance(offset, int) and not isinstance(offset, bool):
        yield path, offset
