"""Alerts: rows of the attention list that are told to others once when they begin and once when they end.

A pure machine of the group's leader. ``look`` compares the rows with the alerts that are open and returns the alerts
that have changed; ``replay`` takes them back once they are stored. Every worker replays them, so that the next leader
knows what has been told.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.core.attention.flapping import End
from penstock.core.attention.rows import Row, instant, parse
from penstock.core.attention.states import failure_row

DELIBERATE = ("paused", "stopped")
"""Kinds that somebody has asked for: no alerts."""
AT_ONCE = ("failed",)
"""Kinds that no rebalance causes: their alerts begin at the first look."""
TAKEN_OVER = ("unreachable", "waiting")
"""Kinds that end when the group starts the work elsewhere, after ``scheduled.rebalance.max.delay.ms``."""
UPGRADE_MS = 30 * 60_000
"""Time for which workers may have different versions, as while they are upgraded one by one."""
RESTLESS_MS = 15 * 60_000
"""Time beyond ``scheduled.rebalance.max.delay.ms`` after which a group that still rebalances counts as settled."""
RECENT_MS = 10 * 60_000
"""Time for which failures that a restart has hidden are looked up, and alerts that are over are remembered longer."""
MAX_OPEN = 1_000
"""Open alerts; further ones begin when others have ended."""
GIVE_UP_MS = 24 * 60 * 60_000
"""Time after the end of a cause from which on its messages are given up."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A cause with its two messages. ``row`` is the row with which it began."""

    id: str
    row: Row
    begun_ms: int
    ended_ms: int | None = None
    told: bool = False
    """Whether the message of its begin has been accepted."""
    closed: bool = False
    """Whether the message of its end has been accepted too, or the alert has been given up."""
    stored_ms: int = 0

    @property
    def key(self) -> str:
        return f"alert:{self.id}"

    @property
    def is_due(self) -> bool:
        """Return whether a message of it has not been accepted yet."""
        return not self.closed and (not self.told or self.ended_ms is not None)

    def record(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "row": self.row.to_json(),
            "begun": self.begun_ms,
            "ended": self.ended_ms,
            "told": self.told,
            "closed": self.closed,
            "stored": self.stored_ms,
        }

    def message(self, group: str) -> dict[str, Any]:
        """Return the body of the message that is due: that of the begin, then that of the end."""
        over = self.told
        about = f" {self.row.connector}" if self.row.connector is not None else ""
        return {
            "id": self.id,
            "event": "end" if over else "begin",
            "group": group,
            **self.row.to_json(),
            "begun": instant(self.begun_ms),
            "ended": instant(self.ended_ms) if over and self.ended_ms is not None else None,
            "text": f"{'Over: ' if over else ''}{self.row.kind}{about}: {self.row.why}",
        }


@dataclass(frozen=True, slots=True)
class WorkerRows:
    """The rows that only one worker knows, as it has stored them for the leader."""

    worker: str
    time_ms: int
    answer: Mapping[str, Any]
    """Its part of the attention list, as it gives it to a worker that asks."""

    @property
    def key(self) -> str:
        return f"rows:{self.worker}"

    def record(self) -> dict[str, Any]:
        return {"worker": self.worker, "time": self.time_ms, "answer": dict(self.answer)}


StoredEntry = Alert | WorkerRows


@dataclass(slots=True)
class Settling:
    """Judge of whether the group is settled: no rebalance lately, and no worker awaited to come back. A group that is
    not for longer than ``limit_ms`` counts as settled, since that needs attention, too.
    """

    settle_ms: int
    limit_ms: int
    _generation: object = None
    _since_ms: int = 0
    """Time of the last rebalance."""
    _unsettled_ms: int | None = None
    """Time since which it is not settled."""

    def look(self, generation: object, waits: bool, now_ms: int) -> bool:
        """``generation``: another one after each rebalance. ``waits``: a rebalance or a worker is awaited."""
        if generation != self._generation:
            self._generation, self._since_ms = generation, now_ms
        if not waits and now_ms - self._since_ms >= self.settle_ms:
            self._unsettled_ms = None
            return True
        if self._unsettled_ms is None:
            self._unsettled_ms = now_ms
        return now_ms - self._unsettled_ms >= self.limit_ms


def rows_of(record: Any) -> WorkerRows:
    """Return the rows of ``WorkerRows.record``. Raises ValueError if it is of another form."""
    match record:
        case {"worker": str(worker), "time": int(time_ms), "answer": {"worker_id": str(id)} as answer} if (
            id == worker
            and parse(answer.get("rows")) is not None
            and isinstance(answer.get("version"), str)
            and isinstance(busy := answer.get("busy"), list)
            and all(isinstance(name, str) for name in busy)
        ):
            return WorkerRows(worker, time_ms, answer)
    raise ValueError("these are no rows of a worker")


def alert_of(record: Any) -> Alert:
    """Return the alert of ``Alert.record``. Raises ValueError if it is of another form."""
    match record:
        case {
            "id": str(id),
            "row": row,
            "begun": int(begun),
            "ended": int() | None as ended,
            "told": bool(told),
            "closed": bool(closed),
            "stored": int(stored),
        } if rows := parse([row]):
            return Alert(id, rows[0], begun, ended, told, closed, stored)
    raise ValueError("it is no alert")


