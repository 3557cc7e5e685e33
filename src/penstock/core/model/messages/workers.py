"""Requests from worker to worker, and from a worker's own tasks."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.model.messages.request import Request
from penstock.core.model.tasks import TaskId

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


@dataclass(frozen=True, slots=True)
class ConfirmTask(Request):
    """From a run of a task that is ready to begin its work: is it still wanted?"""

    id: TaskId
    run: int
