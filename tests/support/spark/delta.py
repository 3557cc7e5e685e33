"""Delta tables in tests: what Spark needs for them, and what is in one."""

from __future__ import annotations

import json
from pathlib import Path

from support.jars import listed

JARS = Path(__file__).with_name("delta.jars")


def spark_settings() -> dict[str, str]:
    """What the worker's properties need. Raises EmbeddedError."""
    return {
        "spark.jars": ",".join(map(str, listed(JARS))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # A job of 50 parts reads the list of a table's files otherwise, however short that is.
        "spark.databricks.delta.snapshotPartitions": "2",
    }


def files(table: Path) -> list[Path]:
    """The files of the newest version, by the table's log from its first entry on."""
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
    """One file a version."""
    return sorted((table / "_delta_log").glob("*.json"))
