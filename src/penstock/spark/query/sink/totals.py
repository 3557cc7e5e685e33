"""Totals of a batch: what Spark's processes count while they make its rows.

A process reports them when it has succeeded, by an accumulator that adds them up in the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

from pyspark import AccumulatorParam

from penstock.pipeline.metrics import ERRORS, STAGES

LAST_ERROR = "penstock-last-error"
_TIME = "-timestamp"
_STAGES = {f"penstock-stage-{stage}-seconds-total": stage for stage in STAGES}


@dataclass(slots=True)
class BatchTotals:
    """Totals of a batch, or of one process's part of it; empty if the target had the batch."""

    counts: dict[str, float] = field(default_factory=dict)
    """Counters of the task's metrics, by their names."""
    times: dict[str, float] = field(default_factory=dict)
    """Gauges of the task's metrics that are times, by their names: the latest, in milliseconds since 1970."""
    texts: dict[str, str] = field(default_factory=dict)
    """Texts among the task's metrics, by their names: any of several."""
    stages: dict[str, float] = field(default_factory=dict)
    """Seconds that processes have spent in each of STAGES."""
    busy: float = 0.0
    """Seconds that processes have worked, waiting for their input and output included."""
    latest: float = 0.0
    """The latest timestamp of all records that were read, in milliseconds since 1970; 0: none has one."""
    topics: set[str] = field(default_factory=set)
    """Topics of the records that were converted."""
    traceparents: set[str] = field(default_factory=set)
    """Headers ``traceparent`` of records."""

    @classmethod
    def of_metrics(cls, values: Mapping[str, Any]) -> Self:
        """Sort a snapshot of ``Metrics``; values of zero are left out."""
        totals = cls()
        for name, value in values.items():
            if not value:
                continue
            if isinstance(value, str):
                totals.texts[name] = value
            elif name in _STAGES:
                totals.stages[_STAGES[name]] = value
            elif name.endswith(_TIME):
                totals.times[name] = value
            else:
                totals.counts[name] = value
        return totals

    def errors(self) -> BatchTotals:
        """Return only the totals of errors and dead letters."""
        of_errors = {*ERRORS, LAST_ERROR, LAST_ERROR + _TIME}
        counts, times, texts = (
            {name: value for name, value in values.items() if name in of_errors}
            for values in (self.counts, self.times, self.texts)
        )
        return BatchTotals(counts, times, texts)  # type: ignore[arg-type]

    def add(self, more: BatchTotals) -> None:
        _sum(self.counts, more.counts)
        _sum(self.stages, more.stages)
        for name, value in more.times.items():
            self.times[name] = max(self.times.get(name, 0.0), value)
        self.texts |= more.texts
        self.busy += more.busy
        self.latest = max(self.latest, more.latest)
        self.topics |= more.topics
        self.traceparents |= more.traceparents


@dataclass(slots=True)
class TotalsOfParts:
    """Totals of the parts of a batch, by the places of their first records.

    Spark reads a part again, though it has succeeded, when an executor is lost with what a shuffle has stored of it;
    such a part counts once.
    """

    parts: dict[tuple[str, int, int], BatchTotals] = field(default_factory=dict)

    def add(self, more: TotalsOfParts) -> None:
        self.parts |= more.parts

    def together(self) -> BatchTotals:
        """Return the totals of the batch."""
        totals = BatchTotals()
        for each in self.parts.values():
            totals.add(each)
        return totals


def _sum(counts: dict[str, float], more: Mapping[str, float]) -> None:
    for name, value in more.items():
        counts[name] = counts.get(name, 0.0) + value


class Addable(Protocol):
    """Totals that begin empty (``type(totals)()``)."""

    def add(self, more: Any, /) -> None: ...


A = TypeVar("A", bound=Addable)


class SumOf(AccumulatorParam[A]):
    """Adds up the totals of processes."""

    def zero(self, value: A) -> A:
        return type(value)()

    def addInPlace(self, value1: A, value2: A) -> A:
        value1.add(value2)
        return value1
