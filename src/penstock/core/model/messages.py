"""Requests of clients, other workers and tasks, and the replies to them: one frozen dataclass for each request.

The HTTP layer parses a request into one of these and renders the ``Reply``; it knows nothing else of the control
plane. Names of connectors are as the user gave them. ``core.model.local_requests`` has those of ``LocalRequest``.

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

from penstock.core.model.local_requests import LocalRequest, RequestBase
from penstock.core.model.records import TargetStateName
from penstock.core.model.skips import SkipTarget
from penstock.core.model.tasks import TaskId

SIGNATURE_HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"

OffsetChanges = tuple[tuple[dict[str, Any] | None, dict[str, Any] | None], ...]
"""Pairs of a source partition and its new offset (KIP-875); None in place of the offset removes it."""


# -- answered from the state of the cluster


@dataclass(frozen=True, slots=True)
class GetHealth(RequestBase):
    """Show whether the worker is healthy (KIP-1017)."""


@dataclass(frozen=True, slots=True)
class ListConnectors(RequestBase):
    """List connectors; ``expand`` adds ``status`` or ``info`` of each (KIP-465)."""

    expand: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GetConnector(RequestBase):
    """Show a connector's configuration, tasks and type."""

    name: str


@dataclass(frozen=True, slots=True)
class GetConfig(RequestBase):
    """Show a connector's configuration."""

    name: str


@dataclass(frozen=True, slots=True)
class GetTasks(RequestBase):
    """Show the configurations of a connector's tasks."""

    name: str


@dataclass(frozen=True, slots=True)
class GetStatus(RequestBase):
    """Show the states of a connector and its tasks."""

    name: str


@dataclass(frozen=True, slots=True)
class GetTaskStatus(RequestBase):
    """Show the state of a task."""

    name: str
    task: int


@dataclass(frozen=True, slots=True)
class GetTopics(RequestBase):
    """Show the active topics of a connector (KIP-558)."""

    name: str


@dataclass(frozen=True, slots=True)
class ListSkips(RequestBase):
    """List the records that a sink leaves out and has not passed yet."""

    name: str


# -- answered by a flow


@dataclass(frozen=True, slots=True)
class CreateConnector(RequestBase):
    """Create a connector. ``initial_state``: STARTED, PAUSED or STOPPED, None if not given (KIP-980)."""

    name: str
    config: dict[str, str | None]
    initial_state: TargetStateName | None = None
    initial_offsets: OffsetChanges | None = None


@dataclass(frozen=True, slots=True)
class PutConfig(RequestBase):
    """Create a connector, or replace its configuration."""

    name: str
    config: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class PatchConfig(RequestBase):
    """Change settings of a connector; None removes a setting (KIP-477)."""

    name: str
    patch: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class RollBack(RequestBase):
    """Put an earlier version of the configuration into effect. ``number`` None: the last version whose configuration
    differs from the present one.
    """

    name: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteConnector(RequestBase):
    """Delete a connector."""

    name: str


@dataclass(frozen=True, slots=True)
class SetTargetState(RequestBase):
    """Pause (PAUSED) or resume (STARTED) a connector."""

    name: str
    state: TargetStateName


@dataclass(frozen=True, slots=True)
class StopConnector(RequestBase):
    """Stop a connector and take back its tasks (KIP-875)."""

    name: str


@dataclass(frozen=True, slots=True)
class RestartConnector(RequestBase):
    """Restart a connector, with its tasks if they are included, or only failed instances (KIP-745)."""

    name: str
    include_tasks: bool = False
    only_failed: bool = False


@dataclass(frozen=True, slots=True)
class RestartTask(RequestBase):
    """Restart a task, by the worker that runs it."""

    name: str
    task: int


@dataclass(frozen=True, slots=True)
class ResetTopics(RequestBase):
    """Empty the set of a connector's active topics (KIP-558)."""

    name: str


@dataclass(frozen=True, slots=True)
class SkipRecords(RequestBase):
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
class CancelSkips(RequestBase):
    """Forget the skips of a connector that have not taken effect. Tasks that know them follow them to their end."""

    name: str


@dataclass(frozen=True, slots=True)
class GetOffsets(RequestBase):
    """Show a connector's offsets (KIP-875). Not a ``ReadRequest``, because it reads Kafka, which may take time."""

    name: str


@dataclass(frozen=True, slots=True)
class AlterOffsets(RequestBase):
    """Alter offsets of a stopped connector (KIP-875): pairs of partition and offset, as given in JSON."""

    name: str
    offsets: OffsetChanges


@dataclass(frozen=True, slots=True)
class ResetOffsets(RequestBase):
    """Reset all offsets of a stopped connector (KIP-875)."""

    name: str


@dataclass(frozen=True, slots=True)
class SetClusterLogger(RequestBase):
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
class CheckSignature(RequestBase):
    """Check the signature of a ``PutTaskConfigs`` with this body; sent before the body is parsed."""

    signature: Signature


@dataclass(frozen=True, slots=True)
class PutTaskConfigs(RequestBase):
    """Write the task configurations that a connector has generated; from the worker that runs it to the leader."""

    name: str
    configs: tuple[dict[str, str], ...]
    signature: Signature


@dataclass(frozen=True, slots=True)
class FenceTasks(RequestBase):
    """Fence a connector's old tasks; from a worker that is about to start new ones to the leader (KIP-618)."""

    name: str
    signature: Signature


@dataclass(frozen=True, slots=True)
class ConfirmTask(RequestBase):
    """Check that this run of a task, which is ready to begin its work, is still wanted (``Confirmation``)."""

    id: TaskId
    run: int


# -- the closed unions

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
