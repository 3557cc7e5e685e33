"""The metrics that plugins register (KIP-877), and their values when a task or a worker reports."""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.plugin_metrics import NO_TAGS, Monitorable

log = logging.getLogger(__name__)

MAX_METRICS = 1000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_]")
Tags = tuple[tuple[str, str], ...]


def plain(name: str) -> str:
    """Return a name in the form that Prometheus takes."""
    return _NOT_PLAIN.sub("_", name)


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    description: str
    value: Callable[[], float]


@dataclass(slots=True)
class MetricsOfPlugins:
    """The metrics of the plugins of one task or connector. ``tags`` are those of all its plugins."""

    tags: Mapping[str, str]
    _metrics: dict[tuple[str, Tags], _Metric] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, **tags: str) -> MetricsOfPlugin:
        """Return the metrics of one plugin, which have these tags beside the common ones."""
        return MetricsOfPlugin(self, {**self.tags, **tags})

    def tell(self, plugin: object, **tags: str) -> None:
        """Give a plugin that wants them its metrics."""
        if isinstance(plugin, Monitorable):
            plugin.with_plugin_metrics(self.of(**tags))

    def add(self, tags: Tags, metric: _Metric) -> None:
        name = plain(metric.name)
        with self._lock:
            if (name, tags) in self._metrics:
                raise ValueError(f"There is a metric {metric.name} with the tags {dict(tags)} already")
            if len(self._metrics) >= MAX_METRICS:
                raise ValueError(f"There are {MAX_METRICS} metrics of plugins already, the most that a task may have")
            self._metrics[name, tags] = metric

    def remove(self, name: str, tags: Tags) -> None:
        with self._lock:
            if self._metrics.pop((plain(name), tags), None) is None:
                raise ValueError(f"There is no metric {name} with the tags {dict(tags)}")

    def read(self) -> list[dict[str, Any]]:
        """``name``, ``description``, ``tags``, ``value``; a metric whose value can't be read is left out."""
        with self._lock:
            known = list(self._metrics.items())
        return [
            {"name": metric.name, "description": metric.description, "tags": dict(tags), "value": value}
            for (_, tags), metric in known
            if (value := _value(metric)) is not None
        ]


def _value(metric: _Metric) -> float | None:
    """Return the value; None also for what is no finite number, which JSON does not have."""
    try:
        value = float(metric.value())
        return value if math.isfinite(value) else None
    except Exception:
        log.debug("The value of a plugin's metric %s can't be read", metric.name, exc_info=True)
        return None


@dataclass(frozen=True, slots=True)
class MetricsOfPlugin:
    """``api.PluginMetrics``."""

    registry: MetricsOfPlugins
    tags: Mapping[str, str]

    def add(self, name: str, description: str, value: Callable[[], float], tags: Mapping[str, str] = NO_TAGS) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f"'{name}' is no name of a metric: letters, digits, '-', '_' and '.', a letter first")
        self.registry.add(self._all(tags), _Metric(name, description, value))

    def remove(self, name: str, tags: Mapping[str, str] = NO_TAGS) -> None:
        self.registry.remove(name, self._all(tags))

    def _all(self, tags: Mapping[str, str]) -> Tags:
        named = {plain(tag): str(value) for tag, value in sorted(tags.items())}
        for taken in self.tags.keys() & named.keys():
            raise ValueError(f"The tag '{taken}' is set by the runtime")
        if not all(map(_NAME.fullmatch, named)):
            raise ValueError(f"The tags {', '.join(tags)} must begin with a letter")
        return (*self.tags.items(), *named.items())
