"""The Spark application of queries, and that of hosted tasks beside it: neither takes the other with it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from faults.broker import FaultyBroker
from penstock.core.model.tasks import SparkReady, TaskEnded, TaskId, TaskLost, TaskRunning
from penstock.pipeline.task import TaskSpec
from penstock.spark import supervisor
from penstock.spark.run import hosted_run, query_end
from penstock.spark.settings import HostSettings
from penstock.spark.supervisor import DriverSupervisor
from support.kafka.client import Kafka
from support.process_tree import alive
from support.spark.host import Hosted, files_of_spark, started
from support.spark.queries import COLUMNS, SECONDS, Query, Sink, ids, make
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

GRACEFUL = 2.0
MEMORY = (
    "SELECT id, name, length(concat_ws(',', collect_list(repeat('x', 200000000)))) AS x FROM "
    "(SELECT id, name, explode(sequence(1, 20)) FROM records) GROUP BY id, name"
)
FOR_EVER = f"SELECT id, name, '{'a' * 200}!' RLIKE '^(a+)+(.*)\\\\2x$' AS x FROM records"
"""Spark evaluates the constant when it plans the batch, in the driver; no interrupt ends that."""


@pytest.fixture(scope="module")
def own() -> Iterator[Hosted]:
    """A Spark of this file, which stops tasks soon, and starts again at once, however often it has died."""
    with pytest.MonkeyPatch.context() as patch, started(HostSettings(graceful=GRACEFUL)) as hosted:
        patch.setattr(supervisor, "BACKOFF", (0.0,))
        yield hosted


@pytest.fixture
def ticking(own: Hosted, spec: Callable[..., TaskSpec]) -> Iterator[psutil.Process]:
    """The process of a hosted task, which is the same at the end of the test, and still at work."""
    one = spec()
    id = TaskId(one.connector, 0)
    own.run(one)
    own.events.until(TaskRunning, id)
    process = own.runs[id].process_id
    assert process is not None
    task = psutil.Process(process)
    yield task
    assert alive(task)
    assert own.events.so_far(id) == []
    own.stop(id)
    assert not any(isinstance(event, TaskLost) for event in own.events.until(TaskEnded, id))


@pytest.fixture
def sink(own: Hosted, kafka: Kafka, tmp_path: Path) -> Callable[..., Sink]:
    def make_sink(folder: str = "table", **config: str) -> Sink:
        return Sink(own, kafka, kafka.create_topic(partitions=1), tmp_path / folder, schema=COLUMNS, **config)

    return make_sink


def queries(own: Hosted) -> DriverSupervisor:
    assert own.query_driver is not None
    return own.query_driver


def java_of_queries(own: Hosted) -> int:
    found = queries(own).java_id
    assert found is not None
    return found


def lost(sink: Sink) -> TaskLost:
    """Wait until the sink's run has ended, and return its loss."""
    (found,) = (event for event in sink.ended() if isinstance(event, TaskLost))
    return found


def test_application_of_queries_starts_with_the_first_query(
    sink: Callable[..., Sink], own: Hosted, ticking: psutil.Process
) -> None:
    assert own.query_driver is None
    with sink() as one:
        one.start()
        assert SparkReady(512, queries=True) in own.events.until(SparkReady)
        assert queries(own).process_id != own.driver.process_id


def test_its_javas_death_loses_queries_alone(sink: Callable[..., Sink], own: Hosted, ticking: psutil.Process) -> None:
    with sink() as one:
        one.produce(*make(0, 10))
        one.start()
        one.wait(10)
        files = files_of_spark(java_of_queries(own))
        assert list(files.glob("penstock-query-*/offsets")), "the query's checkpoint is among them"
        os.kill(java_of_queries(own), signal.SIGKILL)
        found = lost(one)
        assert "The task ended with Spark" in found.reason
        assert "The Spark application of queries: Spark's Java" in found.reason
        assert not found.died
        one.produce(*make(10, 20))
        one.start()
        assert ids(one.wait(20)) == list(range(20))
        eventually(lambda: not files.exists())  # the next driver removes them


