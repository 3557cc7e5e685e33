"""Actions of the herder, which the worker carries out in order: the closed union ``Action``.

An ``Ask`` is carried out in the background and answered by ``Completed(token, outcome)``; other actions have no answer,
their effects arrive as events. The worker's loop hands each action to the part that carries it out: the internal topics
and the group (``worker.distributed``, ``worker.standalone``), connectors (``worker.connectors``), tasks
(``worker.task_launcher``), or for a ``LongOperation`` a thread of ``worker.background``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.group.membership import ClusterConfigSnapshot
from penstock.core.model.messages import Elsewhere, OffsetChanges, Reply
from penstock.core.model.records import ConfigTopicRecord, StatusTopicRecord
from penstock.core.model.skips import Skip, SkipTarget
from penstock.core.model.tasks import TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    token: int = 0
    """Set by the flow that yields the ``Ask``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Reply to request ``request``, a number given by ``Submitted``."""

    request: int
    reply: Reply | Elsewhere


# -- the topics


@dataclass(frozen=True, slots=True)
class AppendConfig(_Ask):
    """Append to the config topic, with exactly once in one transaction, and read up to there. Outcome: None."""

    records: tuple[ConfigTopicRecord, ...]
    as_leader: bool = True


@dataclass(frozen=True, slots=True)
class ReadConfigToEnd(_Ask):
    """Read the config topic up to its present end; all records up to there have been handled before. Outcome: None."""


@dataclass(frozen=True, slots=True)
class ClaimConfigTopic(_Ask):
    """Fence the config topic, so that only this worker can write to it as leader (KIP-618). Outcome: None."""


@dataclass(frozen=True, slots=True)
class AppendStatus:
    """Append to the status topic. Records that cannot be written come back as ``StatusNotWritten``."""

    records: tuple[StatusTopicRecord, ...]


# -- the group


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """Join the worker group for the first time; a ``Publish`` precedes it."""


@dataclass(frozen=True, slots=True)
class Publish:
    """Replace the snapshot that the assignor and join requests use."""

    snapshot: ClusterConfigSnapshot


@dataclass(frozen=True, slots=True)
class Rejoin:
    """Request a rebalance by joining the group again, or join it after ``LeaveGroup``."""

    reason: str


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """Leave the group until the next ``Rejoin``."""

    reason: str
    keeps_work: bool = True
    """Whether the worker claims its connectors and tasks when it joins again."""


@dataclass(frozen=True, slots=True)
class ConfirmMembership(_Ask):
    """Ask the coordinator whether this worker is a member now. Outcome: a bool, after the events of all rebalances that
    completed before.
    """


@dataclass(frozen=True, slots=True)
class Release:
    """Call ``done``: everything that the group revoked has stopped, and the rebalance can proceed."""

    done: Callable[[], None]


# -- connectors


@dataclass(frozen=True, slots=True)
class StartConnector:
    """Start a run of a connector, in this target state. It reports by ``ConnectorChange`` events."""

    name: str
    run: int
    config: Mapping[str, str]
    target_state: str


@dataclass(frozen=True, slots=True)
class ChangeConnectorState:
    """Bring a run of a connector to this target state."""

    name: str
    run: int
    target_state: str


@dataclass(frozen=True, slots=True)
class StopConnectorRun:
    """Stop a run of a connector. ``ConnectorEnded`` follows."""

    name: str
    run: int


@dataclass(frozen=True, slots=True)
class GeneratedTasks:
    """Task configurations that a connector has generated from its own configuration."""

    configs: list[dict[str, str]]
    resolved: bytes
    """A digest of the connector's configuration with the values of config providers: equal if they are, comparable
    only with those of the same worker process.
    """


@dataclass(frozen=True, slots=True)
class MakeTaskConfigs(_Ask):
    """Ask a running connector for its tasks' configurations. Outcome: ``GeneratedTasks``, or None if it has failed or
    does not run.
    """

    name: str
    run: int
    max_tasks: int


# -- tasks


@dataclass(frozen=True, slots=True)
class StartTask:
    """Start a run of a task. It reports by ``TaskChange`` events.

    ``known_topics`` are active already: the task does not report them (KIP-558).
    """

    id: TaskId
    run: int
    config: Mapping[str, str]
    connector_config: Mapping[str, str]
    paused: bool
    known_topics: tuple[str, ...]
    skips: tuple[Skip, ...] = ()
    """Records that a sink leaves out."""


@dataclass(frozen=True, slots=True)
class PauseTask:
    """Pause a task. ``TaskPaused`` follows."""

    id: TaskId


@dataclass(frozen=True, slots=True)
class ResumeTask:
    """Resume a paused task. ``TaskRunning`` follows."""

    id: TaskId


@dataclass(frozen=True, slots=True)
class StopTask:
    """Stop the present run of a task. ``TaskEnded`` follows."""

    id: TaskId


@dataclass(frozen=True, slots=True)
class ResetTaskTopics:
    """Have a task report its topics again (KIP-558)."""

    id: TaskId


# -- long operations


@dataclass(frozen=True, slots=True)
class Validate(_Ask):
    """Check a connector's configuration. Outcome: None, or the text of all errors."""

    config: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class FenceProducers(_Ask):
    """Fence the producers of this many tasks (KIP-618). Outcome: None."""

    connector: str
    tasks: int
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReadOffsets(_Ask):
    """Read a connector's offsets. Outcome: the list of ``{"partition":…, "offset":…}``."""

    connector: str
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WriteOffsets(_Ask):
    """Alter offsets, or reset all of them (``offsets`` is None). Outcome: the message for the client."""

    connector: str
    config: Mapping[str, str]
    offsets: OffsetChanges | None


