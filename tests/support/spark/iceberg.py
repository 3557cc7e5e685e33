"""Iceberg tables in tests: settings of Spark, and a sink."""

from __future__ import annotations

from pathlib import Path

from hosts.iceberg_table import rows
from penstock.spark.versions import release
from support.jars import listed
from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import Query, Sink

JARS = Path(__file__).with_name(f"iceberg-{release().name}.jars")


def spark_settings(warehouse: Path) -> dict[str, str]:
    """Return the worker's settings for tables of the catalog ``default_iceberg``. Raises EmbeddedError."""
    return {
        "spark.jars": ",".join(map(str, listed(JARS))),
        "spark.sql.catalog.default_iceberg": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.default_iceberg.type": "hadoop",
        "spark.sql.catalog.default_iceberg.warehouse": warehouse.as_uri(),
    }


def name_of(folder: Path) -> str:
    """Return the name of the table in this folder."""
    return f"default_iceberg.{folder.parent.name}.{folder.name}"


class IcebergSink(Sink):
    """Writes its topic to a table of the catalog ``default_iceberg``, whose folder is ``folder``."""

    def __init__(self, hosted: Hosted, kafka: Kafka, topic: str, folder: Path, **config: str) -> None:
        self.folder = folder
        table = {"format": "iceberg", "table": name_of(folder)}
        Query.__init__(self, hosted, kafka, topic, {"topics": topic, **table, **config})

    def rows(self, format: str = "parquet") -> list[dict[str, object]]:
        return rows(self.folder)
