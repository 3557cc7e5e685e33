"""Connectors whose one task is a query of Spark. Provisional.

The runtime runs the query in a thread of Spark's driver; Spark's executors read or write the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import Connector, ConnectorTransactionBoundaries, SinkConnector, SourceConnector
from penstock.api.sink import SinkTask
from penstock.api.source import SourceTask


class QueryTask:
    """First base of the class of a task that stands for a query of Spark.

    The class is never instantiated: the runtime runs the query.
    """


class QuerySinkTask(QueryTask, SinkTask):
    """Base of the task of a sink whose rows Spark writes."""

    writes: ClassVar[str]
    """The name of the runtime's own query that writes the rows: ``spark`` or ``jdbc``."""


class QuerySourceTask(QueryTask, SourceTask):
    """Base of the task of a source whose rows Spark reads."""

    reads: ClassVar[str]
    """The name of the runtime's own query that reads the rows: ``spark`` or ``jdbc``."""


class QueryConnector(Connector):
    """Base of connectors with one task, a query, which is configured as its connector is.

    Derive from QuerySinkConnector or QuerySourceConnector.
    """

    settings: ClassVar[ConfigDef]
    """The connector's own settings: what ``config_def`` returns."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Return ``settings``."""
        return cls.settings

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        """Find settings that contradict each other; return pairs of the setting at fault and a sentence.

        Called by ``validate``, with settings that may be wrong each on its own.
        """
        return []

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """Check each setting on its own, and add what ``problems`` finds."""
        values = super().validate(config)
        by_name = {value.name: value for value in values}
        for name, problem in self.problems(config):
            if name not in by_name:
                by_name[name] = ConfigValue(name, config.get(name))
                values.append(by_name[name])
            by_name[name].add_error(problem)
        return values

    def start(self, config: Mapping[str, str]) -> None:
        """Keep the configuration for the task."""
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the configuration of the one task: the connector's."""
        return [self._config]


class QuerySinkConnector(QueryConnector, SinkConnector):
    """Base of sinks whose task is a query. It reads all partitions; its position is that of its consumer group."""

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        """Accept all offsets: those of the group are all there are."""
        return True


class QuerySourceConnector(QueryConnector, SourceConnector):
    """Base of sources whose task is a query. Its batches are transactions if the source is exactly once."""

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Return SUPPORTED: the query ends a transaction with each batch."""
        return ConnectorTransactionBoundaries.SUPPORTED
