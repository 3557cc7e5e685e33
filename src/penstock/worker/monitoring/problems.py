"""Problems that one worker alone can see: all that it adds to the attention list."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.herder import Herder
from penstock.core.model.events import LoopEvent
from penstock.core.model.state import STARTED
from penstock.plugins import Plugins
from penstock.threads import Threads
from penstock.worker.configuration.configurations import Configurations
from penstock.worker.monitoring.attention import Attention
from penstock.worker.monitoring.credentials import Credentials
from penstock.worker.monitoring.executors import Executors
from penstock.worker.monitoring.history import History
from penstock.worker.monitoring.ignored_settings import IgnoredSettings
from penstock.worker.monitoring.refused_records import RefusedRecords
from penstock.worker.monitoring.sink_progress import SinkProgress
from penstock.worker.monitoring.trends import Trends

Config = Mapping[str, str]


class Problems:
    """``observe`` is called by the worker's loop with every event; ``start`` and ``close`` by the worker."""

    def __init__(
        self, worker: Config, herder: Herder, plugins: Plugins, configurations: Configurations, history: History
    ) -> None:
        """``worker``: the worker's settings."""
        self._herder = herder
        self._refused = RefusedRecords(self._is_known)
        self._trends = Trends(self._is_to_run)
        self._ignored = IgnoredSettings(
            lambda resolved, given: plugins.ignored(resolved, configurations.rules, given),
            lambda: list(herder.work.connectors),
            self._given,
            Threads(),
        )
        self._credentials = Credentials(
            herder.settings.worker_id,
            worker,
            configurations.providers.of_files().transform,
            lambda: list(herder.work.connectors),
            self._given,
            Threads(),
        )
        self._sinks = SinkProgress(
            worker,
            herder,
            kind_of=plugins.kind,
            resolve=configurations.resolve,
            check=configurations.check_overrides,
            clean=configurations.redaction.clean,
        )
        self._executors = Executors(herder.settings.worker_id)
        more = (
            self._refused.rows,
            self._trends.rows,
            self._credentials.rows,
            self._executors.rows,
            self._ignored.rows,
        )
        self.attention = Attention(herder, self._sinks.rows, more, history.ends, self._trends.polling)

    def start(self) -> None:
        self._sinks.start()

    def close(self) -> None:
        self._sinks.close()

    def starts(self, name: str, resolved: Config) -> None:
        """Called when a connector has been checked and starts here. Never raises."""
        self._credentials.starts(name, resolved)
        self._ignored.starts(name, resolved)

    def observe(self, event: LoopEvent) -> None:
        self._sinks.observe(event)
        self._refused.observe(event)
        self._trends.observe(event)
        self._credentials.observe(event)
        self._executors.observe(event)

    def _is_known(self, connector: str) -> bool:
        return connector in self._herder.state.connectors

    def _is_to_run(self, connector: str) -> bool:
        return self._is_known(connector) and self._herder.state.target_state(connector) == STARTED

    def _given(self, connector: str) -> Config:
        known = self._herder.state.connectors.get(connector)
        return {} if known is None else known.config
