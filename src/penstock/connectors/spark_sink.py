"""Records of topics to whatever Spark can write: Parquet, Delta, JDBC, ...

Its one task is a query of Spark, not a hosted task: Spark itself reads the topics and writes the rows, with as many
cores as there are partitions, and the connector's converters and transforms run in between.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.connector import SinkConnector
from penstock.api.sink import SinkTask
from penstock.connectors.spark_query import Query, QueryConnector
from penstock.spark.query.sink.settings import OPTION, SINK_CONFIG, problems


class SparkSinkTask(Query, SinkTask):
    java_name = "penstock.connectors.SparkSinkTask"


class SparkSink(QueryConnector, SinkConnector):
    """Writes records of topics to whatever Spark can write: Parquet, Delta, JDBC, ...

    Its query reads all partitions.
    """

    java_name = "penstock.connectors.SparkSink"
    settings = SINK_CONFIG
    setting_prefixes = (OPTION,)

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return problems(config)

    def task_class(self) -> type[SparkSinkTask]:
        return SparkSinkTask

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        """The group's offsets are all there is."""
        return True
