"""SparkSink after a batch was interrupted: each record is written once."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.core.model.tasks import (
    SparkDied,
    SparkReady,
    TaskFailed,
    TaskLost,
)
from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, SECONDS, Sink, ids, make

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def sink(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> Callable[..., Sink]:
    return lambda partitions=2, **config: Sink(
        hosted, kafka, kafka.create_topic(partitions=partitions), tmp_path / "table", **config
    )


def test_a_batch_that_was_written_but_not_committed_is_not_written_twice(sink: Callable[..., Sink]) -> None:
    """The group stands as it does when a run is killed after its files are in their places."""
    with sink(partitions=1, schema=COLUMNS) as one:
        one.produce(*make(0, 10))
        one.start()
        one.wait(10)
        one.written(10)
        one.stop()
        metadata = one.left_in_batch(0, 10)
        one.produce(*make(10, 15))
        one.start()
        assert ids(one.wait(15)) == list(range(15))
        one.written(15)
        one.stop()
        ((offset, after),) = one.committed().values()
        assert (offset, after["epoch"], after["version"]) == (15, metadata["epoch"], metadata["version"] + 1)


def test_a_batch_whose_files_were_not_all_moved_is_completed(sink: Callable[..., Sink]) -> None:
    with sink(partitions=1, schema=COLUMNS, partition_by="name") as one:
        one.produce(*make(0, 9))
        one.start()
        one.wait(9)
        one.written(9)
        one.stop()
        (listed,) = (one.folder / ".penstock").glob("*/*.list")
        names = json.loads(listed.read_text())
        written = listed.parent / names["folder"]
        # One file is back where it was written.
        moved = names["files"][0]
        (written / moved).parent.mkdir(parents=True)
        (one.folder / moved).rename(written / moved)
        assert len(one.rows()) == 6
        ((_, metadata),) = one.committed().values()
        one.commit({0: (0, {**metadata, "end": 9})})
        one.start()
        assert ids(one.wait(9)) == list(range(9))


def test_a_batch_that_was_begun_is_written_to_its_end_and_no_further(sink: Callable[..., Sink]) -> None:
    with sink(partitions=1, schema=COLUMNS, sql="SELECT *, count(*) OVER () AS size FROM records") as one:
        one.produce(*make(0, 20))
        one.commit({0: (5, {"epoch": "abc", "version": 7, "end": 12})})
        one.start()
        rows = one.wait(15)
        assert ids(rows) == list(range(5, 20))
        assert {row["id"]: row["size"] for row in rows} == {i: 7 if i < 12 else 8 for i in range(5, 20)}
        one.written(20)
        one.stop()
        offset, note = one.committed()[0]
        assert len(note.pop("topic")) == 22, "its ID"
        assert (offset, note) == (20, {"epoch": "abc", "version": 8})


@pytest.mark.parametrize("after", [0.0, 0.5])
def test_rows_are_written_once_when_spark_is_killed(sink: Callable[..., Sink], after: float) -> None:
    # Small batches, so that one is looked at while it is written.
    with sink(schema=COLUMNS, batch_max_records="15") as one:
        one.produce(*make(0, 50))
        one.start()
        one.wait(50)
        one.written(50)
        count = one.begun(50)
        time.sleep(after)
        os.kill(one.hosted.query_driver.process_id, signal.SIGKILL)
        lost = [event for event in one.ended() if isinstance(event, TaskLost)]
        assert "ended with Spark" in lost[0].reason
        one.hosted.events.until(SparkDied)
        one.hosted.events.until(SparkReady)
        one.produce(*make(count, count + 10))
        one.start()
        assert ids(one.wait(count + 10)) == list(range(count + 10))


def test_a_run_that_is_cut_off_can_begin_no_batch(sink: Callable[..., Sink], kafka: Kafka) -> None:
    from confluent_kafka import Producer

    with sink(schema=COLUMNS) as one:
        one.produce(*make(0, 5))
        one.start()
        one.wait(5)
        # What another run does first of all.
        other = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"query-tests-{one.name}-0"})
        other.init_transactions(SECONDS)
        one.produce(*make(5, 10))
        events = one.ended()
        assert not any(isinstance(event, TaskFailed) for event in events)
        (lost,) = (event for event in events if isinstance(event, TaskLost))
        assert "Another run of this task has been started" in lost.reason
        assert not lost.died
        assert len(one.rows()) == 5
