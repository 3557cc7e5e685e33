"""Records of the config topic and the status topic, as values.

The stores of ``kafka`` decode every record of the two topics to one of these and encode those that are appended. A
record changes the state of a worker when it is read back, never when it is written. None in place of the content is a
tombstone, which deletes the key. Java: the ``*_V0`` and ``*_V1`` schemas of ``KafkaConfigBackingStore`` and
``KafkaStatusBackingStore``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from penstock.core.model.skips import Skip
from penstock.core.model.tasks import TaskId

TargetStateName = Literal["STARTED", "PAUSED", "STOPPED"]
StateName = Literal["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED", "DESTROYED"]

# -- the config topic


@dataclass(frozen=True, slots=True)
class ConnectorConfig:
    """``connector-<name>``: the connector's configuration as it was given; None: the connector is deleted."""

    name: str
    config: dict[str, str] | None
    principal: str | None = field(default=None, compare=False, repr=False)
    """User who requested it, if the REST interface authenticates users: a header of the record, which Java ignores."""


@dataclass(frozen=True, slots=True)
class TaskConfig:
    """``task-<connector>-<n>``: counts only once a ``TasksCommit`` follows. None, which Java never writes, is ignored
    as in Java.
    """

    id: TaskId
    config: dict[str, str] | None


@dataclass(frozen=True, slots=True)
class TasksCommit:
    """``commit-<connector>``: the task configurations before it are complete; ``tasks`` is their number."""

    connector: str
    tasks: int


@dataclass(frozen=True, slots=True)
class TargetState:
    """``target-state-<connector>``: the state that the connector should have; None at its deletion."""

    connector: str
    state: TargetStateName | None
    principal: str | None = field(default=None, compare=False, repr=False)
    bulk: str | None = field(default=None, compare=False, repr=False)
    """ID of the bulk action that requested it: a header of the record, which Java ignores."""


@dataclass(frozen=True, slots=True)
class TaskCount:
    """``tasks-fencing-<connector>``: the producers of at most this many tasks may be at work; those of earlier
    generations are fenced (KIP-618).
    """

    connector: str
    tasks: int


@dataclass(frozen=True, slots=True)
class SessionKey:
    """``session-key``: the key with which workers sign their requests to each other (KIP-507)."""

    key: bytes = field(repr=False)
    algorithm: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """``restart-connector-<connector>``: restart it now (KIP-745); workers that start later ignore it."""

    connector: str
    include_tasks: bool = False
    only_failed: bool = False
    principal: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RestartCount:
    """Number of restarts in a row, by ``penstock.restart.policy``, of a task, or of its connector (task None).

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

    A worker of Java reads it as a RestartRequest of all failed instances. ``others`` repeats the counts of the
    connector's other instances, since compaction keeps only a connector's last restart.
    """

    connector: str
    now: tuple[RestartCount, ...]
    others: tuple[RestartCount, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """``logger-cluster-<name>``: every worker sets this level now; workers that start later ignore it."""

    name: str
    level: str


@dataclass(frozen=True, slots=True)
class RecordSkip:
    """``penstock-skip-<connector>/<topic>/<partition>/<first offset>``: the connector's tasks leave these records out.

    Java's workers log that they do not know the key. ``over``: a tombstone; the records are behind the connector, or it
    is deleted.
    """

    connector: str
    skip: Skip
    over: bool = False
    principal: str | None = field(default=None, compare=False, repr=False)


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
    | RecordSkip
)


@dataclass(frozen=True, slots=True)
class ConfigRecord:
    """Record of the config topic as it was read, in order.

    A worker that has read it is at position ``offset + 1``, which workers compare in the group protocol. ``record`` is
    None for a record that could not be understood: it changes only that position. A record that is no JSON does not
    even change the position, as in Java, so it is no ConfigRecord.
    """

    offset: int
    record: ConfigTopicRecord | None
    time_ms: int | None = field(default=None, compare=False, repr=False)
    """Timestamp in the topic; None if there is none."""


# -- the status topic


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """``status-connector-<name>``. State None: the connector no longer exists."""

    name: str
    state: StateName | None
    worker_id: str = ""
    generation: int = 0
    trace: str | None = None
    version: str | None = None
    written_ms: int | None = field(default=None, compare=False, repr=False)
    """Timestamp in the topic; None for a record that has not been read from there."""


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """``status-task-<connector>-<n>``. State None: the task no longer exists."""

    id: TaskId
    state: StateName | None
    worker_id: str = ""
    generation: int = 0
    trace: str | None = None
    version: str | None = None
    written_ms: int | None = field(default=None, compare=False, repr=False)
    """Timestamp in the topic; None for a record that has not been read from there."""


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
    """Record of the status topic as it was read, in order within its partition, which has all records of a key."""

    partition: int
    offset: int
    record: StatusTopicRecord
