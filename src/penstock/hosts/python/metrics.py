"""The metrics that a plugin in another process registers (KIP-877): their values are asked for when they are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.errors import ConnectError
from penstock.api.plugin_metrics import PluginMetrics
from penstock.hosts.errors import HostLost

CALL_SECONDS = 1.0
SILENT_SECONDS = 30.0
"""A plugin that has not answered in time is not asked for so long: all metrics of a worker are read one by one."""


@dataclass(slots=True)
class ForeignMetrics:
    """``side`` is ``connector``, ``source`` or ``sink``; ``call`` calls the plugin."""

    side: str
    metrics: Callable[[], PluginMetrics]
    call: Callable[..., Any]
    _added: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    _silent_until: float = 0.0

    def answers(self) -> dict[str, Callable[..., Any]]:
        return {
            "metrics.tags": lambda: dict(self.metrics().tags),
            "metrics.add": self._add,
            "metrics.remove": self._remove,
        }

    def forget(self) -> None:
        """Remove all, since their process has ended."""
        while self._added:
            self.metrics().remove(*self._added.pop())
        self._silent_until = 0.0

    def _add(self, name: str, description: str, number: int, tags: Mapping[str, str]) -> None:
        self.metrics().add(name, description, lambda: self._value(number), tags)
        self._added.append((name, tags))

    def _value(self, number: int) -> float:
        """Raises ConnectError, TimeoutError, and what the plugin raises."""
        if time.monotonic() < self._silent_until:
            raise ConnectError("The plugin has not told its metrics in time a moment ago")
        try:
            return float(self.call(f"{self.side}.metric", number, lane="metrics", timeout=CALL_SECONDS))
        except TimeoutError:
            self._silent_until = time.monotonic() + SILENT_SECONDS
            raise
        except HostLost as lost:
            raise ConnectError(str(lost)) from None

    def _remove(self, name: str, tags: Mapping[str, str]) -> None:
        self.metrics().remove(name, tags)
        self._added.remove((name, tags))
