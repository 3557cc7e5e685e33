"""Several queries at the same time in one Spark application: what they share does not make them fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import pyarrow as pa
import pytest
from py4j.clientserver import JavaClient
from pyspark.sql import SparkSession

from penstock.api.batch import Batch
from penstock.spark.daemon import FORK_WITH
from penstock.spark.java import spark_java
from penstock.spark.query.host import Queries
from penstock.spark.query.shared import MODULES, prepare
from penstock.spark.query.source.transfer import BatchEnd, ToTask

pytestmark = [pytest.mark.integration, pytest.mark.slow]

QUERIES = 6
BATCHES = 12


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "JAVA_HOME", str(spark_java().home))
        patch.setitem(os.environ, "PYSPARK_PYTHON", sys.executable)
        session = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false").getOrCreate()
        prepare(session.sparkContext)
        yield session
        session.stop()


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads that take turns as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def at_the_same_time(work: Callable[[], object]) -> list[object]:
    with ThreadPoolExecutor(QUERIES) as pool:
        return [each.result() for each in [pool.submit(work) for _ in range(QUERIES)]]


def test_the_session_of_a_query_takes_few_calls_of_java(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for its turn in Python and in Java; thousands of them took seconds when many queries started."""
    queries: Any = object.__new__(Queries)
    queries._context, queries._lock, queries._session, queries._jars = session.sparkContext, Lock(), session, set()
    send, calls = JavaClient.send_command, 0

    def counted(*values: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        return send(*values, **more)

    monkeypatch.setattr(JavaClient, "send_command", counted)
    own = queries._new_session([])
    assert 0 < calls < 150
    assert own.conf.get("spark.sql.adaptive.enabled") == "false"
    assert own.conf.get("spark.driver.host") == session.sparkContext.getConf().get("spark.driver.host")


def records(rows: pa.RecordBatch) -> Batch:
    return Batch.of("rows", rows["id"].to_pylist())


@pytest.mark.usefixtures("switching")
def test_queries_plan_and_run_their_batches_at_the_same_time(session: SparkSession) -> None:
    def query() -> list[object]:
        own, transfer = session.newSession(), ToTask("127.0.0.1")
        taken: list[object] = []
        for number in range(BATCHES):
            transfer.run(own.range(number, number + 2, numPartitions=1), records, number)
            while not isinstance(item := transfer.take(60), BatchEnd):
                assert item is not None
                taken += item.values
        transfer.close()
        return taken

    assert at_the_same_time(query) == [[id for i in range(BATCHES) for id in (i, i + 1)]] * QUERIES


def test_processes_of_queries_are_forked_with_the_modules_that_they_need(session: SparkSession) -> None:
    before = session.sparkContext.environment
    prepare(session.sparkContext)
    assert session.sparkContext.environment[FORK_WITH] == MODULES
    assert session.sparkContext.environment is not before  # another thread may be iterating over it
