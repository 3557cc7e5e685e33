"""The metrics that a plugin in another process registers (KIP-877): their values are asked for when they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.plugin_metrics import PluginMetrics

CALL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ForeignMetrics:
    """``side`` is ``connector``, ``source`` or ``sink``; ``call`` calls the plugin."""

    side: str
    metrics: Callable[[], PluginMetrics]
    call: Callable[..., Any]
    _added: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

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

    def _add(self, name: str, description: str, number: int, tags: Mapping[str, str]) -> None:
        def value() -> float:
            return float(self.call(f"{self.side}.metric", number, lane="metrics", timeout=CALL_SECONDS))

        self.metrics().add(name, description, value, tags)
        self._added.append((name, tags))

    def _remove(self, name: str, tags: Mapping[str, str]) -> None:
        self.metrics().remove(name, tags)
        self._added.remove((name, tags))
