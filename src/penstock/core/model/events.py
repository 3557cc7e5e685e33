"""Events of the worker's queue, as closed unions.

``Event`` lists the events that the herder handles: those of tasks are defined in ``tasks``, those of the group in
``group.membership``, all others here. ``Report`` lists those that the worker's loop hands to other parts of the worker;
reports change no decision. Anything else in the queue is a fault of Penstock, and raises.

| events | sender |
|---|---|
| ``Submitted`` | the loop, for the REST interface, for other workers by it, and for tasks that ask for confirmation |
| ``Completed`` | the part that carries out an ``Ask``: the internal topics, connectors, ``worker.background`` |
| ``ConfigRead``, ``StatusRead``, ``StatusNotWritten``, ``CaughtUp``, ``Degraded`` | the internal topics |
| ``Tick`` | the loop, when ``wake_at()`` says so |
| ``ShutDown`` | the worker's process |
| ``ConnectorChange`` | the threads on which connectors run |
| ``TaskChange``, ``TaskReport`` | tasks, by the channel to their processes |
| ``SparkReady``, ``SparkDied``, ``SparkFigures`` | the supervisors of Spark's drivers |
| ``GroupEvent`` | the group's thread |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.group.membership import GroupEvent
from penstock.core.model.messages import HerderRequest
from penstock.core.model.records import ConfigRecord, ConnectorConfig, StatusTopicRecord
from penstock.core.model.tasks import SparkDied, SparkFigures, SparkReady, TaskChange, TaskReport


@dataclass(frozen=True, slots=True)
class Submitted:
    """Request of a client, another worker or a task; answered exactly once, by ``Answer(number, …)``."""

    number: int
    request: HerderRequest


@dataclass(frozen=True, slots=True)
class Completed:
    """Outcome of an ``Ask``: a value, or the error that it failed with."""

    token: int
    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The config and status topics have been read up to the ends that they had when the worker started."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed, at least up to ``wake_at``."""


@dataclass(frozen=True, slots=True)
class ShutDown:
    """The worker shuts down: stop all work, answer no more requests."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """Something that the worker needs cannot be reached, for this reason; None: it can be reached again."""

    what: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class ConnectorEvent:
    """Base of the events of one run of a connector on this worker."""

    name: str
    run: int


@dataclass(frozen=True, slots=True)
class ConnectorRunning(ConnectorEvent):
    """The connector has started or resumed."""

    version: str


@dataclass(frozen=True, slots=True)
class ConnectorPaused(ConnectorEvent):
    """The connector has been paused."""

    version: str


@dataclass(frozen=True, slots=True)
class ConnectorStopped(ConnectorEvent):
    """The connector has reached the state STOPPED: it exists, but does nothing."""

    version: str


@dataclass(frozen=True, slots=True)
class ConnectorFailed(ConnectorEvent):
    """The connector has failed; ``trace`` has the cause."""

    trace: str
    version: str | None = None
    """None if the connector could not be created: its class or its configuration is wrong."""


@dataclass(frozen=True, slots=True)
class ConnectorDelayed(ConnectorEvent):
    """A call of a method of the connector takes long; ``reason`` is a sentence with its stack.

    None: the call has returned.
    """

    reason: str | None


@dataclass(frozen=True, slots=True)
class ReconfigurationWanted(ConnectorEvent):
    """The connector called ``request_task_reconfiguration``."""


@dataclass(frozen=True, slots=True)
class ConnectorEnded(ConnectorEvent):
    """Nothing of this run is running any more."""


@dataclass(frozen=True, slots=True)
class ConfigRead:
    """Next records of the config topic, in order."""

    entries: tuple[ConfigRecord, ...]

    def deleted(self) -> list[str]:
        """Return the connectors that these records delete."""
        records = (entry.record for entry in self.entries)
        return [record.name for record in records if isinstance(record, ConnectorConfig) and record.config is None]


@dataclass(frozen=True, slots=True)
class StatusRead:
    """Next records of the status topic, in order for each key."""

    records: tuple[StatusTopicRecord, ...]


@dataclass(frozen=True, slots=True)
class StatusNotWritten:
    """Records that this worker has appended to the status topic, not all of which have been written."""

    records: tuple[StatusTopicRecord, ...]


ConnectorChange = (
    ConnectorRunning
    | ConnectorPaused
    | ConnectorStopped
    | ConnectorFailed
    | ConnectorDelayed
    | ReconfigurationWanted
    | ConnectorEnded
)
"""Events of connectors, sent by the threads on which they run (``worker.connectors``)."""

Event = (
    Submitted
    | Completed
    | CaughtUp
    | Tick
    | ShutDown
    | Degraded
    | ConfigRead
    | StatusRead
    | StatusNotWritten
    | ConnectorChange
    | TaskChange
    | SparkReady
    | SparkDied
    | GroupEvent
)
"""Events that the herder handles."""

Report = TaskReport | SparkFigures
"""Events that the worker's loop hands to other parts of the worker."""

LoopEvent = Event | Report
"""Events that the worker's loop takes; observers of the worker see all of them."""
