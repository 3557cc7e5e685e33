"""The connectors of the demo of changes: Debezium's source, from its jar, and a Delta table that follows its topic."""

from __future__ import annotations

from pathlib import Path

from penstock.demo.databases.changes import TABLE
from penstock.demo.databases.postgres import DATABASE, HOST, USER, Postgres
from penstock.embedded.archives import Archive

DEBEZIUM = Archive(
    "660673cbabd2f269da21409208ebd0f0d9977bd92e824fc9daa272f240e88e51",
    *("io.debezium", "debezium-connector-postgres", "3.7.0.Final", "plugin"),
    title="Debezium's source for PostgreSQL (5 MB)",
)
SOURCE, SINK = "flights-from-postgres", "flights-to-delta"
PREFIX = "demo"
TOPIC = f"{PREFIX}.public.{TABLE}"
KEY = "id"


def source(postgres: Postgres) -> dict[str, str]:
    """A record is the row as it is now, and without a value when the row was deleted; never two of them for a deletion,
    between which Debezium could lose the second.
    """
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": HOST,
        "database.port": str(postgres.port),
        "database.user": USER,
        "database.password": "none",
        "database.dbname": DATABASE,
        "topic.prefix": PREFIX,
        "table.include.list": f"public.{TABLE}",
        "plugin.name": "pgoutput",
        "publication.autocreate.mode": "filtered",
        "time.precision.mode": "connect",
        "exactly.once.support": "required",
        "topic.creation.default.partitions": "3",
        "topic.creation.default.replication.factor": "1",
        "tombstones.on.delete": "false",
        "transforms": "row",
        "transforms.row.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.row.delete.tombstone.handling.mode": "delete-to-tombstone",
    }


def sink(folder: Path) -> dict[str, str]:
    return {
        "connector.class": "penstock.connectors.SparkSink",
        "tasks.max": "1",
        "topics": TOPIC,
        # Not what a task that was killed had begun to send.
        "consumer.override.isolation.level": "read_committed",
        "format": "delta",
        "path": str(folder),
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "pk.fields": KEY,
        "delete.enabled": "true",
    }


def delta(jars: list[Path]) -> dict[str, str]:
    """Return the settings that Spark needs for Delta tables."""
    return {
        "spark.jars": ",".join(map(str, jars)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The list of a table's files is short.
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.shuffle.partitions": "8",
    }
