"""Entries of a connector's history: versions of its configuration, and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

Change = Literal["created", "configuration", "state", "deleted"]
Kind = Literal["state", "restart", "topic", "rebalance", "skip"]
MAX_REASON_LENGTH = 2000
CLUSTER = ""
"""Connector name of events that concern all connectors: rebalances."""


@dataclass(frozen=True, slots=True)
class ConnectorVersion:
    """A connector from this change on. ``offset`` and ``time_ms`` are those of the record in the config topic."""

    connector: str
    number: int
    offset: int
    time_ms: int
    change: Change
    state: str
    """The target state: STARTED, PAUSED or STOPPED."""
    config: Mapping[str, str] | None
    """The configuration; None if the connector is deleted."""
    principal: str | None = None
    """Name of the authenticated user who made the change; None if the REST interface authenticates nobody."""

    @property
    def key(self) -> str:
        return f"version:{self.connector}:{self.offset}:{self.time_ms}"

    def summary(self) -> dict[str, Any]:
        """Return the version as the REST interface lists it, without the configuration."""
        return {
            "version": self.number,
            "time": timestamp(self.time_ms),
            "principal": self.principal,
            "change": self.change,
            "state": self.state,
        }


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """Event of a connector (task None) or of one of its tasks."""

    connector: str
    task: int | None
    time_ms: int
    kind: Kind
    state: str | None = None
    worker: str | None = None
    generation: int | None = None
    reason: str | None = None
    """Trace of a failure, which may be cut."""
    topic: str | None = None
    principal: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        what = self.state or self.topic or ""
        if self.kind == "skip":
            what = f"{what}-{self.details.get('partition')}-{self.details.get('first')}"
            what += "-cancelled" * ("cancelled" in self.details)
        return f"event:{self.connector}:{self.task}:{self.time_ms}:{self.kind}:{what}:{self.generation}"

    def says_the_same(self, other: HistoryEvent) -> bool:
        return (self.kind, self.state, self.worker, self.reason) == (
            other.kind,
            other.state,
            other.worker,
            other.reason,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the event as the REST interface shows it, without what is not known."""
        given = asdict(self)
        shown = {"time": timestamp(given.pop("time_ms")), **given.pop("details"), **given}
        del shown["connector"]
        return {name: value for name, value in shown.items() if value is not None}


Entry = ConnectorVersion | HistoryEvent


def timestamp(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def difference(before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> dict[str, Any]:
    """The settings that were added, changed (old and new value) and removed."""
    old, new = before or {}, after or {}
    return {
        "added": {name: new[name] for name in new if name not in old},
        "changed": {name: [old[name], new[name]] for name in new if name in old and old[name] != new[name]},
        "removed": {name: old[name] for name in old if name not in new},
    }
