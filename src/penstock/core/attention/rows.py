"""Rows of the attention list: a problem, since when, why, and the next step.

``KINDS`` is the one table of kinds, in order of urgency. A worker sends the rows that only it can know to the worker
that answers, as JSON; ``parse`` reads them there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

KINDS = {
    "failed": "The connector or tasks of it have failed",
    "unreachable": "A worker does not answer, or has left the group with its connectors and tasks",
    "unknown": "Facts that could not be obtained, and states that this version does not know",
    "stalled": "A method of the plugin has not returned for long",
    "retrying": "A task retries after errors",
    "missing-topics": "Topics that a sink subscribes to do not exist",
    "standstill": "A sink's group has lag, and its committed offsets do not move",
    "partition-standstill": "Some partitions of a sink have lag and do not move, while others do or have none",
    "silent": "A source has polled no records for much longer than usual",
    "behind": "More and more records wait for the connector's tasks",
    "no-tasks": "A running connector has no tasks",
    "waiting": "The connector or tasks of it have not started",
    "flapping": "A connector or task runs, but has failed or was lost several times within the last hour",
    "dead-letters": "Records could not be processed within the last hour",
    "expiring": "A certificate has expired or expires soon",
    "outdated": "A file with a certificate or password has changed since it was read",
    "versions": "Workers of the group have different versions",
    "executors": "Some of Spark's executors lack something that tasks need",
    "ignored": "Settings of the connector have no effect",
    "stopped": "The connector has been stopped",
    "paused": "The connector has been paused",
}
"""Kinds of rows and their meanings, from the most urgent to the least."""
_RANKS = {kind: rank for rank, kind in enumerate(KINDS)}
_CAUSES = ("failed", "unreachable", "stalled", "retrying", "no-tasks", "waiting")
"""Kinds that explain a standstill, a silence or a backlog, which then has no row of its own."""
_STANDSTILLS = ("standstill", "partition-standstill")
_SYMPTOMS = (*_STANDSTILLS, "silent", "behind")


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next step: a sentence, a command of the command line, and the name of a button or view of the page."""

    text: str
    command: str | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    kind: str
    why: str
    step: NextStep
    connector: str | None = None
    """None: the row is about the whole group."""
    tasks: tuple[int, ...] = ()
    """Tasks with this problem; none: the connector itself, or all of it."""
    worker: str | None = None
    since_ms: int | None = None
    """None: not known."""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "connector": self.connector,
            "tasks": list(self.tasks),
            "worker": self.worker,
            "since": None if self.since_ms is None else instant(self.since_ms),
            "why": self.why,
            "next": {"text": self.step.text, "command": self.step.command, "action": self.step.action},
        }


def ordered(rows: Iterable[Row], is_busy: Callable[[str], bool] = lambda connector: False) -> list[Row]:
    """Return the rows to show, the most urgent and oldest first.

    Rows of tasks with the same problem become one. A standstill, a silence or a backlog is left out if another row of
    the connector explains it; the standstill of a whole group, and a silence, also if ``is_busy`` says that tasks of
    the connector take records: the sink commits at times of its own, or other tasks of the source have records.
    """
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        where = row.worker if row.connector is None else None
        key = (row.kind, row.connector, where, row.why, row.step, not row.tasks)
        known = found.get(key)
        found[key] = row if known is None else _both(known, row)
    explained = {row.connector for row in found.values() if row.kind in _CAUSES}
    shown = [
        row
        for row in found.values()
        if not (row.kind in _SYMPTOMS and row.connector in explained)
        and not (row.kind in ("standstill", "silent") and is_busy(row.connector or ""))
    ]
    still = {row.connector for row in shown if row.kind == "standstill"}
    shown = [row for row in shown if row.kind != "behind" or row.connector not in still]
    return sorted(shown, key=lambda row: (_RANKS[row.kind], row.since_ms or 0, row.connector or "", row.tasks))


def _both(one: Row, other: Row) -> Row:
    known = [since for since in (one.since_ms, other.since_ms) if since is not None]
    return replace(
        one,
        tasks=tuple(sorted({*one.tasks, *other.tasks})),
        worker=one.worker if one.worker == other.worker else None,
        since_ms=min(known, default=None),
    )


def parse(document: Any) -> list[Row] | None:
    """Return the rows of another worker's JSON; None if it is not of the form of ``to_json``. Rows of kinds that this
    version does not know are shown as ``unknown``.
    """
    if not isinstance(document, list):
        return None
    rows = [_row(each) for each in document]
    return None if None in rows else [row for row in rows if row is not None]


def _row(each: Any) -> Row | None:
    match each:
        case {
            "kind": str(kind),
            "connector": str() | None as connector,
            "tasks": list(tasks),
            "worker": str() | None as worker,
            "since": str() | None as since,
            "why": str(why),
            "next": {"text": str(text), "command": str() | None as command, "action": str() | None as action},
        } if all(type(task) is int for task in tasks):
            try:
                since_ms = None if since is None else milliseconds(since)
            except ValueError:
                return None
            step = NextStep(text, command, action)
            known = kind if kind in KINDS else "unknown"
            return Row(known, why, step, connector, tuple(tasks), worker, since_ms)
    return None


def rank(kind: str) -> int:
    """Return the place of a kind in the order of urgency."""
    return _RANKS[kind]


def instant(ms: int) -> str:
    """Return a time in UTC, to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def milliseconds(text: str) -> int:
    """Return the time of ``instant``. Raises ValueError."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)
