"""Requests of clients, other workers and tasks, and the replies to them: one frozen dataclass for each request.

The HTTP layer parses a request into one of these and renders the ``Reply``; it knows nothing else of the control
plane. Names of connectors are as the user gave them.

| union | sender | answered by |
|---|---|---|
| ``LocalRequest`` | a client | this worker at once, without the state of the cluster (``worker.local``) |
| ``ReadRequest`` | a client | the herder at once, from what this worker has read of the internal topics |
| ``FlowRequest`` | a client, another worker, a task | the herder by a flow, which may write to the config topic |
| ``RollBack`` | a client | the worker, which replaces it by a ``PutConfig`` (``worker.monitoring.history``) |

``Elsewhere`` in place of a ``Reply`` says that another worker must answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.model.records import TargetStateName
from penstock.core.model.skips import SkipTarget
from penstock.core.model.tasks import TaskId

SIGNATURE_HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"

OffsetChanges = tuple[tuple[dict[str, Any] | None, dict[str, Any] | None], ...]
"""Pairs of a source partition and its new offset (KIP-875); None in place of the offset removes it."""


@dataclass(frozen=True, slots=True)
class _Request:
    principal: str | None = field(default=None, kw_only=True, compare=False, repr=False)
    """Name of the authenticated user; None if the REST interface authenticates nobody."""


# -- answered by this worker alone


@dataclass(frozen=True, slots=True)
class GetRoot(_Request):
    """Show the version of the worker and the id of its Kafka cluster."""


@dataclass(frozen=True, slots=True)
class ListPlugins(_Request):
    """List plugins; ``unusable``: also those that cannot be used, each with its problem."""

    connectors_only: bool = True
    unusable: bool = False


@dataclass(frozen=True, slots=True)
class GetPluginConfig(_Request):
    """List the settings of a plugin; ``version``: the version, or range of versions, that it must have (KIP-891)."""

    plugin: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ValidateConfig(_Request):
    """Validate a configuration; ``warnings``: whether the answer also lists the settings that have no effect."""

    plugin: str
    config: dict[str, str | None]
    warnings: bool = False


@dataclass(frozen=True, slots=True)
class ListLoggers(_Request):
    """List the loggers of this worker with their levels."""


@dataclass(frozen=True, slots=True)
class GetLogger(_Request):
    """Show the level of a logger on this worker."""

    name: str


@dataclass(frozen=True, slots=True)
class SetLogger(_Request):
    """Set a level on this worker (KIP-495). The level is as the client wrote it: ``debug``, say."""

    name: str
    level: str


@dataclass(frozen=True, slots=True)
class ListVersions(_Request):
    """List the versions of a connector's configuration and target state."""

    name: str


@dataclass(frozen=True, slots=True)
class GetVersion(_Request):
    """Show a version of a connector's configuration. ``number`` None: the last version."""

    name: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class CompareVersions(_Request):
    """Compare two versions of a connector's configuration. ``before`` None: the version before ``number``."""

    name: str
    number: int
    before: int | None = None


@dataclass(frozen=True, slots=True)
class ListEvents(_Request):
    """List what happened to a connector and its tasks."""

    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class GetLogs(_Request):
    """Read the last log lines on this worker, of at least this level (a number), after line number ``after``."""

    name: str
    level: int
    task: int | None
    limit: int
    after: int = 0


@dataclass(frozen=True, slots=True)
class Preview(_Request):
    """Try a configuration on real records. With ``patch`` it is a change of the connector's present configuration, as
    in ``PatchConfig``; the other members are those of ``preview.request``.
    """

    name: str
    config: dict[str, str | None]
    patch: bool = False
    limit: int = 5
    partition: int | None = None
    offset: int | None = None
    poll: bool = False


@dataclass(frozen=True, slots=True)
class ListDeadLetters(_Request):
    """List the last records of a connector's dead letter queue."""

    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class GetDeadLetter(_Request):
    """Show a record of the dead letter queue; ``decoded``: also as the connector's steps read it."""

    name: str
    partition: int
    offset: int
    decoded: bool = False


