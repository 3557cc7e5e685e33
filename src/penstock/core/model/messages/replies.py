"""Answers to requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
