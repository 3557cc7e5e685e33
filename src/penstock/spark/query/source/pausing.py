"""Pauses of a source query."""

from __future__ import annotations

import threading

from penstock.pipeline.task import TaskControl


class BetweenBatches(TaskControl):
    """Delays a pause until the batch that has been begun is in the topic, so that no transaction is left open."""

    def __init__(self, pausing: bool = False) -> None:
        super().__init__(pausing)
        self._wanted = pausing
        self._busy = False
        self._lock = threading.Lock()

    def pause(self) -> None:
        with self._lock:
            self._wanted = True
            if not self._busy:
                super().pause()

    def resume(self) -> None:
        with self._lock:
            self._wanted = False
            super().resume()

    def begin(self) -> bool:
        """Called before a batch; False if it has to wait."""
        with self._lock:
            self._busy = not self.pausing
            return self._busy

    def end(self) -> None:
        """Called when a batch is in the topic."""
        with self._lock:
            self._busy = False
            if self._wanted:
                super().pause()