@dataclass(frozen=True, slots=True)
class ReplayDeadLetters(_Request):
    """Send dead letters again.

    ``records`` as ``TOPIC-PARTITION-OFFSET``; none means all. ``topic``: target of records that name none.
    """

    name: str
    records: tuple[str, ...] = ()
    topic: str | None = None
    dry_run: bool = False


# -- answered from the state of the cluster


@dataclass(frozen=True, slots=True)
class GetHealth(_Request):
    """Show whether the worker is healthy (KIP-1017)."""


@dataclass(frozen=True, slots=True)
class ListConnectors(_Request):
    """List connectors; ``expand`` adds ``status`` or ``info`` of each (KIP-465)."""

    expand: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GetConnector(_Request):
    """Show a connector's configuration, tasks and type."""

    name: str


@dataclass(frozen=True, slots=True)
class GetConfig(_Request):
    """Show a connector's configuration."""

    name: str


@dataclass(frozen=True, slots=True)
class GetTasks(_Request):
    """Show the configurations of a connector's tasks."""

    name: str


@dataclass(frozen=True, slots=True)
class GetStatus(_Request):
    """Show the states of a connector and its tasks."""

    name: str


@dataclass(frozen=True, slots=True)
class GetTaskStatus(_Request):
    """Show the state of a task."""

    name: str
    task: int


@dataclass(frozen=True, slots=True)
class GetTopics(_Request):
    """Show the active topics of a connector (KIP-558)."""

    name: str


@dataclass(frozen=True, slots=True)
class ListSkips(_Request):
    """List the records that a sink leaves out and has not passed yet."""

    name: str


# -- answered by a flow


@dataclass(frozen=True, slots=True)
class CreateConnector(_Request):
    """Create a connector. ``initial_state``: STARTED, PAUSED or STOPPED, None if not given (KIP-980)."""

    name: str
    config: dict[str, str | None]
    initial_state: TargetStateName | None = None
    initial_offsets: OffsetChanges | None = None


@dataclass(frozen=True, slots=True)
class PutConfig(_Request):
    """Create a connector, or replace its configuration."""

    name: str
    config: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class PatchConfig(_Request):
    """Change settings of a connector; None removes a setting (KIP-477)."""

    name: str
    patch: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class RollBack(_Request):
    """Put an earlier version of the configuration into effect. ``number`` None: the last version whose configuration
    differs from the present one.
    """

    name: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteConnector(_Request):
    """Delete a connector."""

    name: str


@dataclass(frozen=True, slots=True)
class SetTargetState(_Request):
    """Pause (PAUSED) or resume (STARTED) a connector."""

    name: str
    state: TargetStateName


@dataclass(frozen=True, slots=True)
class StopConnector(_Request):
    """Stop a connector and take back its tasks (KIP-875)."""

    name: str


@dataclass(frozen=True, slots=True)
class RestartConnector(_Request):
    """Restart a connector, with its tasks if they are included, or only failed instances (KIP-745)."""

    name: str
    include_tasks: bool = False
    only_failed: bool = False


@dataclass(frozen=True, slots=True)
class RestartTask(_Request):
    """Restart a task, by the worker that runs it."""

    name: str
    task: int


@dataclass(frozen=True, slots=True)
class ResetTopics(_Request):
    """Empty the set of a connector's active topics (KIP-558)."""

    name: str


@dataclass(frozen=True, slots=True)
class SkipRecords(_Request):
    """Let a sink leave out records of a partition.

    ``spans``: first and last offsets. ``to`` None: to the dead letter queue. ``restart``: whether the tasks, which
    learn of skips when they start, start again now.
    """

    name: str
    topic: str
    partition: int
    spans: tuple[tuple[int, int], ...]
    to: SkipTarget | None = None
    restart: bool = True


@dataclass(frozen=True, slots=True)
class CancelSkips(_Request):
    """Forget the skips of a connector that have not taken effect. Tasks that know them follow them to their end."""

    name: str


