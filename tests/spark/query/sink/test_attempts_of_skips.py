"""Records that a query leaves out of a batch that is attempted more than once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.core.model.skips import Skip
from penstock.pipeline.errors import RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.spark.java import spark_java
from penstock.spark.query.shared import close_xml
from penstock.spark.query.sink.progress import Span
from penstock.spark.query.sink.skips import SkippedRows

pytestmark = pytest.mark.integration

P = ("t", 0)
COLUMNS = (
    "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT, key BINARY, value BINARY, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)


class Queue:
    """The values of the dead letters, as they are written."""

    def __init__(self) -> None:
        self.values: list[bytes] = []

    def __call__(self, failure: RecordFailure) -> None:
        self.values += failure.record.values

    def flush(self, seconds: float) -> None:
        pass


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "JAVA_HOME", str(spark_java().home))
        session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    close_xml(session.sparkContext)
    yield session
    session.stop()


def records(session: SparkSession, first: int, end: int) -> tuple[DataFrame, Span]:
    now = datetime.now(UTC)
    rows = [("t", 0, at, now, 0, None, b"%d" % at, []) for at in range(first, end)]
    return session.createDataFrame(rows, COLUMNS), Span({P: first}, {P: end})


def test_a_batch_that_is_attempted_again_writes_no_letter_twice_and_counts_once_committed(
    session: SparkSession,
) -> None:
    queue, over = Queue(), list[Skip]()
    metrics = Metrics(lambda values: None, ("sink-record-read-total",))
    skips = [Skip("t", 0, 2, 3, to="dead-letters"), Skip("t", 0, 5, 6)]
    rows = SkippedRows(skips, over.append, lambda topics: {}, metrics, lambda: queue)  # type: ignore[arg-type,return-value]
    for end in (4, 4, 9, 9):
        frame, span = records(session, 0, end)
        left = [row["offset"] for row in rows.without(frame, span).collect()]
        assert left == [at for at in range(end) if at not in (2, 3, 5, 6)]
        assert metrics.snapshot(0.0)["total-records-skipped"] == 0
    assert queue.values == [b"2", b"3"]
    rows.committed({P: 0})
    assert metrics.snapshot(0.0)["total-records-skipped"] == 0
    for end in (9, 9, 10):
        rows.committed({P: end})
        assert metrics.snapshot(0.0)["total-records-skipped"] == metrics.snapshot(0.0)["sink-record-read-total"] == 4
    assert set(over) == set(skips)
