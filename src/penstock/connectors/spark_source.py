"""Whatever Spark can stream to a topic: folders of files, Kafka, rates for tests, ...

Its one task is a query of Spark, as that of ``spark_sink``: Spark reads and shapes the rows, and the connector's
transforms, converters and producer do the rest, as for every source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from penstock.api.source import SourceTask
from penstock.spark.query.source_settings import SOURCE_CONFIG, check_offset, problems

VERSION = "0.1.0"
FLEETING = frozenset({"socket"})
"""Formats that can't be read a second time."""


class SparkSourceTask(SourceTask):
    """Stands for the query; nobody makes an object of it."""

    java_name = "penstock.connectors.SparkSourceTask"
    kind = "query"

    @classmethod
    def version(cls) -> str:
        return VERSION


class SparkSource(SourceConnector):
    """One task, a query whose batches are transactions."""

    java_name = "penstock.connectors.SparkSource"

    @classmethod
    def version(cls) -> str:
        return VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return SOURCE_CONFIG

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        by_name = {value.name: value for value in values}
        for name, problem in problems(config):
            if name not in by_name:
                by_name[name] = ConfigValue(name, config.get(name))
                values.append(by_name[name])
            by_name[name].add_error(problem)
        return values

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[SparkSourceTask]:
        return SparkSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        fleeting = SOURCE_CONFIG.parse(config)["format"].strip() in FLEETING
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
