"""What SparkSink and SparkSource have in common: their one task is a query of Spark, not a hosted task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import Connector
from penstock.api.runtime_hooks import QueryTask


class Query(QueryTask):
    """A task of the connectors below."""

    writes: ClassVar[str] = "spark"
    """What writes the batches of a sink, see ``spark.query.sink.task``."""
    reads: ClassVar[str] = "spark"
    """What reads the rows of a source, see ``spark.query.host``."""

    @classmethod
    def version(cls) -> str:
        return "0.1.0"


class QueryConnector(Connector):
    """One task, which is configured as its connector is."""

    settings: ClassVar[ConfigDef]

    @classmethod
    def version(cls) -> str:
        return Query.version()

    @classmethod
    def config_def(cls) -> ConfigDef:
        return cls.settings

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        """Settings that contradict each other: the setting at fault, and a sentence."""
        raise NotImplementedError

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        by_name = {value.name: value for value in values}
        for name, problem in self.problems(config):
            if name not in by_name:
                by_name[name] = ConfigValue(name, config.get(name))
                values.append(by_name[name])
            by_name[name].add_error(problem)
        return values

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]
