"""The JDBC connectors, under Confluent's names and settings: records to tables of a database, and rows to topics.

Their one task is a query of Spark, as that of ``spark``'s. Of a sink Spark reads the topics, and its executors write
the rows. Of a source Spark's executors read the rows, several ranges of keys at a time, and the connector's transforms,
converters and producer do the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock import __version__
from penstock.api.check import TargetCheck
from penstock.api.connector import ExactlyOnceSupport
from penstock.api.jdbc_targets import check_database
from penstock.api.query import QuerySinkConnector, QuerySinkTask, QuerySourceConnector, QuerySourceTask
from penstock.connectors.jdbc.connection import PREFIX
from penstock.connectors.jdbc.sink_definition import JDBC_SINK_CONFIG
from penstock.connectors.jdbc.sink_settings import jdbc_sink_problems
from penstock.connectors.jdbc.source.definition import BULK, JDBC_SOURCE_CONFIG
from penstock.connectors.jdbc.source.offsets import TablePosition, check_partition
from penstock.connectors.jdbc.source.settings import jdbc_source_problems


class JdbcSinkTask(QuerySinkTask):
    java_name = "io.confluent.connect.jdbc.sink.JdbcSinkTask"
    writes = "jdbc"

    @classmethod
    def version(cls) -> str:
        return __version__


class JdbcSinkConnector(QuerySinkConnector):
    """Writes records of topics to tables of a database by JDBC.

    Its query reads all partitions. Settings ``connection.*`` that are not its own are the driver's.
    """

    java_name = "io.confluent.connect.jdbc.JdbcSinkConnector"
    settings = JDBC_SINK_CONFIG
    setting_prefixes = (PREFIX,)

    @classmethod
    def version(cls) -> str:
        return __version__

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return jdbc_sink_problems(config)

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        return check_database(config["connection.url"], writes=True)

    def task_class(self) -> type[JdbcSinkTask]:
        return JdbcSinkTask


class JdbcSourceTask(QuerySourceTask):
    java_name = "io.confluent.connect.jdbc.source.JdbcSourceTask"
    reads = "jdbc"

    @classmethod
    def version(cls) -> str:
        return __version__


class JdbcSourceConnector(QuerySourceConnector):
    """Sends rows of tables and queries of a database, read by JDBC, to topics.

    Its task reads all tables. Settings ``connection.*`` that are not its own are the driver's.
    """

    java_name = "io.confluent.connect.jdbc.JdbcSourceConnector"
    settings = JDBC_SOURCE_CONFIG
    setting_prefixes = (PREFIX,)

    @classmethod
    def version(cls) -> str:
        return __version__

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return jdbc_source_problems(config)

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        return check_database(config["connection.url"], writes=False)

    def task_class(self) -> type[JdbcSourceTask]:
        return JdbcSourceTask

    def tasks_for_preview(self, config: Mapping[str, str]) -> list[dict[str, str]] | None:
        """SQL of a configuration may call functions that change something, or lock rows."""
        given = any(config.get(name, "").strip() for name in ("query", "query.masked", "query.suffix"))
        return None if given else [dict(config)]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        bulk = JDBC_SOURCE_CONFIG.parse(config)["mode"] == BULK
        return ExactlyOnceSupport.UNSUPPORTED if bulk else ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        for partition, offset in offsets:
            check_partition(partition)
            if offset is not None:
                TablePosition.of(offset)
        return True
