"""A task that polls the runs of a tap."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

from penstock.api.batch import Batch
from penstock.api.source import SourceTask
from penstock.connectors.singer.messages import Messages
from penstock.connectors.singer.runs import TapRuns, batch_of
from penstock.connectors.singer.tap import Tap


class TapSettings(Protocol):
    @property
    def topic_prefix(self) -> str: ...
    @property
    def partition(self) -> dict[str, Any]: ...
    @property
    def poll_interval_ms(self) -> int: ...
    @property
    def batch_max_rows(self) -> int: ...


class TapTask(SourceTask):
    """``start`` of a subclass calls ``run``."""

    def __init__(self) -> None:
        self._runs: TapRuns | None = None

    def run(self, messages: Messages, settings: TapSettings) -> None:
        self._prefix, self._partition = settings.topic_prefix, settings.partition
        self._runs = TapRuns(
            messages, lambda: self.begin(messages.state), settings.poll_interval_ms, settings.batch_max_rows
        )

    @abstractmethod
    def begin(self, state: Any) -> Tap:
        """Start a run from a state; None at first."""

    def poll(self) -> Batch | None:
        assert self._runs is not None
        rows, states = self._runs.poll()
        return batch_of(rows, states, self._prefix, self._partition) if rows else None

    def idle(self) -> float:
        return 0.0 if self._runs is None else self._runs.idle()

    def stop(self) -> None:
        if self._runs is not None:
            self._runs.stop()
