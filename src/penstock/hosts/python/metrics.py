"""Metrics that a plugin in another process registers (KIP-877): its values are asked for when they are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never

from penstock.api.errors import ConnectError
from penstock.api.plugin_metrics import PluginMetrics
from penstock.hosts.errors import HostLost
from penstock.hosts.python.messages import (
    AddPluginMetric,
    MetricMessage,
    ReadMetricTags,
    ReadPluginMetric,
    RemovePluginMetric,
)

CALL_SECONDS = 1.0
SILENT_SECONDS = 30.0
"""Pause after a plugin has not answered in time: all metrics of a worker are read one by one."""


@dataclass(slots=True)
class ForeignMetrics:
    """The metrics of one connector or task, on the side that reads them; ``call`` calls the plugin."""

    side: Literal["connector", "source", "sink"]
    metrics: Callable[[], PluginMetrics]
    call: Callable[..., Any]
    _added: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    _silent_until: float = 0.0

    def answer(self, message: MetricMessage) -> Any:
        """Answer a message of the plugin."""
        match message:
            case ReadMetricTags():
                return dict(self.metrics().tags)
            case AddPluginMetric(name, description, number, tags):
                self.metrics().add(name, description, lambda: self._value(number), tags)
                self._added.append((name, tags))
            case RemovePluginMetric(name, tags):
                self.metrics().remove(name, tags)
                self._added.remove((name, tags))
            case _:
                assert_never(message)
        return None

    def forget(self) -> None:
        """Remove all metrics, since their process has ended."""
        while self._added:
            self.metrics().remove(*self._added.pop())
        self._silent_until = 0.0

    def _value(self, number: int) -> float:
        """Ask for a value. Raises ConnectError, TimeoutError, and what the plugin raises."""
        if time.monotonic() < self._silent_until:
            raise ConnectError("The plugin has not told its metrics in time a moment ago")
        try:
            return float(self.call(ReadPluginMetric(self.side, number), lane="metrics", timeout=CALL_SECONDS))
        except TimeoutError:
            self._silent_until = time.monotonic() + SILENT_SECONDS
            raise
        except HostLost as lost:
            raise ConnectError(str(lost)) from None
