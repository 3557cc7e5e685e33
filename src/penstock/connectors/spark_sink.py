"""Records of topics to whatever Spark can write: Parquet, Delta, Iceberg, JDBC, ...

Its one task is a query of Spark, not a hosted task: Spark itself reads the topics and writes the rows, with as many
cores as there are partitions, and the connector's converters and transforms run in between.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import SinkConnector
from penstock.api.sink import SinkTask
from penstock.spark.query.settings import SINK_CONFIG, problems

VERSION = "0.1.0"


class SparkSinkTask(SinkTask):
    """Stands for the query; nobody makes an object of it."""

    java_name = "penstock.connectors.SparkSinkTask"
    kind = "query"

    @classmethod
    def version(cls) -> str:
        return VERSION


class SparkSink(SinkConnector):
    """One task, a query that reads all partitions."""

    java_name = "penstock.connectors.SparkSink"

    @classmethod
    def version(cls) -> str:
        return VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return SINK_CONFIG

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        by_name = {value.name: value for value in values}
        for name, problem in problems(config):
            by_name[name].add_error(problem)
        return values

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[SparkSinkTask]:
        return SparkSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        """The group's offsets are all there is."""
        return True