@dataclass(slots=True)
class Alerts:
    """``settle_ms``: time for which a cause must last before its alert begins, and be gone before it ends.
    ``takeover_ms``: time after which the group starts the work of a lost worker elsewhere.
    """

    group: str
    settle_ms: int
    takeover_ms: int = 0
    store_again_ms: int = 24 * 60 * 60_000
    """Interval for storing open alerts again, which must be less than the retention of the store."""
    known: dict[str, Alert] = field(default_factory=dict)
    """Alerts by id: those that are not closed, and those that have ended lately."""
    _seen: dict[tuple[Any, ...], int] = field(default_factory=dict)
    """Times at which rows without an alert were first seen."""
    _gone: dict[str, int] = field(default_factory=dict)
    """Times since which alerts have had no row."""

    def replay(self, alert: Alert, now_ms: int) -> None:
        """Take an alert as it was stored. What is known to be over or accepted stays so: records may arrive late."""
        known = self.known.get(alert.id, alert)
        self.known[alert.id] = replace(
            alert,
            ended_ms=known.ended_ms if alert.ended_ms is None else alert.ended_ms,
            told=known.told or alert.told,
            closed=known.closed or alert.closed,
            stored_ms=max(known.stored_ms, alert.stored_ms),
        )
        self._forget(now_ms)

    def resign(self) -> None:
        """Forget what only a leader knows: another worker leads."""
        self._seen.clear()
        self._gone.clear()

    def look(
        self,
        rows: Sequence[Row],
        failures: Mapping[tuple[str, int | None], Sequence[End]],
        now_ms: int,
        is_settled: bool,
    ) -> list[Alert]:
        """Return the alerts that begin, end, or are to be stored again.

        ``failures``: those of the last ``RECENT_MS`` by connector and task. While the group is not settled only alerts
        of the kinds ``AT_ONCE`` begin, and none ends.
        """
        self._forget(now_ms)
        changed: dict[str, Alert] = {}
        with_row: set[str] = set()
        seen: dict[tuple[Any, ...], int] = {}
        for row in rows:
            if row.kind in DELIBERATE:
                continue
            if same := [alert.id for alert in self._open() if _is_same(alert.row, row)]:
                with_row.update(same)
                continue
            key = (row.kind, row.connector, _place(row), _words(row.why))
            seen[key] = self._seen.get(key, now_ms)
            if row.kind in AT_ONCE or (is_settled and now_ms - seen[key] >= self._patience_ms(row.kind)):
                with_row.update(self._begin(row, now_ms, changed))
        self._seen = seen
        for (connector, task), ends in failures.items():
            for end in ends:
                with_row.update(self._failed(connector, task, end, now_ms, changed))
        for alert in self._open():
            if alert.id in with_row:
                self._gone.pop(alert.id, None)
                if now_ms - alert.stored_ms >= self.store_again_ms:
                    self._change(replace(alert, stored_ms=now_ms), changed)
                continue
            gone = self._gone.setdefault(alert.id, now_ms)
            if is_settled and now_ms - gone >= self.settle_ms:
                self._change(replace(alert, ended_ms=now_ms, stored_ms=now_ms), changed)
                del self._gone[alert.id]
        return list(changed.values())

    def due(self) -> list[Alert]:
        """Return the alerts of which a message has not been accepted, the oldest first."""
        return sorted((alert for alert in list(self.known.values()) if alert.is_due), key=lambda each: each.begun_ms)

    def _open(self) -> list[Alert]:
        return [alert for alert in self.known.values() if alert.ended_ms is None]

    def _patience_ms(self, kind: str) -> int:
        if kind == "versions":
            return max(UPGRADE_MS, self.settle_ms)
        return self.settle_ms + (self.takeover_ms if kind in TAKEN_OVER else 0)

    def _begin(self, row: Row, now_ms: int, changed: dict[str, Alert]) -> list[str]:
        if len(self._open()) >= MAX_OPEN:
            return []
        what = json.dumps([self.group, row.kind, row.connector, row.worker, row.tasks, row.since_ms, now_ms])
        id = hashlib.sha256(what.encode()).hexdigest()[:20]
        self._change(Alert(id, row, now_ms, stored_ms=now_ms), changed)
        return [id]

    def _failed(
        self, connector: str, task: int | None, end: End, now_ms: int, changed: dict[str, Alert]
    ) -> Iterable[str]:
        """Take a failure. One that is not a part of a known alert has been hidden by a restart."""
        row = failure_row(connector, task, end.trace, end.time_ms)
        for alert in self.known.values():
            until = alert.ended_ms
            if alert.row.kind == row.kind and _is_same(alert.row, row) and (until is None or end.time_ms <= until):
                # It is as if the row had been there until then.
                if (gone := self._gone.get(alert.id)) is not None and gone < end.time_ms:
                    self._gone[alert.id] = end.time_ms
                return []
        began = self._begin(row, now_ms, changed)
        self._gone.update(dict.fromkeys(began, now_ms))
        return []

    def _change(self, alert: Alert, changed: dict[str, Alert]) -> None:
        self.known[alert.id] = changed[alert.id] = alert

    def _forget(self, now_ms: int) -> None:
        for alert in list(self.known.values()):
            if alert.ended_ms is None:
                continue
            if now_ms - alert.ended_ms >= GIVE_UP_MS or (alert.closed and now_ms - alert.ended_ms >= 2 * RECENT_MS):
                del self.known[alert.id]
                self._gone.pop(alert.id, None)


def _is_same(one: Row, other: Row) -> bool:
    """Return whether two rows have the same cause: the same kind at the same place, for the same tasks or with the same
    words.
    """
    if (one.kind, one.connector, _place(one)) != (other.kind, other.connector, _place(other)):
        return False
    shared = not {*one.tasks}.isdisjoint(other.tasks) or one.tasks == other.tasks
    return shared or _words(one.why) == _words(other.why)


def _place(row: Row) -> str | None:
    return row.worker if row.connector is None else None


def _words(why: str) -> str:
    """Return a sentence without its numbers, which change while its cause stays the same."""
    return re.sub(r"\d[\d,.:TZ-]*", "#", why)
