"""What a run of a task passes before its work begins: at the last moment the worker says whether it is still wanted."""

from __future__ import annotations

import concurrent.futures
from typing import Protocol

from penstock.pipeline.task import CommittedOffsets, TaskSpec


class NotConfirmedError(Exception):
    """A run of a task is not to begin: it is not wanted here any more, or that can't be found out."""


class Gate(Protocol):
    """What a run passes before it begins its work; the futures raise NotConfirmedError if it is not to begin."""

    def admit(self) -> concurrent.futures.Future[TaskSpec]:
        """Called when the task's process is ready: what it is admitted with."""

    def committed_offsets(self) -> concurrent.futures.Future[CommittedOffsets]:
        """Called with exactly once, when the task's producer has fenced all older ones."""
