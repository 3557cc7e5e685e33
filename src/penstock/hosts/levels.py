"""Levels of this process's loggers, sent to the processes of plugins."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

P = TypeVar("P")


class LevelFollowers(Generic[P]):
    """Processes of one kind, whose loggers are kept at the levels of this process's loggers of the same names."""

    def __init__(self, tell: Callable[[P, str], None]) -> None:
        """``tell`` sends a process the level that the logger of this name has now."""
        self.processes: list[P] = []
        self.telling = threading.Lock()
        """Held while levels are sent to processes: the last one sent is the newest."""
        self._tell = tell

    def level_changed(self, name: str) -> None:
        """Send the level of a logger of this process that has been set. Any thread may call it.

        Returns at once: a process that takes no messages must not delay the caller, which may have heartbeats to send.
        """
        if self.processes:
            threading.Thread(target=self._tell_all, args=(name,), name="levels", daemon=True).start()

    def _tell_all(self, name: str) -> None:
        with self.telling:
            for process in tuple(self.processes):
                self._tell(process, name)
