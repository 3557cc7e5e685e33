"""Decides what is written to the history topic: a pure machine, as the herder is.

Every worker observes what the config and status topics say and keeps it until the history topic says it too; the leader
writes what is missing. So a new leader knows what the old one did not get to write, and nothing is written twice: each
entry is identified by the record that it comes from (its offset and time in the config topic, its time and content in
the status topic). At its first start the history begins with what the two topics have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import takewhile

from penstock.core.group.membership import Joined
from penstock.core.model.events import ConfigRead, LoopEvent, StatusRead
from penstock.core.model.records import (
    ConfigRecord,
    ConnectorConfig,
    ConnectorStatus,
    PolicyRestart,
    RecordSkip,
    RestartRequest,
    StatusTopicRecord,
    TargetState,
    TaskStatus,
    TopicStatus,
)
from penstock.core.model.state import STARTED
from penstock.history.entries import CLUSTER, MAX_REASON_LENGTH, Change, ConnectorVersion, Entry, HistoryEvent

DESTROYED = "DESTROYED"
"""The state of what has no status any more: a task of a connector that was stopped, a connector that was deleted."""
BY_POLICY = "penstock.restart.policy"
LOOK_MS = 3_600_000
"""Milliseconds between two removals of old entries of connectors without new ones."""


MAX_EVENTS = 500
"""Events of one connector in memory and in replies at most; the topic has all of them."""


@dataclass(slots=True)
class Book:
    """History of one connector, oldest first."""

    versions: list[ConnectorVersion] = field(default_factory=list)
    events: deque[HistoryEvent] = field(default_factory=deque)
    keys: set[str] = field(default_factory=set)
    last: dict[int | None, HistoryEvent] = field(default_factory=dict)
    """The last state of the connector (None) and of each task."""

    def add(self, entry: Entry) -> bool:
        """False if it is there already."""
        if entry.key in self.keys:
            return False
        self.keys.add(entry.key)
        if isinstance(entry, ConnectorVersion):
            self.versions.append(entry)
        else:
            self._add_event(entry)
        return True

    def is_forgotten(self, event: HistoryEvent) -> bool:
        """Return whether an event is as old as those that no longer have room."""
        return len(self.events) >= MAX_EVENTS and event.time_ms < self.events[0].time_ms

    def forget_before(self, time_ms: int) -> None:
        """Drop what is older, but not the connector's last version."""
        while len(self.versions) > 1 and self.versions[0].time_ms < time_ms:
            self.keys.discard(self.versions.pop(0).key)
        while self.events and self.events[0].time_ms < time_ms:
            self.keys.discard(self.events.popleft().key)

    def is_over(self, time_ms: int) -> bool:
        """Return whether it only has the deletion of the connector, before this time."""
        return not self.events and all(each.config is None and each.time_ms < time_ms for each in self.versions)

    def _add_event(self, event: HistoryEvent) -> None:
        place = len(self.events)
        while place and self.events[place - 1].time_ms > event.time_ms:
            place -= 1
        self.events.insert(place, event)
        known = self.last.get(event.task)
        if event.kind == "state" and (known is None or known.time_ms <= event.time_ms):
            self.last[event.task] = event
        while len(self.events) > MAX_EVENTS:
            self.keys.discard(self.events.popleft().key)


@dataclass(slots=True)
class Books:
    of: dict[str, Book] = field(default_factory=dict)

    def book(self, connector: str) -> Book:
        return self.of.setdefault(connector, Book())

    def forget_before(self, time_ms: int) -> None:
        """Drop what is older of all connectors, and those that were deleted before and of which nothing is left."""
        for book in self.of.values():
            book.forget_before(time_ms)
        self.of = {connector: book for connector, book in self.of.items() if not book.is_over(time_ms)}

    def versions(self, connector: str) -> list[ConnectorVersion]:
        found = self.of.get(connector)
        return [] if found is None else found.versions

    def last(self, connector: str) -> ConnectorVersion | None:
        versions = self.versions(connector)
        return versions[-1] if versions else None

    def events(self, connector: str) -> list[HistoryEvent]:
        """Return the connector's events and, since its first version, those of all connectors; oldest first."""
        own = self.of.get(connector)
        if own is None:
            return []
        since = own.versions[0].time_ms if own.versions else own.events[0].time_ms if own.events else 0
        shared = self.of.get(CLUSTER)
        others = [] if shared is None else [event for event in shared.events if event.time_ms >= since]
        return sorted([*own.events, *others], key=lambda event: event.time_ms)[-MAX_EVENTS:]

    def since(self, time_ms: int) -> list[HistoryEvent]:
        """Return the events of all connectors since a time, those of each oldest first."""
        found: list[HistoryEvent] = []
        for book in self.of.values():
            recent = takewhile(lambda event: event.time_ms >= time_ms, reversed(book.events))
            found += reversed(list(recent))
        return found


