"""A plugin's own metrics (KIP-877), which appear at the worker's ``/metrics`` as ``kafka_connect_plugins_<name>``.

Connectors and tasks find them in their context, transforms, predicates and converters derive from ``Monitorable``.
Java: ``org.apache.kafka.common.metrics.PluginMetrics`` and ``Monitorable``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

NO_TAGS: Mapping[str, str] = {}


class PluginMetrics(Protocol):
    """The metrics of one plugin; their tags say whose they are. May be called from any thread."""

    @property
    def tags(self) -> Mapping[str, str]:
        """The tags that each metric has."""

    def add(self, name: str, description: str, value: Callable[[], float], tags: Mapping[str, str] = NO_TAGS) -> None:
        """Add a metric; ``value`` is called now and then and must answer at once.

        Names are Kafka's (``rows-read-total``): one that ends in ``-total`` is a counter, all others are gauges. Raises
        ValueError for a name with these tags that there is already, and for tags that name the connector, the task or
        the plugin.
        """

    def remove(self, name: str, tags: Mapping[str, str] = NO_TAGS) -> None:
        """Remove a metric; raises ValueError if there is none with this name and these tags."""


class Monitorable:
    """Second base of transforms, predicates and converters that have metrics."""

    def with_plugin_metrics(self, metrics: PluginMetrics) -> None:
        """Take the registry of metrics; called once, after ``configure`` and before all other methods."""
        raise NotImplementedError
