"""Connectors that a bulk action may select, as this worker has read them from the config and status topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.core.bulk.selection import Candidate
from penstock.core.herder import Herder
from penstock.core.model.state import ConfiguredConnector
from penstock.worker.monitoring.attention import watched


@dataclass(frozen=True, slots=True)
class Candidates:
    """Called from any thread."""

    herder: Herder
    kind: Callable[[Mapping[str, str | None] | None], str]

    def all(self) -> dict[str, Candidate]:
        return {name: self._of(name, connector) for name, connector in list(self.herder.state.connectors.items())}

    def one(self, name: str) -> Candidate | None:
        connector = self.herder.state.connectors.get(name)
        return None if connector is None else self._of(name, connector)

    def _of(self, name: str, connector: ConfiguredConnector) -> Candidate:
        bulk = self.herder.state.target_bulks.get(name)
        config = connector.config
        applied = connector.applied_config == config
        return Candidate(watched(self.herder, name, connector), config, self.kind(config), bulk, applied)
