"""SparkSink and SparkSource: whatever Spark can write, and whatever it can stream.

Their one task is a query of Spark, not a hosted task. Of a sink Spark reads the topics and writes the rows, with as
many cores as there are partitions, and the connector's converters and transforms run in between. Of a source Spark
reads and shapes the rows, and the connector's transforms, converters and producer do the rest, as for every source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import (
    Connector,
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SinkConnector,
    SourceConnector,
)
from penstock.api.runtime_hooks import QueryTask
from penstock.api.sink import SinkTask
from penstock.api.source import SourceTask
from penstock.spark.query.sink.settings import IN_FOLDERS, OPTION, SINK_CONFIG, format_named, sink_problems
from penstock.spark.query.source.settings import SOURCE_CONFIG, check_offset, source_problems


class Query(QueryTask):
    """A task of the connectors below and of ``jdbc``'s."""

    writes: ClassVar[str] = "spark"
    """The name of the writer of a sink's batches, see ``spark.query.sink.task``."""
    reads: ClassVar[str] = "spark"
    """The name of the reader of a source's rows, see ``spark.query.host``."""

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
        """Find settings that contradict each other; return pairs of the setting at fault and a sentence."""
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
        return sink_problems(config)

    def task_class(self) -> type[SparkSinkTask]:
        return SparkSinkTask

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        """The group's offsets are all there is."""
        return True


FLEETING = frozenset({"socket"})
"""Formats that can't be read a second time."""
HARMLESS = frozenset({*IN_FOLDERS, "delta", "kafka", "rate", "rate-micro-batch"})
"""Formats whose systems are left unchanged when they are read."""


class SparkSourceTask(Query, SourceTask):
    java_name = "penstock.connectors.SparkSourceTask"


class SparkSource(QueryConnector, SourceConnector):
    """Sends to a topic whatever Spark can stream: folders of files, Kafka, rates for tests, ...

    The batches of its query are transactions.
    """

    java_name = "penstock.connectors.SparkSource"
    settings = SOURCE_CONFIG
    setting_prefixes = (OPTION,)

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return source_problems(config)

    def task_class(self) -> type[SparkSourceTask]:
        return SparkSourceTask

    def tasks_for_preview(self, config: Mapping[str, str]) -> list[dict[str, str]] | None:
        return [dict(config)] if format_named(SOURCE_CONFIG.parse(config)["format"]) in HARMLESS else None

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        fleeting = format_named(SOURCE_CONFIG.parse(config)["format"]) in FLEETING
        return ExactlyOnceSupport.UNSUPPORTED if fleeting else ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        for partition, offset in offsets:
            if offset is not None:
                check_offset(config["name"], partition, offset)
        return True
