"""Alerts: rows of the attention list that are told to others once when they begin and once when they end.

A pure machine of the group's leader. ``look`` compares the rows with the alerts that are open and returns the alerts
that have changed; ``replay`` takes them back once they are stored. Every worker replays them, so that the next leader
knows what has been told.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.core.attention.flapping import End
from penstock.core.attention.rows import Row, instant, parse, rank
from penstock.core.attention.states import NEXT_RESTART, failure_row

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
MAX_OPEN, MAX_KNOWN = 500, 5_000
"""Open alerts of one kind, of which further ones begin when others have ended; and alerts in memory, of which the
oldest that have ended are given up first.
"""
WORDED = ("executors", "expiring", "outdated", "versions", "missing-topics", "ignored")
"""Kinds whose sentences are Penstock's own: another sentence is another cause. Those of other kinds have the texts of
errors, which may change from attempt to attempt.
"""
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


Place = tuple[str, str | None, str | None]


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
    left_out: int = 0
    """Causes of the last look for whose kind there were too many alerts."""
    given_up: int = 0
    """Alerts that were given up since the start, with messages that nobody has accepted."""
    _seen: dict[Place, int] = field(default_factory=dict)
    """Times since which there have been rows without an alert, by kind and place."""
    _gone: dict[str, int] = field(default_factory=dict)
    """Times since which alerts have had no row."""

    def replay(self, alert: Alert, now_ms: int) -> None:
        """Take an alert as it was stored. What is known to be over or accepted stays so: records may arrive late."""
        known = self.known.get(alert.id, alert)
        merged = replace(
            alert,
            ended_ms=known.ended_ms if alert.ended_ms is None else alert.ended_ms,
            told=known.told or alert.told,
            closed=known.closed or alert.closed,
            stored_ms=max(known.stored_ms, alert.stored_ms),
        )
        if not self._is_past(merged, now_ms):
            self.known[alert.id] = merged
        else:
            self.known.pop(alert.id, None)

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
        is_paused: Callable[[str], bool] = lambda connector: False,
    ) -> list[Alert]:
        """Return the alerts that begin, end, or are to be stored again.

        ``failures``: those of the last ``RECENT_MS`` by connector and task. While the group is not settled only alerts
        of the kinds ``AT_ONCE`` begin, and none ends; nor do those of a connector that ``is_paused``.
        """
        self._forget(now_ms)
        here = _Look(self.known.values())
        seen: dict[Place, int] = {}
        for row in rows:
            if row.kind in DELIBERATE:
                continue
            if same := here.matching(row, is_open=True):
                here.with_row.update(alert.id for alert in same)
                continue
            place = _place(row)
            seen[place] = self._seen.get(place, now_ms)
            if row.kind in AT_ONCE or (is_settled and now_ms - seen[place] >= self._patience_ms(row.kind)):
                self._begin(row, now_ms, here)
        self._seen = seen
        for (connector, task), ends in failures.items():
            for end in ends:
                self._failed(failure_row(connector, task, end.trace, end.time_ms), end.time_ms, now_ms, here)
        for alert in here.open():
            paused = alert.row.connector is not None and is_paused(alert.row.connector)
            if alert.id in here.with_row or paused:
                self._gone.pop(alert.id, None)
                if now_ms - alert.stored_ms >= self.store_again_ms:
                    self._change(replace(alert, stored_ms=now_ms), here)
                continue
            gone = self._gone.setdefault(alert.id, now_ms)
            if is_settled and now_ms - gone >= self.settle_ms:
                self._change(replace(alert, ended_ms=now_ms, stored_ms=now_ms), here)
                del self._gone[alert.id]
        self.left_out = here.left_out
        return list(here.changed.values())

    def due(self) -> list[Alert]:
        """Return the alerts of which a message has not been accepted, the most urgent and oldest first."""
        due = (alert for alert in self.known.values() if alert.is_due)
        return sorted(due, key=lambda alert: (rank(alert.row.kind), alert.begun_ms))

    def _patience_ms(self, kind: str) -> int:
        if kind == "versions":
            return max(UPGRADE_MS, self.settle_ms)
        return self.settle_ms + (self.takeover_ms if kind in TAKEN_OVER else 0)

    def _begin(self, row: Row, now_ms: int, here: _Look) -> Alert | None:
        if here.counts[row.kind] >= MAX_OPEN:
            here.left_out += 1
            return None
        what = json.dumps([self.group, row.kind, row.connector, row.worker, row.tasks, row.since_ms, row.why, now_ms])
        alert = Alert(hashlib.sha256(what.encode("utf-8", "replace")).hexdigest()[:20], row, now_ms, stored_ms=now_ms)
        here.add(alert)
        here.with_row.add(alert.id)
        self._change(alert, here)
        return alert

    def _failed(self, row: Row, time_ms: int, now_ms: int, here: _Look) -> None:
        """Take a failure. One that is not a part of a known alert has been hidden by a restart."""
        for alert in here.matching(row, is_open=False):
            if alert.ended_ms is None or time_ms <= alert.ended_ms:
                # It is as if the row had been there until then.
                if (gone := self._gone.get(alert.id)) is not None and gone < time_ms:
                    self._gone[alert.id] = time_ms
                return
        if (began := self._begin(row, now_ms, here)) is not None:
            here.with_row.discard(began.id)
            self._gone[began.id] = now_ms

    def _change(self, alert: Alert, here: _Look) -> None:
        self.known[alert.id] = here.changed[alert.id] = alert

    @staticmethod
    def _is_past(alert: Alert, now_ms: int) -> bool:
        if alert.ended_ms is None:
            return False
        return now_ms - alert.ended_ms >= (2 * RECENT_MS if alert.closed else GIVE_UP_MS)

    def _forget(self, now_ms: int) -> None:
        past = [alert for alert in self.known.values() if self._is_past(alert, now_ms)]
        if (more := len(self.known) - len(past) - MAX_KNOWN) > 0:
            over = [alert for alert in self.known.values() if alert.ended_ms is not None and alert not in past]
            past += sorted(over, key=lambda alert: (not alert.closed, alert.ended_ms or 0))[:more]
        for alert in past:
            self.given_up += alert.is_due
            del self.known[alert.id]
            self._gone.pop(alert.id, None)


class _Look:
    """The alerts of one look, by kind and place."""

    def __init__(self, alerts: Iterable[Alert]) -> None:
        self.changed: dict[str, Alert] = {}
        self.with_row: set[str] = set()
        self.counts: Counter[str] = Counter()
        """Open alerts by kind."""
        self.left_out = 0
        self._at: dict[Place, list[Alert]] = {}
        for alert in alerts:
            self.add(alert)

    def add(self, alert: Alert) -> None:
        self._at.setdefault(_place(alert.row), []).append(alert)
        self.counts[alert.row.kind] += alert.ended_ms is None

    def open(self) -> Iterator[Alert]:
        yield from [alert for found in self._at.values() for alert in found if alert.ended_ms is None]

    def matching(self, row: Row, *, is_open: bool) -> list[Alert]:
        """Return the alerts with the cause of this row; ``is_open``: only those that have not ended."""
        found = self._at.get(_place(row), ())
        return [alert for alert in found if not (is_open and alert.ended_ms is not None) and _is_same(alert.row, row)]


def _is_same(one: Row, other: Row) -> bool:
    """Return whether two rows of one kind and place have the same cause: for the same tasks, or with the same words."""
    if _words(one) == _words(other):
        return True
    if one.kind in WORDED:
        return False
    return one.tasks == other.tasks or not {*one.tasks}.isdisjoint(other.tasks)


def _place(row: Row) -> Place:
    return row.kind, row.connector, row.worker if row.connector is None else None


_NUMBERS = re.compile(r"\d[\d,.:TZ-]*")
_CODES = re.compile(r"\b(?=[\w-]*\d)[\w-]{8,}|\d[\d,.:TZ-]*")


def _words(row: Row) -> str:
    """Return a sentence without what changes while its cause stays the same: numbers, ids of requests, the time of the
    next restart.
    """
    if row.kind == "missing-topics":
        return row.why
    why = row.why.partition(NEXT_RESTART)[0].rstrip(".")
    return (_NUMBERS if row.kind in WORDED else _CODES).sub("#", why)
