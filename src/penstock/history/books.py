"""The history of every connector in memory: what has been read from the history topic, each entry once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from penstock.history.entries import CLUSTER, ConnectorVersion, Entry, HistoryEvent

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
