"""Requests that read the cluster's state."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.model.messages.request import Request


@dataclass(frozen=True, slots=True)
class ReadRequest(Request):
    """Answered at once from what this worker has read; never waits for a rebalance."""


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