@dataclass(frozen=True, slots=True)
class ExamineSkip(_Ask):
    """Check that a sink is going to read these records, first and last offset of each span, of a partition.

    Outcome: a ``Skip`` for each span.
    """

    connector: str
    config: Mapping[str, str]
    topic: str
    partition: int
    spans: tuple[tuple[int, int], ...]
    to: SkipTarget | None
    """None: the dead letter queue, which the connector must have."""


@dataclass(frozen=True, slots=True)
class CallLeader(_Ask):
    """Send a request to the leader, signed if there is a ``key``. Outcome: None."""

    method: str
    url: str
    path: tuple[str, ...]
    """Parts of the path, not yet escaped."""
    body: Any
    key: bytes | None
    algorithm: str


@dataclass(frozen=True, slots=True)
class MakeSessionKey(_Ask):
    """Make a session key. Outcome: random bytes (KIP-507)."""

    algorithm: str
    size: int | None


# -- this worker itself


@dataclass(frozen=True, slots=True)
class SetLogLevel:
    """Set the level of a logger on this worker (KIP-976)."""

    name: str
    level: str


@dataclass(frozen=True, slots=True)
class Log:
    """Write a line to the log: ``level`` is INFO, WARNING or ERROR."""

    level: str
    text: str


# -- the closed unions

LongOperation = Validate | FenceProducers | ReadOffsets | WriteOffsets | ExamineSkip | CallLeader | MakeSessionKey
"""Asks that the worker carries out on threads of their own (``worker.background``)."""

Ask = AppendConfig | ReadConfigToEnd | ClaimConfigTopic | ConfirmMembership | MakeTaskConfigs | LongOperation

Action = (
    Answer
    | AppendStatus
    | JoinGroup
    | Publish
    | Rejoin
    | LeaveGroup
    | Release
    | StartConnector
    | ChangeConnectorState
    | StopConnectorRun
    | StartTask
    | PauseTask
    | ResumeTask
    | StopTask
    | ResetTaskTopics
    | SetLogLevel
    | Log
    | Ask
)
