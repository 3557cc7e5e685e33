"""Requests that the herder answers by a flow: they change connectors or the cluster, or read what takes its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.model.messages.request import Request
from penstock.core.model.records import TargetStateName

OffsetChanges = tuple[tuple[dict[str, Any] | None, dict[str, Any] | None], ...]
"""Pairs of a source partition and its new offset (KIP-875); None in place of the offset removes it."""


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
