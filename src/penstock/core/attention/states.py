"""Rows from the states of connectors and tasks, which every worker reads from the config and status topics."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from penstock.core.attention.rows import NextStep, Row, instant, milliseconds
from penstock.core.model.state import PAUSED, STARTED, STOPPED
from penstock.core.model.urgency import STATES
from penstock.core.restart_policy import CAUSED_BY, permanent_error

SETTLED_MS = 30_000
"""Time for which connectors and tasks may be without a state, or not started, without a row."""
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_RETRYING = re.compile(rf"Retrying automatically since ({_TIME}):\s*")
"""Beginning of the trace of a hosted task that retries (``pipeline.retry_status``)."""
_QUERY_RETRYING = re.compile(rf"\. Retrying[^,]*, since ({_TIME}), next at ({_TIME})\s*\Z")
"""End of the sentence of a query that retries (``spark.query.sink.retries``)."""
_STALLED = "is stalled"
NEXT_RESTART = ". The restart policy restarts it at "
_NOTE = re.compile(r"^\tIn (?:a put of 1 record: |stage |the row of )[^\n]*", re.MULTILINE)
"""Lines of a trace that name one record (``pipeline.trace``)."""
_KEY = re.compile(r'key "(?:[^"\\]|\\.)*"')
"""Key of a record in such a line: a text of its producer."""
_NAMED = re.compile(r"\btopic ([\w.-]+), partition (\d{1,10}), offset (\d{1,18})(?!\d)")


@dataclass(frozen=True, slots=True)
class Part:
    """A connector or a task of it, as its last status says."""

    task: int | None
    """None: the connector itself."""
    state: str
    worker: str
    trace: str | None = None
    since_ms: int | None = None
    """Time of the status; None if the topic has none."""
    next_restart_ms: int | None = None
    """Time of the restart by ``penstock.restart.policy``; None if there will be none."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A connector with all that the topics say about it."""

    name: str
    target: str
    tasks: int
    """Number of committed task configurations."""
    parts: tuple[Part, ...]
    target_since_ms: int | None = None

    def present(self) -> list[Part]:
        """Return the connector and its present tasks: statuses of tasks that it has no more are left out."""
        return [part for part in self.parts if part.task is None or part.task < self.tasks]


def state_rows(connectors: Iterable[Watched], members: Collection[str], now_ms: int) -> Iterator[Row]:
    """Yield the rows of connectors. ``members``: ids of the workers of the group; empty if they are not known."""
    for watched in connectors:
        parts = watched.present()
        for part in parts:
            if members and part.worker and part.worker not in members and part.state != "UNASSIGNED":
                yield _left_behind(watched, part)
            elif (row := _row(watched, part, now_ms)) is not None:
                yield row
        yield from _whole(watched, parts, now_ms)


