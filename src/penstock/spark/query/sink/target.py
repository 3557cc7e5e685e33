"""Where rows go: whatever Spark can write to, as the connector's settings say, and each batch once where that can be.

- Folders of files: always once (``files``).
- Delta tables: once, by Delta's own record of which batches of an application it has.
- Everything else: at least once; after a crash the last batch may come a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from penstock.spark.query.settings import IN_FOLDERS, SinkSettings
from penstock.spark.query.sink.files import Files
from penstock.spark.query.sink.progress import Version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Target(Protocol):
    def add(self, frame: DataFrame, version: Version) -> None:
        """Write a batch; called again with the same version after a crash. Raises what Spark raises."""


def target_of(settings: SinkSettings, connector: str, session: SparkSession) -> Target:
    if settings.format in IN_FOLDERS and settings.path is not None and settings.mode == "append":
        return Files(settings, connector, session)
    return Writer(settings, connector)


class Writer:
    """Spark's own writer."""

    def __init__(self, settings: SinkSettings, connector: str) -> None:
        self._settings, self._connector = settings, connector

    def add(self, frame: DataFrame, version: Version) -> None:
        settings = self._settings
        writer = frame.write.format(settings.format).mode(settings.mode).options(**settings.options)
        if settings.format == "delta":
            writer = writer.option("txnAppId", f"{self._connector}-{version.epoch}")
            writer = writer.option("txnVersion", version.number)
            if settings.evolution == "add":
                writer = writer.option("mergeSchema", "true")
        if settings.partition_by:
            writer = writer.partitionBy(*settings.partition_by)
        if settings.table is not None:
            writer.saveAsTable(settings.table)
        else:
            writer.save(settings.path)
