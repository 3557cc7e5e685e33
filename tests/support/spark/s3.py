"""S3 in tests: settings of Spark, and a sink."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from penstock.spark.versions import release
from support.jars import listed
from support.kafka.client import Kafka
from support.s3 import JARS, S3
from support.spark import delta
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Query, Sink
from support.tasks.runs import new_name
from support.worker_process import QUICK_JAVA, SPARKS_JAVA


def spark_settings(s3: S3, **hadoop: str) -> dict[str, str]:
    """Return the worker's settings for a server, and for Delta if there is a build of it. Raises EmbeddedError."""
    found = {SPARKS_JAVA: QUICK_JAVA}
    # Not in spark.jars, since Spark would copy hundreds of megabytes.
    found["spark.driver.extraClassPath"] = os.pathsep.join(map(str, listed(JARS)))
    if release().delta is not None:
        found |= delta.spark_settings()
    quick = {"fs.s3a.retry.interval": "20ms", "fs.s3a.retry.throttle.interval": "20ms"}
    return found | {f"spark.hadoop.{name}": value for name, value in {**s3.settings(), **quick, **hadoop}.items()}


class S3Sink(Sink):
    """Writes its topic to a folder of the bucket."""

    def __init__(self, spark: Hosted, kafka: Kafka, s3: S3, format: str = "parquet", **config: str) -> None:
        self.s3, self.format, self.place, self.folder = s3, format, new_name("table"), Path("/")
        topic = kafka.create_topic()
        path = f"s3a://{s3.bucket}/{self.place}"
        shape = {"topics": topic, "format": format, "path": path, "schema": COLUMNS}
        Query.__init__(self, spark, kafka, topic, {**shape, **config})

    def rows(self, format: str = "parquet") -> list[dict[str, Any]]:
        if self.format != "delta":
            return self.s3.rows(self.place, self.format)
        found: dict[str, None] = {}
        for name in self.s3.keys(self.place):
            if name.startswith("_delta_log/") and name.endswith(".json"):
                with self.s3.files.open_input_stream(f"{self.s3.bucket}/{self.place}/{name}") as stream:
                    for action in map(json.loads, stream.read().splitlines()):
                        if "add" in action:
                            found[action["add"]["path"]] = None
                        elif "remove" in action:
                            found.pop(action["remove"]["path"], None)
        files = [f"{self.s3.bucket}/{self.place}/{name}" for name in found]
        return ds.dataset(files, filesystem=self.s3.files).to_table().to_pylist() if files else []
