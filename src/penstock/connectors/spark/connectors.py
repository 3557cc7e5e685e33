"""SparkSink and SparkSource: whatever Spark can write, and whatever it can stream.

Their one task is a query of Spark, not a hosted task. Of a sink Spark reads the topics and writes the rows, with as
many cores as there are partitions, and the connector's converters and transforms run in between. Of a source Spark
reads and shapes the rows, and the connector's transforms, converters and producer do the rest, as for every source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock import __version__
from penstock.api.connector import ExactlyOnceSupport
from penstock.api.query import QuerySinkConnector, QuerySinkTask, QuerySourceConnector, QuerySourceTask
from penstock.connectors.spark.sink_settings import IN_FOLDERS, OPTION, SINK_CONFIG, format_named, sink_problems
from penstock.connectors.spark.source_settings import SOURCE_CONFIG, check_offset, source_problems


class SparkSinkTask(QuerySinkTask):
    java_name = "penstock.connectors.SparkSinkTask"
    writes = "spark"

    @classmethod
    def version(cls) -> str:
        return __version__


class SparkSink(QuerySinkConnector):
    """Writes records of topics to whatever Spark can write: Parquet, Delta, JDBC, ...

    Its query reads all partitions.
    """

    java_name = "penstock.connectors.SparkSink"
    settings = SINK_CONFIG
    setting_prefixes = (OPTION,)

    @classmethod
    def version(cls) -> str:
        return __version__

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return sink_problems(config)

    def task_class(self) -> type[SparkSinkTask]:
        return SparkSinkTask


FLEETING = frozenset({"socket"})
"""Formats that can't be read a second time."""
HARMLESS = frozenset({*IN_FOLDERS, "delta", "kafka", "rate", "rate-micro-batch"})
"""Formats whose systems are left unchanged when they are read."""


class SparkSourceTask(QuerySourceTask):
    java_name = "penstock.connectors.SparkSourceTask"
    reads = "spark"

    @classmethod
    def version(cls) -> str:
        return __version__


class SparkSource(QuerySourceConnector):
    """Sends to a topic whatever Spark can stream: folders of files, Kafka, rates for tests, ...

    The batches of its query are transactions.
    """

    java_name = "penstock.connectors.SparkSource"
    settings = SOURCE_CONFIG
    setting_prefixes = (OPTION,)

    @classmethod
    def version(cls) -> str:
        return __version__

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return source_problems(config)

    def task_class(self) -> type[SparkSourceTask]:
        return SparkSourceTask

    def tasks_for_preview(self, config: Mapping[str, str]) -> list[dict[str, str]] | None:
        return [dict(config)] if format_named(SOURCE_CONFIG.parse(config)["format"]) in HARMLESS else None

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        fleeting = format_named(SOURCE_CONFIG.parse(config)["format"]) in FLEETING
        return ExactlyOnceSupport.UNSUPPORTED if fleeting else ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        for partition, offset in offsets:
            if offset is not None:
                check_offset(config["name"], partition, offset)
        return True
