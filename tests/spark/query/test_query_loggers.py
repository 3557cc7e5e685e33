"""Loggers of PySpark in the driver of queries."""

from __future__ import annotations

import subprocess
import sys

import pytest

NAMES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
LOG_AN_ERROR = """
import logging, sys
from penstock.spark.query.host import Queries
Queries(None, lambda: None)
logging.getLogger(sys.argv[1]).setLevel(sys.argv[2])
from pyspark.errors.exceptions.base import PySparkLogger
PySparkLogger.getLogger(sys.argv[1]).exception("an error", errorClass="PARSE_SYNTAX_ERROR")
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", ["CRITICAL", "DEBUG"])
def test_an_error_of_spark_is_raised_as_it_is_whatever_the_level_of_its_logger(name: str, level: str) -> None:
    """PySpark logs an error before it raises it: an error in that would take its place."""
    done = subprocess.run(
        [sys.executable, "-c", LOG_AN_ERROR, name, level], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert ("PARSE_SYNTAX_ERROR" in done.stderr) is (level == "DEBUG")