def test_its_javas_freeze_loses_queries_alone(
    sink: Callable[..., Sink], own: Hosted, ticking: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sink() as one:
        one.produce(*make(0, 10))
        one.start()
        one.wait(10)
        java = psutil.Process(java_of_queries(own))
        java.suspend()
        monkeypatch.setattr(supervisor, "UNANSWERED", 2)  # not before: while it works it may be slow
        assert "it is frozen or hangs" in lost(one).reason
        monkeypatch.undo()  # its successor may be slow on a busy machine
        assert not alive(java)
        one.produce(*make(10, 20))
        one.start()
        assert ids(one.wait(20)) == list(range(20))


@pytest.mark.parametrize("how", ["exit", "memory"])
def test_a_query_that_ends_its_java_ends_no_hosted_task(
    sink: Callable[..., Sink], own: Hosted, ticking: psutil.Process, how: str
) -> None:
    with sink(**({"sql": MEMORY} if how == "memory" else {})) as one:
        one.produce(*make(0, 1))
        one.start()
        if how == "exit":
            one.wait(1)
            psutil.Process(java_of_queries(own)).terminate()
        assert "Spark's Java" in lost(one).reason


def test_a_query_that_waits_for_brokers_ends_alone(
    own: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's clients wait for them in every batch, and when they are closed."""
    monkeypatch.setattr(query_end, "ALONE_SECONDS", 60.0)  # after that its application is killed
    with FaultyBroker(tmp_path / "broker") as broker:
        kafka = Kafka(broker.bootstrap)
        with Sink(own, kafka, kafka.create_topic(partitions=1), tmp_path / "table", schema=COLUMNS) as one:
            one.produce(*make(0, 5))
            one.start()
            one.wait(5)
            process = psutil.Process(java_of_queries(own))
            broker.freeze()
            try:
                one.stop()
                assert alive(process)
            finally:
                broker.thaw()
            one.produce(*make(5, 8))
            one.start()
            assert ids(one.wait(8)) == list(range(8))
            assert psutil.Process(java_of_queries(own)) == process
            one.stop()


class HoldingSink(Query):
    """A sink whose target waits until the test lets it write."""

    task_class = "foreign_queries:HoldingSinkTask"


def test_a_query_that_takes_long_to_end_ends_no_other(
    sink: Callable[..., Sink],
    own: Hosted,
    kafka: Kafka,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosted_run, "seconds_among_others", lambda *_: 3600.0)  # the test releases it, however late
    topic, path = kafka.create_topic(partitions=1), tmp_path / "held"
    slow = HoldingSink(own, kafka, topic, {"topics": topic, "path": str(path), "columns": COLUMNS})
    slow.plugin_path = (str(Path(__file__).parent / "plugins"),)
    with sink() as other, slow:
        other.produce(*make(0, 5))
        other.start()
        other.wait(5)
        process = psutil.Process(java_of_queries(own))
        kafka.produce(topic, [json.dumps(row) for row in make(0, 5)])
        slow.start()
        eventually(lambda: slow.fine() and (tmp_path / "held.held").exists(), SECONDS)
        own.stop(slow.id)

        def longer_than_alone() -> bool:
            assert alive(process)
            return f"Query {slow.id} has not ended " in caplog.text

        eventually(longer_than_alone, SECONDS)
        other.produce(*make(5, 8))
        assert ids(other.wait(8)) == list(range(8))
        (tmp_path / "held.released").touch()
        slow.ended()
        assert alive(process)
        assert java_of_queries(own) == process.pid
        assert not any(isinstance(event, TaskLost) for event in own.events.so_far(other.id))


def test_a_query_that_does_not_end_is_killed_with_its_application(
    sink: Callable[..., Sink], own: Hosted, ticking: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_end, "AMONG_OTHERS_SECONDS", 10.0)
    with sink() as other, sink("hung", sql=FOR_EVER) as one:
        other.produce(*make(0, 5))
        other.start()
        other.wait(5)
        one.produce(*make(0, 1))
        one.start()
        eventually(lambda: any("end" in metadata for _, metadata in one.committed().values()))
        process, began = psutil.Process(java_of_queries(own)), time.monotonic()
        one.stop()
        assert time.monotonic() - began < GRACEFUL + 900
        assert not alive(process)
        assert f"Query {one.id} did not end when it was stopped." in lost(other).reason
        other.start()
        other.produce(*make(5, 8))
        assert ids(other.wait(8)) == list(range(8))
