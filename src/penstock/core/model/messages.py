"""What clients ask of a worker, and what they are answered: one frozen dataclass a request.

The HTTP layer parses a request into one of these and renders the ``Reply``; it knows nothing else of the control
plane. Names of connectors are as given by the user. Who answers: ``LocalRequest`` the worker at once, ``ReadRequest``
the herder from its state, and all others the herder by a flow that may write to the config topic. ``Elsewhere`` means
that another worker must answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.model.records import TargetStateName
from penstock.core.model.tasks import TaskId

OffsetChanges = tuple[tuple[dict[str, Any] | None, dict[str, Any] | None], ...]
"""Pairs of a source partition and its new offset (KIP-875); None in place of the offset removes it."""


@dataclass(frozen=True, slots=True)
class Request:
    """Base of all requests."""

    principal: str | None = field(default=None, kw_only=True, compare=False, repr=False)
    """Who asks; None if the REST interface authenticates nobody."""


@dataclass(frozen=True, slots=True)
class LocalRequest(Request):
    """Answered without the state of the cluster."""


@dataclass(frozen=True, slots=True)
class ReadRequest(Request):
    """Answered at once from what this worker has read; never waits for a rebalance."""


# -- of this worker alone


@dataclass(frozen=True, slots=True)
class GetRoot(LocalRequest):
    pass


@dataclass(frozen=True, slots=True)
class ListPlugins(LocalRequest):
    connectors_only: bool = True
    unusable: bool = False


@dataclass(frozen=True, slots=True)
class GetPluginConfig(LocalRequest):
    """``version``: a version or a range of versions that the plugin must have (KIP-891)."""

    plugin: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ValidateConfig(LocalRequest):
    """``warnings``: whether the answer also has the settings without effect."""

    plugin: str
    config: dict[str, str | None]
    warnings: bool = False


@dataclass(frozen=True, slots=True)
class ListLoggers(LocalRequest):
    pass


@dataclass(frozen=True, slots=True)
class GetLogger(LocalRequest):
    name: str


@dataclass(frozen=True, slots=True)
class SetLogger(LocalRequest):
    """Set a level on this worker (KIP-495). The level is as the client wrote it: ``debug``, say."""

    name: str
    level: str


@dataclass(frozen=True, slots=True)
class ListVersions(LocalRequest):
    """The versions of a connector's configuration and target state."""

    name: str


@dataclass(frozen=True, slots=True)
class GetVersion(LocalRequest):
    """``number`` None: the last one."""

    name: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class CompareVersions(LocalRequest):
    """``before`` None: the version before."""

    name: str
    number: int
    before: int | None = None


@dataclass(frozen=True, slots=True)
class ListEvents(LocalRequest):
    """What happened to a connector and its tasks."""

    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class GetLogs(LocalRequest):
    """The last log lines on this worker, of this level (as a number) and above, after the line of number ``after``."""

    name: str
    level: int
    task: int | None
    limit: int
    after: int = 0


@dataclass(frozen=True, slots=True)
class Preview(LocalRequest):
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
class ListDeadLetters(LocalRequest):
    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class GetDeadLetter(LocalRequest):
    name: str
    partition: int
    offset: int
    decoded: bool = False


@dataclass(frozen=True, slots=True)
class ReplayDeadLetters(LocalRequest):
    """``records`` as ``TOPIC-PARTITION-OFFSET``; none means all. ``topic``: for those that do not name theirs."""

    name: str
    records: tuple[str, ...] = ()
    topic: str | None = None
    dry_run: bool = False


# -- reading the cluster's state


@dataclass(frozen=True, slots=True)
class GetHealth(ReadRequest):
    """KIP-1017."""


@dataclass(frozen=True, slots=True)
class ListConnectors(ReadRequest):
    expand: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GetConnector(ReadRequest):
    name: str


@dataclass(frozen=True, slots=True)
class GetConfig(ReadRequest):
    name: str


