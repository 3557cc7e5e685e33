"""The gate before each run of a task, and the objects that all runs of a worker share."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.kafka.group.member_log import MemberLog
from penstock.kafka.group.removal import MemberRemoval
from penstock.pipeline.task import CommittedOffsets, TaskSpec
from penstock.spark.run.log_writer import TaskLogWriter
from penstock.spark.settings import HostSettings
from penstock.spark.task_exit import ExitStatuses, OutOfMemoryKills


class NotConfirmedError(Exception):
    """A run of a task may not begin: it is not assigned here any more, or nobody can confirm that it is."""


class RunGate(Protocol):
    """Confirmation that a run may begin its work; the futures raise NotConfirmedError if it may not."""

    def admit(self) -> concurrent.futures.Future[TaskSpec]:
        """Return what the task is admitted with. Called when the task's process is ready."""

    def committed_offsets(self) -> concurrent.futures.Future[CommittedOffsets]:
        """Return the source's committed offsets. Called with exactly once, when its producer has fenced older ones."""


@dataclass(frozen=True, slots=True)
class RunResources:
    """Objects that all runs of a worker share."""

    settings: HostSettings
    address: tuple[str, int]
    fingerprint: str
    """Fingerprint of the certificate that tasks find at the address."""
    free: asyncio.Semaphore
    capacity: int
    deliver: Callable[[Any], None]
    exits: ExitStatuses | None
    """Exit statuses of tasks; None unless they run on this machine."""
    out_of_memory: OutOfMemoryKills
    removal: MemberRemoval
    members: MemberLog
    logs: TaskLogWriter
    revocation_left: Callable[[], float]
    """See ``end_of_query``."""
