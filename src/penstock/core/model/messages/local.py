"""Requests that concern this worker alone, or that it answers without the state of the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.model.messages.request import Request


@dataclass(frozen=True, slots=True)
class LocalRequest(Request):
    """Answered without the state of the cluster."""


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
