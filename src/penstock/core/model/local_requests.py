"""Requests about one worker alone, or that it answers without the state of the cluster, and the base of all requests.

``core.model.messages`` has the requests that the herder answers, and the union of all.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RequestBase:
    """Base of all requests."""

    principal: str | None = field(default=None, kw_only=True, compare=False, repr=False)
    """Name of the authenticated user; None if the REST interface authenticates nobody."""
    bulk: str | None = field(default=None, kw_only=True, compare=False, repr=False)
    """ID of the bulk action that the request is a part of; None for any other request."""


@dataclass(frozen=True, slots=True)
class GetRoot(RequestBase):
    """Show the version of the worker and the id of its Kafka cluster."""


@dataclass(frozen=True, slots=True)
class ListPlugins(RequestBase):
    """List plugins; ``unusable``: also those that cannot be used, each with its problem."""

    connectors_only: bool = True
    unusable: bool = False


@dataclass(frozen=True, slots=True)
class GetPluginConfig(RequestBase):
    """List the settings of a plugin; ``version``: the version, or range of versions, that it must have (KIP-891)."""

    plugin: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ValidateConfig(RequestBase):
    """Validate a configuration; ``warnings``: whether the answer also lists the settings that have no effect."""

    plugin: str
    config: dict[str, str | None]
    warnings: bool = False


@dataclass(frozen=True, slots=True)
class ListLoggers(RequestBase):
    """List the loggers of this worker with their levels."""


@dataclass(frozen=True, slots=True)
class GetLogger(RequestBase):
    """Show the level of a logger on this worker."""

    name: str


@dataclass(frozen=True, slots=True)
class SetLogger(RequestBase):
    """Set a level on this worker (KIP-495). The level is as the client wrote it: ``debug``, say."""

    name: str
    level: str


@dataclass(frozen=True, slots=True)
class ListVersions(RequestBase):
    """List the versions of a connector's configuration and target state."""

    name: str


@dataclass(frozen=True, slots=True)
class GetVersion(RequestBase):
    """Show a version of a connector's configuration. ``number`` None: the last version."""

    name: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class CompareVersions(RequestBase):
    """Compare two versions of a connector's configuration. ``before`` None: the version before ``number``."""

    name: str
    number: int
    before: int | None = None


@dataclass(frozen=True, slots=True)
class ListEvents(RequestBase):
    """List what happened to a connector and its tasks."""

    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class GetLogs(RequestBase):
    """Read the last log lines on this worker, of at least this level (a number), after line number ``after``."""

    name: str
    level: int
    task: int | None
    limit: int
    after: int = 0


@dataclass(frozen=True, slots=True)
class Preview(RequestBase):
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
class CheckConfig(RequestBase):
    """Contact what a configuration names, without changing anything. With ``patch`` it is a change of the connector's
    present configuration. ``seconds``: the time limit.
    """

    name: str
    config: dict[str, str | None]
    patch: bool = False
    seconds: int = 30


@dataclass(frozen=True, slots=True)
class CheckConnector(RequestBase):
    """Contact what the present configuration of a connector names, without changing anything."""

    name: str
    seconds: int = 30


@dataclass(frozen=True, slots=True)
class ListDeadLetters(RequestBase):
    """List the last records of a connector's dead letter queue."""

    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class GetDeadLetter(RequestBase):
    """Show a record of the dead letter queue; ``decoded``: also as the connector's steps read it."""

    name: str
    partition: int
    offset: int
    decoded: bool = False


@dataclass(frozen=True, slots=True)
class ReplayDeadLetters(RequestBase):
    """Send dead letters again.

    ``records`` as ``TOPIC-PARTITION-OFFSET``; none means all. ``topic``: target of records that name none.
    """

    name: str
    records: tuple[str, ...] = ()
    topic: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class PlanOffsets(RequestBase):
    """Show the offsets at which a sink would begin after a reset, and what it would read again or skip.

    ``to``: ``earliest``, ``latest``, or a time in milliseconds. ``topics``: the topics to reset; none means all.
    """

    name: str
    to: str | int
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListRecords(RequestBase):
    """Read records of a topic of a connector, decoded by its converters.

    ``topic``: None means the only one. ``start``: ``latest``, ``earliest``, or a time in milliseconds; ``offsets`` of
    partitions take its place. ``search``: a text that a record must have. ``seconds``: the time limit.
    """

    name: str
    topic: str | None = None
    partition: int | None = None
    start: str | int = "latest"
    offsets: tuple[tuple[int, int], ...] = ()
    limit: int = 50
    search: str | None = None
    seconds: int = 10
    left: Future[None] | None = field(default=None, kw_only=True, compare=False, repr=False)
    """Is done when the client has closed its connection: nobody reads the answer."""


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
    | CheckConfig
    | CheckConnector
    | ListDeadLetters
    | GetDeadLetter
    | ReplayDeadLetters
    | PlanOffsets
    | ListRecords
)
"""Requests about this worker alone, or that it answers without the state of the cluster."""
