"""SparkSink and SparkSource: whatever Spark can write, and whatever it can stream.

Their one task is a query of Spark, not a hosted task. Of a sink Spark reads the topics and writes the rows, with as
many cores as there are partitions, and the connector's converters and transforms run in between. Of a source Spark
reads and shapes the rows, and the connector's transforms, converters and producer do the rest, as for every source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock import __version__
from penstock.api.check import TargetCheck
from penstock.api.connector import ExactlyOnceSupport
from penstock.api.query import (
    QueryContext,
    QuerySinkConnector,
    QuerySinkTask,
    QuerySourceConnector,
    QuerySourceTask,
    StreamShape,
)
from penstock.connectors.spark.check import check_format
from penstock.connectors.spark.iceberg_settings import PREFIXES as ICEBERG_PREFIXES
from penstock.connectors.spark.sink_settings import IN_FOLDERS, OPTION, SINK_CONFIG, format_named, sink_problems
from penstock.connectors.spark.source_settings import SOURCE_CONFIG, SourceSettings, source_problems


class SparkSinkTask(QuerySinkTask):
    java_name = "penstock.connectors.SparkSinkTask"
    writes = "spark"

    @classmethod
    def version(cls) -> str:
        return __version__


class SparkSink(QuerySinkConnector):
    """Writes records of topics to whatever Spark can write: Parquet, Delta, Iceberg, JDBC, ...

    Its query reads all partitions.
    """

    java_name = "penstock.connectors.SparkSink"
    settings = SINK_CONFIG
    setting_prefixes = (OPTION, *ICEBERG_PREFIXES)

    @classmethod
    def version(cls) -> str:
        return __version__

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return sink_problems(config)

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        return check_format(config, SINK_CONFIG.parse(config), writes=True)

    def task_class(self) -> type[SparkSinkTask]:
        return SparkSinkTask


CLEANS = f"{OPTION}cleansource"
"""The option that has Spark delete or move the files that it has read."""
FLEETING = frozenset({"socket"})
"""Formats that can't be read a second time."""
HARMLESS = frozenset({*IN_FOLDERS, "delta", "kafka", "rate", "rate-micro-batch"})
"""Formats whose systems are left unchanged when they are read."""


class SparkSourceTask(QuerySourceTask):
    java_name = "penstock.connectors.SparkSourceTask"

    @classmethod
    def version(cls) -> str:
        return __version__

    @classmethod
    def shape(cls, config: Mapping[str, str]) -> StreamShape:
        settings = SourceSettings.of(config)
        return StreamShape(
            topic=settings.topic,
            checkpoint=settings.checkpoint,
            name=settings.path or settings.format,
            sql=settings.sql,
            key=settings.key,
            interval=settings.interval,
        )

    @classmethod
    def stream(cls, config: Mapping[str, str], context: QueryContext) -> Any:
        settings = SourceSettings.of(config)
        reader = context.session.readStream.format(settings.format).options(**settings.options)
        if settings.schema is not None:
            reader = reader.schema(context.columns(settings.schema))
        return reader.load(settings.path)

    @classmethod
    def for_preview(cls, config: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in config.items() if name.lower() != CLEANS}


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

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        return check_format(config, SOURCE_CONFIG.parse(config), writes=False)

    def task_class(self) -> type[SparkSourceTask]:
        return SparkSourceTask

    def tasks_for_preview(self, config: Mapping[str, str]) -> list[dict[str, str]] | None:
        return [dict(config)] if format_named(SOURCE_CONFIG.parse(config)["format"]) in HARMLESS else None

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        fleeting = format_named(SOURCE_CONFIG.parse(config)["format"]) in FLEETING
        return ExactlyOnceSupport.UNSUPPORTED if fleeting else ExactlyOnceSupport.SUPPORTED
