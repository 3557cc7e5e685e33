"""Delta tables in tests: settings of Spark, and contents of a table."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

import penstock.embedded
from penstock.spark.settings import HostSettings
from penstock.spark.versions import release
from support.jars import listed
from support.spark.host import Hosted, started
from support.spark.queries import Sink
from support.worker_process import QUICK_JAVA, SPARKS_JAVA

JARS = Path(penstock.embedded.__file__).parent / "pinned" / f"{release().delta or 'delta-none'}.jars"


def spark_settings() -> dict[str, str]:
    """Return the worker's settings for Delta. Raises EmbeddedError."""
    return {
        "spark.jars": ",".join(map(str, listed(JARS))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Otherwise a job of 50 partitions reads the list of a table's files, however short it is.
        "spark.databricks.delta.snapshotPartitions": "2",
    }


def files(table: Path) -> list[Path]:
    """Return the files of the newest version, from all entries of the table's log."""
    found: dict[str, None] = {}
    for entry in log(table):
        for line in entry.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                found[action["add"]["path"]] = None
            elif "remove" in action:
                found.pop(action["remove"]["path"], None)
    return [table / path for path in found]


def log(table: Path) -> list[Path]:
    """Return the log's files, one per version."""
    return sorted((table / "_delta_log").glob("*.json"))


_NAMES = {"TINYINT": "byte", "SMALLINT": "short", "INT": "integer", "BIGINT": "long"}
"""Names of types in the schemas of Delta, where they are not those of SQL."""


_FEATURES = ["invariants", "checkConstraints", "generatedColumns", "identityColumns", "allowColumnDefaults"]


def create(
    table: Path,
    columns: Mapping[str, str | dict[str, Any]],
    required: Collection[str] = (),
    constraints: Mapping[str, str] | None = None,
    metadata: Mapping[str, dict[str, Any]] | None = None,
) -> None:
    """Create a table of these columns, by their types in SQL or in Delta's JSON, as a writer without Spark does.

    ``metadata``: that of columns by their names, such as an identity.
    """
    known = metadata or {}
    fields = [
        {
            "name": name,
            "type": _NAMES.get(type, type.lower().replace(" ", "")) if isinstance(type, str) else type,
            "nullable": name not in required,
            "metadata": known.get(
                name, {"__CHAR_VARCHAR_TYPE_STRING": type} if str(type).startswith("varchar") else {}
            ),
        }
        for name, type in columns.items()
    ]
    for each in fields:
        if str(each["type"]).startswith("varchar"):
            each["type"] = "string"
    described = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {f"delta.constraints.{name}": sql for name, sql in (constraints or {}).items()},
    }
    protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 3}
    if metadata is not None:
        protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": _FEATURES}
    commit(table, 0, {"protocol": protocol}, {"metaData": described})


def commit(table: Path, version: int, *actions: dict[str, Any]) -> None:
    """Add a version to the log of a table."""
    place = table / "_delta_log"
    place.mkdir(parents=True, exist_ok=True)
    draft = place / f".{version}"
    draft.write_text("".join(json.dumps(action) + "\n" for action in actions))
    draft.rename(place / f"{version:020}.json")


def add_file(table: Path, name: str) -> None:
    """Add a file that lies in the table's folder to the table."""
    status = (table / name).stat()
    added = {"path": name, "partitionValues": {}, "size": status.st_size, "dataChange": True}
    commit(table, len(log(table)), {"add": {**added, "modificationTime": int(status.st_mtime * 1000)}})


@contextmanager
def started_with(**settings: str) -> Iterator[Hosted]:
    """Start a Spark with Delta and these settings."""
    more = {SPARKS_JAVA: QUICK_JAVA, **settings}
    with started(HostSettings(spark={**spark_settings(), **more})) as hosted:
        yield hosted


class DeltaSink(Sink):
    """Writes its topic to a Delta table."""

    def rows(self, format: str = "parquet") -> list[dict[str, Any]]:
        found = files(self.folder)
        return ds.dataset(found, format=format).to_table().to_pylist() if found else []
