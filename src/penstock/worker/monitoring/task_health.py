"""Task health: the field ``penstock`` of ``GET /connectors/{name}/status?penstock=true``.

Java has nothing like it, so it is shown on request only. The figures are those that tasks report every few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from penstock.core.model.events import ConfigRead, LoopEvent
from penstock.core.model.tasks import TaskEvent, TaskFailed, TaskId, TaskLost, TaskMetrics, TaskRunning
from penstock.core.restart_policy import RestartPolicy
from penstock.pipeline.metrics import STAGES

RECORDS = ("source-record-write", "sink-record-send")
BATCH = ("poll-batch", "put-batch")


@dataclass(slots=True)
class _Task:
    runs: set[int] = field(default_factory=set)
    values: Mapping[str, Any] = field(default_factory=dict)
    failed: dict[str, str] | None = None


class TaskHealth:
    """``observe`` is called by the worker's loop with every event; the others from any thread.

    Restarts and errors are counted since the start of the worker, or since the connector was created. ``is_stalled``
    says it of a task that runs here, ``is_known`` whether there is such a connector.
    """

    def __init__(
        self,
        is_stalled: Callable[[TaskId], bool],
        clock: Callable[[], float] = time.time,
        is_known: Callable[[str], bool] = lambda connector: True,
    ) -> None:
        self._is_stalled, self._clock, self._is_known = is_stalled, clock, is_known
        self._tasks: dict[TaskId, _Task] = {}

    def observe(self, event: LoopEvent) -> None:
        if isinstance(event, ConfigRead):
            self._forget(event.deleted())
        if not isinstance(event, TaskEvent) or not self._is_known(event.id.connector):  # its tasks end after it
            return
        task = self._tasks.setdefault(event.id, _Task())
        match event:
            case TaskRunning(run=run):
                task.runs.add(run)
            case TaskFailed(run=run, trace=trace):
                task.runs.add(run)
                task.failed = _error(self._clock(), next(iter(trace.splitlines()), ""))
            case TaskLost(run=run, reason=reason):
                task.runs.add(run)
                task.failed = _error(self._clock(), reason)
            case TaskMetrics(values=values):
                task.values = values

    def _forget(self, connectors: Collection[str]) -> None:
        if connectors:
            self._tasks = {id: task for id, task in self._tasks.items() if id.connector not in connectors}

    def of(self, connector: str) -> dict[int, dict[str, Any]]:
        """Return figures by task number, for the tasks that ran here. Unknown figures are None."""
        tasks, now = dict(self._tasks), self._clock()
        own = [(id, task) for id, task in sorted(tasks.items()) if id.connector == connector]
        return {id.task: _figures(task, self._in_short(id, task), now) for id, task in own}

    def in_short(self) -> dict[str, dict[int, dict[str, Any]]]:
        """Return the figures for a list of connectors, by connector and task number, for every task that ran here."""
        found: dict[str, dict[int, dict[str, Any]]] = {}
        for id, task in sorted(dict(self._tasks).items()):
            found.setdefault(id.connector, {})[id.task] = self._in_short(id, task)
        return found

    def _in_short(self, id: TaskId, task: _Task) -> dict[str, Any]:
        return {
            "records_behind": _whole(task.values.get("penstock-records-behind")),
            "seconds_behind": _rounded(task.values.get("penstock-seconds-behind")),
            "retrying": bool(task.values.get("penstock-retrying", 0)),
            "stalled": self._is_stalled(id),
        }


def _figures(task: _Task, in_short: Mapping[str, Any], now: float) -> dict[str, Any]:
    values = task.values

    def first(names: tuple[str, ...], ending: str) -> Any:
        return next((values[name + ending] for name in names if name + ending in values), None)

    return {
        "records": _whole(first(RECORDS, "-total")),
        "records_per_second": _rounded(first(RECORDS, "-rate")),
        "records_waiting": _whole(first(("source-record-active", "sink-record-active"), "-count")),
        **in_short,
        "newest_record_age_seconds": _age(values.get("penstock-newest-record-timestamp"), now),
        "stages": (stages := _stages(values)),
        "slowest_stage": max(stages, key=stages.__getitem__) if any(stages.values()) else None,
        "places": [_place(place) for place in values.get("penstock-places", ())],
        "sent_by": values.get("penstock-sent-by"),
        "batch_ms_avg": _rounded(first(BATCH, "-avg-time-ms")),
        "batch_ms_max": _rounded(first(BATCH, "-max-time-ms")),
        "last_error": _last_error(task),
        "restarts": max(len(task.runs) - 1, 0),
    }


def _stages(values: Mapping[str, Any]) -> dict[str, float]:
    """The share of its time that the task has spent in each stage lately."""
    found = {stage: values.get(f"penstock-stage-{stage}-seconds-rate") for stage in STAGES}
    return {stage: round(share, 6) for stage, share in found.items() if share is not None}


def _place(place: Mapping[str, Any]) -> dict[str, Any]:
    rate = place["per_second"]
    return {**place, "per_second": None if rate is None else round(rate, 3)}


def _age(timestamp_ms: float | None, now: float) -> float | None:
    return None if timestamp_ms is None else round(max(now - timestamp_ms / 1000, 0.0), 3)


def _last_error(task: _Task) -> dict[str, str] | None:
    """The last error, whether it ended a run or not."""
    survived = None
    if "penstock-last-error" in task.values:
        survived = _error(task.values["penstock-last-error-timestamp"] / 1000, task.values["penstock-last-error"])
    known = [error for error in (survived, task.failed) if error is not None]
    return max(known, key=lambda error: error["time"], default=None)


def _error(at: float, message: str) -> dict[str, str]:
    return {"time": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds"), "message": message}


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def restart_policy(policy: RestartPolicy, connector: str, task: int | None) -> dict[str, Any] | None:
    """The field ``restart_policy`` of the status; None where the policy is ``never``. Called from any thread."""
    outlook = policy.outlook(connector, task)
    if outlook is None:
        return None
    due = outlook.next_restart_ms
    shown = None if due is None else datetime.fromtimestamp(due / 1000, UTC).isoformat(timespec="milliseconds")
    return {"restarts": outlook.restarts, "next_restart": shown, "reason": outlook.reason}


def restart_metrics(policy: RestartPolicy, connector: str, task: int | None) -> Iterator[tuple[str, float]]:
    """Names and values; nothing where the policy is ``never``. Called from any thread."""
    outlook = policy.outlook(connector, task)
    if outlook is not None:
        yield "penstock-policy-restarts", outlook.restarts
        yield "penstock-next-restart-timestamp", outlook.next_restart_ms or 0