@dataclass(frozen=True, slots=True)
class _Observed:
    """A record of the config topic that makes, or may make, a version."""

    offset: int
    time_ms: int
    record: ConnectorConfig | TargetState


@dataclass(slots=True)
class Recorder:
    retention_ms: int
    books: Books = field(default_factory=Books)
    _changes: dict[str, list[_Observed]] = field(default_factory=dict)
    """Changes that the history topic does not have yet, by connector."""
    _events: dict[str, HistoryEvent] = field(default_factory=dict)
    """Events that the history topic does not have yet, by key."""
    _observed: dict[tuple[str, int | None], HistoryEvent] = field(default_factory=dict)
    """The last state of each connector and task that this worker has read."""
    _looked: int | None = None

    def observe(self, event: LoopEvent, now: int) -> None:
        """Take an event of the worker's loop; others than these three say nothing about connectors."""
        match event:
            case ConfigRead(entries):
                for entry in entries:
                    self._observe_config(entry, now)
            case StatusRead(records):
                for record in records:
                    self._expect(_event_of(record, now), now)
            case Joined(leader=True, assignment=assignment) if not assignment.failed:
                details = {"connectors": len(assignment.connectors), "tasks": len(assignment.tasks)}
                self._expect(
                    HistoryEvent(
                        CLUSTER, None, now, "rebalance", generation=event.generation, details={"leader_has": details}
                    ),
                    now,
                )

    def replay(self, entries: Iterable[Entry], now: int) -> None:
        """Take entries of the history topic, in order; an entry that is there twice counts once."""
        for entry in entries:
            book = self.books.book(entry.connector)
            if isinstance(entry, ConnectorVersion):
                last = book.versions[-1].number if book.versions else 0
                book.add(entry if entry.number > last else replace(entry, number=last + 1))
                self._settle_changes(entry)
            else:
                book.add(entry)
                self._events.pop(entry.key, None)
            book.forget_before(now - self.retention_ms)
        if self._looked is None or now - self._looked >= LOOK_MS:
            self._looked = now
            self._forget_before(now - self.retention_ms)

    def _forget_before(self, time_ms: int) -> None:
        self.books.forget_before(time_ms)
        known = self.books.of
        self._observed = {
            instance: last
            for instance, last in self._observed.items()
            if instance[0] in known or last.time_ms >= time_ms
        }

    def due(self) -> list[Entry]:
        """Return what the leader must append now. The caller waits until it has been replayed before it calls again."""
        if not self._changes and not self._events:
            return []
        versions: list[ConnectorVersion] = []
        for name in list(self._changes):
            due, self._changes[name] = self._versions_due(name)
            versions += due
            if not self._changes[name]:
                del self._changes[name]
        return [*versions, *self._events_due()]

    def versions(self, name: str) -> list[ConnectorVersion]:
        """Return the connector's versions, also those that the history topic does not have yet; oldest first."""
        due = self._versions_due(name)[0] if name in self._changes else []
        return [*self.books.versions(name), *due]

    # -- versions

    def _observe_config(self, entry: ConfigRecord, now: int) -> None:
        time_ms = now if entry.time_ms is None else entry.time_ms
        match entry.record:
            case ConnectorConfig(name) | TargetState(name, str()):
                last = self.books.last(name)
                if last is None or (entry.offset > last.offset or time_ms > last.time_ms):
                    self._changes.setdefault(name, []).append(_Observed(entry.offset, time_ms, entry.record))
            case RestartRequest(name, tasks, failed) as request:
                details = {"include_tasks": tasks, "only_failed": failed}
                self._expect(
                    HistoryEvent(name, None, time_ms, "restart", principal=request.principal, details=details), now
                )
            case RecordSkip(name, skip, False) as request:
                records = {"partition": skip.partition, "first": skip.first, "last": skip.last, "to": skip.to}
                skipped = HistoryEvent(
                    name, None, time_ms, "skip", topic=skip.topic, principal=request.principal, details=records
                )
                self._expect(skipped, now)
            case RecordSkip(name, skip, True, str() as principal):  # by request: a task's worker names no principal
                records = {"partition": skip.partition, "first": skip.first, "cancelled": True}
                self._expect(
                    HistoryEvent(name, None, time_ms, "skip", topic=skip.topic, principal=principal, details=records),
                    now,
                )
            case PolicyRestart(name, chosen):
                for each in chosen:
                    self._expect(HistoryEvent(name, each.task, time_ms, "restart", reason=BY_POLICY), now)

    def _settle_changes(self, version: ConnectorVersion) -> None:
        """Drop the changes up to this version's record, since the leader writes in the order of the config topic."""
        waiting = [
            each
            for each in self._changes.pop(version.connector, [])
            if each.offset != version.offset and (each.offset > version.offset or each.time_ms > version.time_ms)
        ]
        if waiting:
            self._changes[version.connector] = waiting

    def _versions_due(self, name: str) -> tuple[list[ConnectorVersion], list[_Observed]]:
        """Return the versions that the history topic lacks, and the changes that make or may make them."""
        last = self.books.last(name)
        config = None if last is None else last.config
        state = STARTED if last is None or last.config is None else last.state
        number = 0 if last is None else last.number
        due: list[ConnectorVersion] = []
        kept: list[_Observed] = []
        for each in self._changes[name]:
            before = config, state
            match each.record:
                case TargetState(_, str() as new):
                    state = new
                case ConnectorConfig(_, new_config):
                    config = new_config
            if (config, state) == before or (config is None and before[0] is None):
                if config is None and isinstance(each.record, TargetState):
                    kept.append(each)  # the state in which the connector will be created
                continue
            kept.append(each)
            number += 1
            change = _change(before[0], config, state != before[1])
            principal = each.record.principal
            due.append(ConnectorVersion(name, number, each.offset, each.time_ms, change, state, config, principal))
            if config is None:
                state = STARTED
        return due, kept

    # -- events

    def _expect(self, event: HistoryEvent | None, now: int) -> None:
        if event is None or event.time_ms < now - self.retention_ms:
            return
        if event.kind == "state":
            known = self._observed.get((event.connector, event.task))
            if known is not None and known.says_the_same(event):
                return
            self._observed[event.connector, event.task] = event
        book = self.books.book(event.connector)
        if event.key not in book.keys and not book.is_forgotten(event):
            self._events[event.key] = event

    def _events_due(self) -> list[HistoryEvent]:
        """Return the events due in order of time; a state that a task already has is no event."""
        last: dict[tuple[str, int | None], HistoryEvent] = {}
        due = []
        for event in sorted(self._events.values(), key=lambda event: event.time_ms):
            instance = event.connector, event.task
            known = last.get(instance) or self.books.book(event.connector).last.get(event.task)
            if event.kind == "state":
                if event.state == DESTROYED if known is None else known.says_the_same(event):
                    del self._events[event.key]
                    continue
                last[instance] = event
            due.append(event)
        return due


def _change(before: object, after: object, state_changed: bool) -> Change:
    if after is None:
        return "deleted"
    if before is None:
        return "created"
    return "state" if state_changed else "configuration"


def _event_of(record: StatusTopicRecord, now: int) -> HistoryEvent | None:
    match record:
        case ConnectorStatus(name, state):
            task = None
        case TaskStatus(id, state):
            name, task = id.connector, id.task
        case TopicStatus(topic, name, int() as task, discovered):
            return HistoryEvent(name, task, now if discovered is None else discovered, "topic", topic=topic)
        case _:
            return None
    time_ms = now if record.written_ms is None else record.written_ms
    reason = None if record.trace is None else record.trace[:MAX_REASON_LENGTH]
    return HistoryEvent(name, task, time_ms, "state", state or DESTROYED, record.worker_id, record.generation, reason)