@dataclass(frozen=True, slots=True)
class GetTasks(ReadRequest):
    name: str


@dataclass(frozen=True, slots=True)
class GetStatus(ReadRequest):
    name: str


@dataclass(frozen=True, slots=True)
class GetTaskStatus(ReadRequest):
    name: str
    task: int


@dataclass(frozen=True, slots=True)
class GetTopics(ReadRequest):
    """KIP-558."""

    name: str


# -- changing it


@dataclass(frozen=True, slots=True)
class CreateConnector(Request):
    """``initial_state``: STARTED, PAUSED or STOPPED, None if not given (KIP-980)."""

    name: str
    config: dict[str, str | None]
    initial_state: TargetStateName | None = None
    initial_offsets: OffsetChanges | None = None


@dataclass(frozen=True, slots=True)
class PutConfig(Request):
    name: str
    config: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class PatchConfig(Request):
    """None removes a setting (KIP-477)."""

    name: str
    patch: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class RollBack(Request):
    """Put a former configuration into effect; the worker makes a ``PutConfig`` of it. ``number`` None: the last version
    whose configuration is not the present one.
    """

    name: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteConnector(Request):
    name: str


@dataclass(frozen=True, slots=True)
class SetTargetState(Request):
    """Pause (PAUSED) or resume (STARTED)."""

    name: str
    state: TargetStateName


@dataclass(frozen=True, slots=True)
class StopConnector(Request):
    name: str


@dataclass(frozen=True, slots=True)
class RestartConnector(Request):
    """KIP-745."""

    name: str
    include_tasks: bool = False
    only_failed: bool = False


@dataclass(frozen=True, slots=True)
class RestartTask(Request):
    name: str
    task: int


@dataclass(frozen=True, slots=True)
class ResetTopics(Request):
    """KIP-558."""

    name: str


@dataclass(frozen=True, slots=True)
class GetOffsets(Request):
    """KIP-875. No ReadRequest: it reads Kafka, which may take its time."""

    name: str


@dataclass(frozen=True, slots=True)
class AlterOffsets(Request):
    """KIP-875; pairs of partition and offset, as given in JSON."""

    name: str
    offsets: OffsetChanges


@dataclass(frozen=True, slots=True)
class ResetOffsets(Request):
    name: str


@dataclass(frozen=True, slots=True)
class SetClusterLogger(Request):
    """Set a level on every worker (KIP-976). The level is as the client wrote it: ``debug``, say."""

    name: str
    level: str


# -- from worker to worker

SIGNATURE_HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"


@dataclass(frozen=True, slots=True)
class Signature:
    """What the two headers say of this body, the first of them decoded (KIP-507)."""

    body: bytes
    signature: bytes | None
    algorithm: str | None


@dataclass(frozen=True, slots=True)
class CheckSignature(Request):
    """Whether ``PutTaskConfigs`` with this body is signed as it must be; asked before the body is parsed."""

    signature: Signature


@dataclass(frozen=True, slots=True)
class PutTaskConfigs(Request):
    name: str
    configs: tuple[dict[str, str], ...]
    signature: Signature


@dataclass(frozen=True, slots=True)
class FenceTasks(Request):
    """KIP-618."""

    name: str
    signature: Signature


# -- from this worker itself


@dataclass(frozen=True, slots=True)
class ConfirmTask(Request):
    """From a run of a task that is ready to begin its work: is it still wanted?"""

    id: TaskId
    run: int


# -- answers


@dataclass(frozen=True, slots=True)
class Reply:
    """``body`` is what becomes JSON; None: no body at all."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The worker at this URL must answer; None if it is not known for the moment."""

    url: str | None


class Refused(Exception):
    """A request that is not carried out; becomes Connect's ``{"error_code", "message"}`` with this HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message

    def reply(self) -> Reply:
        return Reply(self.status, {"error_code": self.status, "message": self.message})


class PluginFailed(Refused):
    """A plugin's own code has failed while a request was examined; what it has raised is the cause."""
