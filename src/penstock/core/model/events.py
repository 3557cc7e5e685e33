"""The herder's events, besides those of tasks (``tasks``) and of the group (``membership``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.model.messages import Request
from penstock.core.model.records import ConfigRecord, ConnectorConfig, StatusTopicRecord


@dataclass(frozen=True, slots=True)
class Submitted:
    """A client's request; answered exactly once, by ``Answer(number, …)``."""

    number: int
    request: Request


@dataclass(frozen=True, slots=True)
class Completed:
    """The outcome of an ``Ask``: a value, or what it failed with."""

    token: int
    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Config and status topic have been read up to where they ended when the worker started."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: at least up to ``wake_at``."""


@dataclass(frozen=True, slots=True)
class ShutDown:
    """The worker is to end: stop all work, answer no more requests."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """Something that the worker needs can't be reached, for the reason given; None: it can be reached again."""

    what: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class ConnectorEvent:
    """An event of one run of a connector on this worker."""

    name: str
    run: int


@dataclass(frozen=True, slots=True)
class ConnectorRunning(ConnectorEvent):
    version: str


@dataclass(frozen=True, slots=True)
class ConnectorPaused(ConnectorEvent):
    version: str


@dataclass(frozen=True, slots=True)
class ConnectorStopped(ConnectorEvent):
    """It has reached the state STOPPED: it exists, but does nothing."""

    version: str


@dataclass(frozen=True, slots=True)
class ConnectorFailed(ConnectorEvent):
    trace: str
    version: str | None = None
    """None if it could not be created: its class or its configuration is wrong."""


@dataclass(frozen=True, slots=True)
class ConnectorDelayed(ConnectorEvent):
    """A call of one of its methods takes long: a sentence with its stack. None: it has returned."""

    reason: str | None


@dataclass(frozen=True, slots=True)
class ReconfigurationWanted(ConnectorEvent):
    """The connector called ``request_task_reconfiguration``."""


@dataclass(frozen=True, slots=True)
class ConnectorEnded(ConnectorEvent):
    """Nothing of this run is running any more."""


@dataclass(frozen=True, slots=True)
class ConfigRead:
    """The next records of the config topic, in order."""

    entries: tuple[ConfigRecord, ...]

    def deleted(self) -> list[str]:
        """The connectors that they delete."""
        records = (entry.record for entry in self.entries)
        return [record.name for record in records if isinstance(record, ConnectorConfig) and record.config is None]


@dataclass(frozen=True, slots=True)
class StatusRead:
    """The next records of the status topic, in order for each key."""

    records: tuple[StatusTopicRecord, ...]


@dataclass(frozen=True, slots=True)
class StatusNotWritten:
    """Records that this worker has appended to the status topic, and that are not all there."""

    records: tuple[StatusTopicRecord, ...]
