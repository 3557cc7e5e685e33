"""Records of topics to tables of a database by JDBC, under Confluent's names and settings.

Its one task is a query of Spark, as that of ``spark_sink``: Spark reads the topics, and its executors write the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.connector import SinkConnector
from penstock.api.sink import SinkTask
from penstock.connectors.spark_query import Query, QueryConnector
from penstock.jdbc.connection import PREFIX
from penstock.jdbc.sink_definition import JDBC_SINK_CONFIG
from penstock.jdbc.sink_settings import jdbc_sink_problems


class JdbcSinkTask(Query, SinkTask):
    java_name = "io.confluent.connect.jdbc.sink.JdbcSinkTask"
    writes = "jdbc"


class JdbcSinkConnector(QueryConnector, SinkConnector):
    """Writes records of topics to tables of a database by JDBC.

    Its query reads all partitions. Settings ``connection.*`` that are not its own are the driver's.
    """

    java_name = "io.confluent.connect.jdbc.JdbcSinkConnector"
    settings = JDBC_SINK_CONFIG
    setting_prefixes = (PREFIX,)

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return jdbc_sink_problems(config)

    def task_class(self) -> type[JdbcSinkTask]:
        return JdbcSinkTask

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        """The group's offsets are all there is."""
        return True
