"""``make fuzz``: 10,000 random requests and attacks of four roles and a stranger; exit status 1 if it finds a fault."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from fuzz.attack import attack
from fuzz.target import target
from penstock.spark.java import spark_java
from penstock.spark.messages.driver import JudgeSql
from penstock.spark.query.host import Queries
from penstock.worker.configuration.permissions import JudgeSql as Judge


@contextmanager
def spark() -> Iterator[Judge]:
    """Start a Spark; yield a judge of ``sql`` like that of a worker's application of queries."""
    os.environ["JAVA_HOME"] = str(spark_java().home)
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    queries = Queries(session.sparkContext, lambda: None)
    try:
        yield lambda sql, functions, options: queries.judge(JudgeSql("g", sql, [*functions], [*options], [])).problem
    finally:
        session.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=18)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, spark() as judge, target(Path(folder), judge) as place:
        found = attack(place, given.requests, given.seed)
    print(found.report())
    sys.exit(bool(found.problems() or found.slow))


if __name__ == "__main__":
    main()