def root_cause(trace: str) -> str:
    """Return the last cause in a trace, or its first line."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    causes = [line.removeprefix(CAUSED_BY) for line in lines if line.startswith(CAUSED_BY)]
    return next(iter(causes[-1:] or lines[:1]), "")


def failure_row(name: str, task: int | None, trace: str, time_ms: int) -> Row:
    """Return the row of a connector or task that has failed at this time."""
    return _failed(name, Part(task, "FAILED", "", trace, time_ms))


def _row(watched: Watched, part: Part, now_ms: int) -> Row | None:
    if part.state == "FAILED":
        return _failed(watched.name, part)
    if part.state not in STATES:
        why = f"Its state is {part.state}, which this version of Penstock does not know"
        return _of(watched.name, part, "unknown", why, _look(watched.name))
    if part.state in ("UNASSIGNED", "RESTARTING"):
        since = part.since_ms
        if watched.target != STARTED or (since is not None and now_ms - since < SETTLED_MS):
            return None
        said = f": {root_cause(part.trace)}" if part.trace else ""
        return _of(watched.name, part, "waiting", f"It is {part.state}{said}", _logs(watched.name))
    return _troubled(watched.name, part) if part.trace else None


def _failed(name: str, part: Part) -> Row:
    cause = root_cause(part.trace or "") or "Its status gives no cause"
    if part.next_restart_ms is not None:
        cause = f"{cause.rstrip('.')}{NEXT_RESTART}{instant(part.next_restart_ms)}"
    if permanent_error(part.trace) is not None:
        step = NextStep(
            "Correct the configuration or the permissions; a restart alone does not help",
            f"penstock logs {shlex.quote(name)}",
            "configuration",
        )
    elif len(records := _named_records(part.trace or "")) == 1:
        topic, partition, offset = records.pop()
        step = NextStep(
            "Correct what refuses the record, then restart what has failed; or skip the record",
            f"penstock skip {shlex.quote(name)} --topic={topic} --partition {partition} --offset {offset}",
            "overview",
        )
    else:
        quoted = shlex.quote(name)
        step = NextStep(
            "Remove the cause, then restart what has failed",
            f"penstock restart {quoted} --include-tasks --only-failed",
            "restart-failed",
        )
    return _of(name, part, "failed", cause, step)


def _named_records(trace: str) -> set[tuple[str, str, str]]:
    """Return topic, partition and offset of each single record of a sink that the notes in a trace name."""
    notes = (_KEY.sub("", line) for line in _NOTE.findall(trace))
    return {place for note in notes for place in _NAMED.findall(note)}


def _troubled(name: str, part: Part) -> Row:
    """Return the row of a connector or task whose status has a trace though it has not failed: it retries, is stalled,
    or a call of it has not returned.
    """
    trace = part.trace or ""
    if began := _RETRYING.match(trace):
        why = root_cause(trace[began.end() :])
        return _of(name, part, "retrying", why, _logs(name), milliseconds(began[1]))
    first = trace.splitlines()[0] if trace.strip() else ""
    if found := _QUERY_RETRYING.search(first):
        why = f"{first[: found.start()]}. The next attempt is at {found[2]}"
        return _of(name, part, "retrying", why, _logs(name), milliseconds(found[1]))
    if part.task is None or _STALLED in first:
        quoted = shlex.quote(name)
        command = f"penstock restart {quoted}" + ("" if part.task is None else f" --task {part.task}")
        step = NextStep("See where it blocks; restart it if what it waits for does not come", command, "overview")
        return _of(name, part, "stalled", first.strip(), step)
    return _of(name, part, "retrying", root_cause(trace), _logs(name))


def _left_behind(watched: Watched, part: Part) -> Row:
    why = (
        f"Worker {part.worker} is not among the members of the group; the last state that it has written is "
        f"{part.state}. The group starts the work elsewhere after scheduled.rebalance.max.delay.ms"
    )
    return _of(
        watched.name, part, "unreachable", why, NextStep("Start the worker again", "penstock workers", "workers")
    )


def _whole(watched: Watched, parts: list[Part], now_ms: int) -> Iterator[Row]:
    name, own = watched.name, next((part for part in parts if part.task is None), None)
    if own is None:
        why = "No worker has reported a status of it. A new connector has none for a moment"
        yield Row("unknown", why, NextStep("Look at the workers", "penstock workers", "workers"), name)
        return
    quoted = shlex.quote(name)
    resume = NextStep("Resume it, unless it is meant to stay as it is", f"penstock resume {quoted}", "resume")
    if watched.target == PAUSED:
        yield Row("paused", "It was paused", resume, name, since_ms=watched.target_since_ms)
    elif watched.target == STOPPED:
        yield Row("stopped", "It was stopped: it has no tasks", resume, name, since_ms=watched.target_since_ms)
    elif own.state == "RUNNING" and _is_settled(own, now_ms):
        have = {part.task for part in parts}
        silent = tuple(task for task in range(watched.tasks) if task not in have)
        if watched.tasks == 0:
            why = "It is RUNNING, but has no tasks: it has found no work, or its tasks could not be configured"
            yield Row("no-tasks", why, _logs(name), name, worker=own.worker, since_ms=own.since_ms)
        elif silent:
            yield Row("waiting", "No status of it has been reported", _logs(name), name, silent)


def _is_settled(part: Part, now_ms: int) -> bool:
    return part.since_ms is None or now_ms - part.since_ms >= SETTLED_MS


def _of(name: str, part: Part, kind: str, why: str, step: NextStep, since_ms: int | None = None) -> Row:
    tasks = () if part.task is None else (part.task,)
    return Row(kind, why, step, name, tasks, part.worker or None, part.since_ms if since_ms is None else since_ms)


def _logs(name: str) -> NextStep:
    return NextStep("Read its log, and remove the cause", f"penstock logs {shlex.quote(name)}", "logs")


def _look(name: str) -> NextStep:
    return NextStep("Ask a worker of the newest version", f"penstock status {shlex.quote(name)}", "overview")
