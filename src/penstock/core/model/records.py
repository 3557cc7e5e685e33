"""What the config topic and the status topic hold, as values.

The stores of ``kafka`` decode every record of the two topics to one of these and encode those that are appended. A
record changes the state of a worker when it is read back, never when it is written. None in place of the content is a
tombstone: the key is gone. Java: the ``*_V0`` and ``*_V1`` schemas of ``KafkaConfigBackingStore`` and
``KafkaStatusBackingStore``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from penstock.core.model.tasks import TaskId

TargetStateName = Literal["STARTED", "PAUSED", "STOPPED"]
StateName = Literal["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED", "DESTROYED"]

# -- the config topic


@dataclass(frozen=True, slots=True)
class ConnectorConfig:
    """``connector-<name>``: the connector's configuration as it was given; None: it is deleted."""

    name: str
    config: dict[str, str] | None
    principal: str | None = field(default=None, compare=False, repr=False)
    """Who asked for it, if the REST interface has authenticated anybody: a header of the record, which Java ignores."""


@dataclass(frozen=True, slots=True)
class TaskConfig:
    """``task-<connector>-<n>``: counts only once a ``TasksCommit`` follows. None, which Java never writes, is ignored
    as in Java.
    """

    id: TaskId
    config: dict[str, str] | None


@dataclass(frozen=True, slots=True)
class TasksCommit:
    """``commit-<connector>``: the task configurations before it are complete, and so many."""

    connector: str
    tasks: int


@dataclass(frozen=True, slots=True)
class TargetState:
    """``target-state-<connector>``: what the connector should be; None: forgotten, at its deletion."""

    connector: str
    state: TargetStateName | None
    principal: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TaskCount:
    """``tasks-fencing-<connector>``: the producers of so many tasks may be at work, those of generations before are
    fenced (KIP-618).
    """

    connector: str
    tasks: int


@dataclass(frozen=True, slots=True)
class SessionKey:
    """``session-key``: what workers sign their requests to each other with (KIP-507)."""

    key: bytes = field(repr=False)
    algorithm: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """``restart-connector-<connector>``: restart it now (KIP-745); without meaning for workers that start later."""

    connector: str
    include_tasks: bool = False
    only_failed: bool = False
    principal: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RestartCount:
    """How often ``penstock.restart.policy`` has restarted a task, or its connector (task None), in a row.

    ``failed_ms`` is the time of the failure after which it was restarted last: the timestamp of its FAILED status. The
    leader requested that restart at ``requested_ms``.
    """

    task: int | None
    count: int
    failed_ms: int
    requested_ms: int


@dataclass(frozen=True, slots=True)
class PolicyRestart:
    """``restart-connector-<connector>``: restart these failed instances now, as ``penstock.restart.policy`` asks.

    To a worker of Java it is a RestartRequest of whatever has failed. ``others`` repeats the counts of the connector's
    other instances: compaction keeps a connector's last restart alone.
    """

    connector: str
    now: tuple[RestartCount, ...]
    others: tuple[RestartCount, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """``logger-cluster-<name>``: every worker sets this level now; without meaning for workers that start later."""

    name: str
    level: str


ConfigTopicRecord = (
    ConnectorConfig
    | TaskConfig
    | TasksCommit
    | TargetState
    | TaskCount
    | SessionKey
    | RestartRequest
    | PolicyRestart
    | LoggerLevel
)


@dataclass(frozen=True, slots=True)
class ConfigRecord:
    """One record of the config topic as it was read, in order.

    ``offset`` is its own; a worker that has read it stands at ``offset + 1``, which is what workers compare in the
    group protocol. ``record`` is None for one that could not be understood: it changes nothing but that position. One
    that is no JSON changes not even that, as in Java, so it is no ConfigRecord.
    """

    offset: int
    record: ConfigTopicRecord | None
    time_ms: int | None = field(default=None, compare=False, repr=False)
    """Its timestamp in the topic; None if there is none."""


# -- the status topic


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """``status-connector-<name>``. State None: the connector is gone."""

    name: str
    state: StateName | None
    worker_id: str = ""
    generation: int = 0
    trace: str | None = None
    version: str | None = None
    written_ms: int | None = field(default=None, compare=False, repr=False)
    """The record's timestamp in the topic; None for one that has not been read from there."""


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """``status-task-<connector>-<n>``. State None: the task is gone."""

    id: TaskId
    state: StateName | None
    worker_id: str = ""
    generation: int = 0
    trace: str | None = None
    version: str | None = None
    written_ms: int | None = field(default=None, compare=False, repr=False)
    """The record's timestamp in the topic; None for one that has not been read from there."""


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """``status-topic-<topic>:connector-<connector>``: the topic is active for the connector (KIP-558). Task None: no
    longer.
    """

    topic: str
    connector: str
    task: int | None
    discovered_ms: int | None = None


StatusTopicRecord = ConnectorStatus | TaskStatus | TopicStatus


@dataclass(frozen=True, slots=True)
class StatusRecord:
    """One record of the status topic as it was read; in order within its partition, as all records of one key are."""

    partition: int
    offset: int
    record: StatusTopicRecord
