"""Whatever Spark can stream to a topic: folders of files, Kafka, rates for tests, ...

Its one task is a query of Spark, as that of ``spark_sink``: Spark reads and shapes the rows, and the connector's
transforms, converters and producer do the rest, as for every source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.connector import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from penstock.api.source import SourceTask
from penstock.connectors.spark_query import Query, QueryConnector
from penstock.spark.query.sink.settings import IN_FOLDERS, OPTION, format_named
from penstock.spark.query.source.settings import SOURCE_CONFIG, check_offset, problems

FLEETING = frozenset({"socket"})
"""Formats that can't be read a second time."""


HARMLESS = frozenset({*IN_FOLDERS, "delta", "kafka", "rate", "rate-micro-batch"})
"""Formats that nothing is taken from, or told, when they are read."""


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
        return problems(config)

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
