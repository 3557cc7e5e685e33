"""A JVM with Spark's classes, for tests that need Hadoop's file systems but not Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.java_gateway import launch_gateway

from penstock.spark.java import spark_java


@pytest.fixture(scope="session")
def java() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "JAVA_HOME", str(spark_java().home))
        gateway: Any = launch_gateway()
    yield gateway.jvm
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(900)
