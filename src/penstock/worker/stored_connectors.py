"""The configurations of the connectors that the herder knows, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.herder import Herder
from penstock.core.model.messages import Refused
from penstock.plugins import Plugins
from penstock.worker.configuration.configurations import Configurations
from penstock.worker.monitoring.lineage.runs import LineageConnector


@dataclass(frozen=True, slots=True)
class StoredConnectors:
    """Configurations as they are in the config topic, or with the values of their references."""

    herder: Herder
    plugins: Plugins
    configurations: Configurations

    def config(self, name: str) -> Mapping[str, str] | None:
        """Return the configuration with its references; None if there is no such connector."""
        known = self.herder.state.connectors.get(name)
        return None if known is None else known.config

    def resolved(self, name: str) -> dict[str, str]:
        """Return the configuration with the values of its references. Raises Refused (404)."""
        if (config := self.config(name)) is None:
            raise Refused(404, f"Connector {name} not found")
        return {**self.configurations.resolve(config), "name": name}

    def for_lineage(self, name: str) -> LineageConnector | None:
        if (config := self.config(name)) is None:
            return None
        return LineageConnector(self.plugins.kind(config), self.configurations.class_name(config), config)