@dataclass(frozen=True, slots=True)
class GetOffsets(_Request):
    """Show a connector's offsets (KIP-875). Not a ``ReadRequest``, because it reads Kafka, which may take time."""

    name: str


@dataclass(frozen=True, slots=True)
class AlterOffsets(_Request):
    """Alter offsets of a stopped connector (KIP-875): pairs of partition and offset, as given in JSON."""

    name: str
    offsets: OffsetChanges


@dataclass(frozen=True, slots=True)
class ResetOffsets(_Request):
    """Reset all offsets of a stopped connector (KIP-875)."""

    name: str


@dataclass(frozen=True, slots=True)
class SetClusterLogger(_Request):
    """Set a level on every worker (KIP-976). The level is as the client wrote it: ``debug``, say."""

    name: str
    level: str


# -- from other workers, and from tasks of this worker


@dataclass(frozen=True, slots=True)
class Signature:
    """A body with the values of its two signature headers, the first of them decoded (KIP-507)."""

    body: bytes
    signature: bytes | None
    algorithm: str | None


@dataclass(frozen=True, slots=True)
class CheckSignature(_Request):
    """Check the signature of a ``PutTaskConfigs`` with this body; sent before the body is parsed."""

    signature: Signature


@dataclass(frozen=True, slots=True)
class PutTaskConfigs(_Request):
    """Write the task configurations that a connector has generated; from the worker that runs it to the leader."""

    name: str
    configs: tuple[dict[str, str], ...]
    signature: Signature


@dataclass(frozen=True, slots=True)
class FenceTasks(_Request):
    """Fence a connector's old tasks; from a worker that is about to start new ones to the leader (KIP-618)."""

    name: str
    signature: Signature


@dataclass(frozen=True, slots=True)
class ConfirmTask(_Request):
    """Check that this run of a task, which is ready to begin its work, is still wanted (``Confirmation``)."""

    id: TaskId
    run: int


# -- the closed unions

LocalRequest = (
    GetRoot
    | ListPlugins
    | GetPluginConfig
    | ValidateConfig
    | ListLoggers
    | GetLogger
    | SetLogger
    | ListVersions
    | GetVersion
    | CompareVersions
    | ListEvents
    | GetLogs
    | Preview
    | ListDeadLetters
    | GetDeadLetter
    | ReplayDeadLetters
)
"""Requests about this worker alone, or that it answers without the state of the cluster."""

ReadRequest = (
    GetHealth | ListConnectors | GetConnector | GetConfig | GetTasks | GetStatus | GetTaskStatus | GetTopics | ListSkips
)
"""Requests answered at once from the state that this worker has read; they never wait for a rebalance."""

FlowRequest = (
    CreateConnector
    | PutConfig
    | PatchConfig
    | DeleteConnector
    | SetTargetState
    | StopConnector
    | RestartConnector
    | RestartTask
    | ResetTopics
    | SkipRecords
    | CancelSkips
    | GetOffsets
    | AlterOffsets
    | ResetOffsets
    | SetClusterLogger
    | CheckSignature
    | PutTaskConfigs
    | FenceTasks
    | ConfirmTask
)
"""Requests that change connectors or the cluster, or whose answer takes time to find."""

HerderRequest = ReadRequest | FlowRequest
"""Requests that reach the herder, by ``Submitted``."""

Request = LocalRequest | HerderRequest | RollBack

# -- replies


@dataclass(frozen=True, slots=True)
class Reply:
    """``body`` is rendered as JSON; None: the response has no body."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Redirection to the worker at this URL; None while that is not known."""

    url: str | None


class Refused(Exception):
    """Refusal of a request: rendered as Connect's ``{"error_code", "message"}`` with this HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message

    def reply(self) -> Reply:
        return Reply(self.status, {"error_code": self.status, "message": self.message})


class PluginFailed(Refused):
    """Failure of a plugin's own code while a request was examined; the exception that it raised is the cause."""
