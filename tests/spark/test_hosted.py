"""The life of a hosted task, as the worker sees it: what it says, obeys, and waits for."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from penstock.api.errors import ConnectError
from penstock.core.model.tasks import (
    OffsetsReported,
    ReportedOffset,
    TaskEnded,
    TaskFailed,
    TaskLost,
    TaskMetrics,
    TaskPaused,
    TaskRunning,
    TaskWaiting,
    TopicSeen,
)
from penstock.pipeline.task import TaskSpec
from penstock.spark.channel import RefusedError, TaskChannel
from penstock.spark.messages.task import TaskIdentity
from penstock.spark.run.gate import NotConfirmedError
from penstock.spark.tls import identity
from support.kafka.client import Kafka
from support.process_tree import alive, descendants
from support.spark.host import Gate, Spec, id_of, process_of, without_waiting
from support.waiting import until

pytestmark = pytest.mark.integration


def test_a_task_says_what_it_does_and_obeys(hosted: Any, spec: Spec) -> None:
    one = spec(topic="t")
    id = id_of(one)
    hosted.run(one)
    assert without_waiting(hosted.events.until(TopicSeen, id)) == [TaskRunning(id, 1), TopicSeen(id, 1, "t")]
    hosted.pause(id)
    assert hosted.events.until(TaskPaused, id) == [TaskPaused(id, 1)]
    hosted.resume(id)
    assert hosted.events.until(TaskRunning, id) == [TaskRunning(id, 1)]
    hosted.reset_topics(id)
    assert hosted.events.until(TopicSeen, id) == [TopicSeen(id, 1, "t")]
    hosted.stop(id)
    assert hosted.events.until(TaskEnded, id) == [
        OffsetsReported(id, 1, (ReportedOffset({"file": "a"}, {"position": 7}),)),
        TaskMetrics(id, 1, {"source-record-poll-total": 3.0, "penstock-log-lines-dropped-total": 0}),
        TaskEnded(id, 1),
    ]


def test_a_failure_brings_its_trace_and_the_end(hosted: Any, spec: Spec) -> None:
    one = spec(fail="the disk is full")
    id = id_of(one)
    hosted.run(one)
    running, failed, ended = without_waiting(hosted.events.until(TaskEnded, id))
    assert running == TaskRunning(id, 1)
    assert isinstance(failed, TaskFailed)
    assert failed.trace.startswith("ValueError: the disk is full\n")
    assert ended == TaskEnded(id, 1)


def test_a_paused_task_starts_in_its_pause(hosted: Any, spec: Spec) -> None:
    one = spec(paused=True)
    hosted.run(one)
    assert without_waiting(hosted.events.until(TaskPaused, id_of(one))) == [TaskPaused(id_of(one), 1)]
    hosted.stop(id_of(one))
    hosted.events.until(TaskEnded, id_of(one))


def test_stop_ends_a_poll_that_blocks(hosted: Any, spec: Spec) -> None:
    one = spec("block")
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    hosted.stop(id_of(one), timeout=900.0)
    assert hosted.events.until(TaskEnded, id_of(one)) == [TaskEnded(id_of(one), 1)]


def test_a_task_that_does_not_stop_is_cancelled_and_killed(hosted: Any, spec: Spec) -> None:
    one = spec("deaf")
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    process = psutil.Process(process_of(hosted, one))
    hosted.stop(id_of(one), timeout=0.5)
    hosted.events.until(TaskEnded, id_of(one))
    assert not alive(process)


def test_a_run_waits_for_the_end_of_the_run_before(hosted: Any, spec: Spec) -> None:
    one = spec()
    id = id_of(one)
    hosted.run(one)
    hosted.events.until(TaskRunning, id)
    hosted.stop(id)
    hosted.run(replace(one, run=2))
    events = hosted.events.until(TaskRunning, id)
    assert events.index(TaskEnded(id, 1)) < events.index(TaskRunning(id, 2))
    hosted.stop(id)
    hosted.events.until(TaskEnded, id)


def test_a_task_gets_the_spec_that_was_completed_while_spark_started_it(hosted: Any, spec: Spec) -> None:
    one, found = spec(topic="early"), Future[TaskSpec]()
    id = id_of(one)
    hosted.run(one, Gate(found))
    hosted.events.until(TaskWaiting, id)
    assert not hosted.runs[id].admitted
    hosted.pause(id)
    found.set_result(replace(one, config={"topic": "late"}))
    hosted.events.until(TaskPaused, id)
    hosted.resume(id)
    assert TopicSeen(id, 1, "late") in hosted.events.until(TopicSeen, id)
    hosted.stop(id)
    hosted.events.until(TaskEnded, id)


def test_a_task_whose_spec_can_not_be_completed_fails(hosted: Any, spec: Spec) -> None:
    one, found = spec(), Future[TaskSpec]()
    hosted.run(one, Gate(found))
    hosted.events.until(TaskWaiting, id_of(one))
    found.set_exception(ConnectError("no offsets"))
    failed, ended = hosted.events.until(TaskEnded, id_of(one))[-2:]
    assert failed.trace.startswith("org.apache.kafka.connect.errors.ConnectException: no offsets")
    assert isinstance(ended, TaskEnded)


def test_a_run_that_is_not_confirmed_is_lost(hosted: Any, spec: Spec) -> None:
    one, gate = spec(), Gate()
    hosted.run(one, gate)
    until(lambda: gate.asked, "the process is ready")
    gate.admission.set_exception(NotConfirmedError("it runs elsewhere"))
    assert hosted.events.until(TaskEnded, id_of(one))[-2:] == [
        TaskLost(id_of(one), 1, "it runs elsewhere"),
        TaskEnded(id_of(one), 1),
    ]


def test_a_run_that_waits_for_its_confirmation_can_be_stopped(hosted: Any, spec: Spec) -> None:
    one, gate = spec(), Gate()
    hosted.run(one, gate)
    until(lambda: gate.asked, "the process is ready")
    hosted.stop(id_of(one))
    events = hosted.events.until(TaskEnded, id_of(one))
    assert not any(isinstance(event, TaskRunning | TaskLost) for event in events)


def test_offsets_are_read_when_the_tasks_producer_has_fenced_all_older_ones(hosted: Any, spec: Spec) -> None:
    one, gate = spec("initialized"), Gate()
    gate.admission.set_result(one)
    hosted.run(one, gate)
    until(lambda: gate.asked == ["admit", "committed offsets"], "the task has initialized its producer")
    gate.offsets.set_result((({"file": "a"}, {"position": 9}, None),))
    assert OffsetsReported(id_of(one), 1, (ReportedOffset({"file": "a"}, {"position": 9}),)) in hosted.events.until(
        OffsetsReported, id_of(one)
    )
    hosted.stop(id_of(one))
    hosted.events.until(TaskEnded, id_of(one))


@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_that_is_not_confirmed_after_its_producers_start_ends(hosted: Any, spec: Spec, stopped: bool) -> None:
    one, gate = spec("initialized"), Gate()
    gate.admission.set_result(one)
    hosted.run(one, gate)
    until(lambda: len(gate.asked) == 2, "the task has initialized its producer")
    if stopped:
        hosted.stop(id_of(one))
    gate.offsets.set_exception(NotConfirmedError("it runs elsewhere"))
    events = hosted.events.until(TaskEnded, id_of(one))
    assert not any(isinstance(event, TaskRunning | TaskFailed) for event in events)
    assert (TaskLost(id_of(one), 1, "it runs elsewhere") in events) is not stopped


def test_a_fenced_task_is_lost(hosted: Any, spec: Spec) -> None:
    one = spec("fenced")
    hosted.run(one)
    lost = [event for event in hosted.events.until(TaskEnded, id_of(one)) if isinstance(event, TaskLost)]
    assert lost == [TaskLost(id_of(one), 1, "another run has taken its place")]


def test_only_the_expected_attempt_of_the_expected_run_is_admitted_and_only_once(hosted: Any, spec: Spec) -> None:
    one = spec(run=3)
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    address, key = hosted.address, hosted.runs[id_of(one)].key
    who = TaskIdentity(one.connector, 0, 3, 0, "h", 1)

    def refusal(key: str = key, **different: Any) -> str:
        with pytest.raises(RefusedError) as refused:
            TaskChannel.connect(address, identity().fingerprint, key, msgspec.structs.replace(who, **different))
        return str(refused.value)

    assert "has been admitted already" in refusal()
    assert "Spark started it a second time" in refusal(attempt=1)
    assert "run 2 of task" in refusal(run=2)
    assert "does not know its key" in refusal(key="00" * 32)
    assert "does not know its key" in refusal(connector="nobody")
    hosted.stop(id_of(one))
    hosted.events.until(TaskEnded, id_of(one))


def test_a_query_whose_jars_can_not_be_fetched_has_failed(
    hosted: Any, spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    monkeypatch.setenv("PENSTOCK_MAVEN_REPOSITORY", (tmp_path / "nowhere").as_uri())
    one = replace(spec(), kind="query")
    hosted.run(one)
    failed, _ = without_waiting(hosted.events.until(TaskEnded, id_of(one)))
    assert failed.trace.startswith("org.apache.kafka.connect.errors.ConnectException: ")
    assert "could not be fetched from file:" in failed.trace


def test_a_file_source_runs_on_spark(hosted: Any, spec: Spec, kafka: Kafka, tmp_path: Path) -> None:
    topic, file = kafka.create_topic(), tmp_path / "lines"
    file.write_text("one\ntwo\n")
    text = "org.apache.kafka.connect.storage.StringConverter"
    config = {"file": str(file), "topic": topic, "name": "lines"}
    one = replace(
        spec(**config),
        kind="source",
        task_class="penstock.connectors.file_source:FileStreamSourceTask",
        connector_config=config,
        worker_config={"bootstrap.servers": kafka.bootstrap, "key.converter": text, "value.converter": text},
    )
    id = id_of(one)
    hosted.run(one)
    assert TopicSeen(id, 1, topic) in hosted.events.until(TopicSeen, id)
    hosted.stop(id)
    events = hosted.events.until(TaskEnded, id)
    reported = [each for event in events if isinstance(event, OffsetsReported) for each in event.offsets]
    assert ({"filename": str(file)}, {"position": 8}) in [(each.partition, each.offset) for each in reported]
    assert kafka.values(topic) == [b"one", b"two"]


WORKER = """
import sys, time
sys.path.insert(0, {tests!r})
from support.spark.host import Hosted, make_spec
from penstock.core.model.tasks import TaskRunning
from penstock.spark.settings import HostSettings
hosted = Hosted(HostSettings())
hosted.start()
hosted.run(make_spec("deaf"))
hosted.events.until(TaskRunning)
print("running", flush=True)
time.sleep(600)
"""


def test_nothing_survives_a_worker_that_is_killed() -> None:
    code = WORKER.format(tests=str(Path(__file__).parent.parent))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "running\n"
        below = descendants(worker.pid)
        # The driver, Java, the process that tasks are forked from, the task.
        assert len(below) >= 4
        worker.kill()
    until(lambda: not any(map(alive, below)), "the end of all that was below the worker")
