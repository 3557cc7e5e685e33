"""Delta tables in tests: what Spark needs for them, and what is in one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

import penstock.embedded
from penstock.spark.settings import HostSettings
from support.jars import listed
from support.spark.host import Hosted, started
from support.spark.queries import Sink
from support.worker_process import QUICK_JAVA, SPARKS_JAVA

JARS = Path(penstock.embedded.__file__).parent / "pinned" / "delta.jars"


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


@contextmanager
def started_with(**settings: str) -> Iterator[Hosted]:
    """A Spark that knows Delta, and has these settings too."""
    more = {SPARKS_JAVA: QUICK_JAVA, **settings}
    with started(HostSettings(spark={**spark_settings(), **more})) as hosted:
        yield hosted


class DeltaSink(Sink):
    """Writes its topic to a Delta table."""

    def rows(self, format: str = "parquet") -> list[dict[str, Any]]:
        found = files(self.folder)
        return ds.dataset(found, format=format).to_table().to_pylist() if found else []
