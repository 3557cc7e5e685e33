from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.api.errors import ConnectError
from penstock.core.model.tasks import (
    OffsetsReported,
    SparkDied,
    SparkReady,
    TaskEnded,
    TaskFailed,
    TaskId,
    TaskLost,
    TaskMetrics,
    TaskPaused,
    TaskRunning,
    TaskWaiting,
    TopicSeen,
)
from penstock.pipeline.task import CommittedOffsets, TaskSpec
from penstock.spark import supervisor
from penstock.spark.channel import RefusedError, TaskChannel
from penstock.spark.run.hosted_run import NotConfirmedError
from penstock.spark.tls import identity
from support.kafka.client import Kafka
from support.process_tree import alive, descendants
from support.waiting import until

pytestmark = pytest.mark.integration

Spec = Callable[..., TaskSpec]


def id_of(spec: TaskSpec) -> TaskId:
    return TaskId(spec.connector, spec.task)


def process_of(hosted: Any, spec: TaskSpec) -> int:
    """The process of an admitted task."""
    pid = hosted.runs[id_of(spec)].process_id
    assert isinstance(pid, int)
    return pid


def without_waiting(events: list[Any]) -> list[Any]:
    """What a task has told, but for the wait before it that a busy machine brings about."""
    return [event for event in events if not isinstance(event, TaskWaiting)]


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
        OffsetsReported(id, 1, (({"file": "a"}, {"position": 7}),)),
        TaskMetrics(id, 1, {"source-record-poll-total": 3.0}),
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
    hosted.stop(id_of(one), timeout=30.0)
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


@dataclass
class Gate:
    """What the worker finds out when the process is ready, and when its producer is."""

    admission: Future[TaskSpec] = field(default_factory=Future)
    offsets: Future[CommittedOffsets] = field(default_factory=Future)
    asked: list[str] = field(default_factory=list)

    def admit(self) -> Future[TaskSpec]:
        self.asked.append("admit")
        return self.admission

    def committed_offsets(self) -> Future[CommittedOffsets]:
        self.asked.append("committed offsets")
        return self.offsets


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
    until(lambda: gate.asked, "the process is ready", 60)
    gate.admission.set_exception(NotConfirmedError("it runs elsewhere"))
    assert hosted.events.until(TaskEnded, id_of(one))[-2:] == [
        TaskLost(id_of(one), 1, "it runs elsewhere"),
        TaskEnded(id_of(one), 1),
    ]


def test_a_run_that_waits_for_its_confirmation_can_be_stopped(hosted: Any, spec: Spec) -> None:
    one, gate = spec(), Gate()
    hosted.run(one, gate)
    until(lambda: gate.asked, "the process is ready", 60)
    hosted.stop(id_of(one))
    events = hosted.events.until(TaskEnded, id_of(one))
    assert not any(isinstance(event, TaskRunning | TaskLost) for event in events)


def test_offsets_are_read_when_the_tasks_producer_has_fenced_all_older_ones(hosted: Any, spec: Spec) -> None:
    one, gate = spec("initialized"), Gate()
    gate.admission.set_result(one)
    hosted.run(one, gate)
    until(lambda: gate.asked == ["admit", "committed offsets"], "the task has initialized its producer", 60)
    gate.offsets.set_result((({"file": "a"}, {"position": 9}, None),))
    assert OffsetsReported(id_of(one), 1, (({"file": "a"}, {"position": 9}),)) in hosted.events.until(
        OffsetsReported, id_of(one)
    )
    hosted.stop(id_of(one))
    hosted.events.until(TaskEnded, id_of(one))


@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_that_is_not_confirmed_after_its_producers_start_ends(hosted: Any, spec: Spec, stopped: bool) -> None:
    one, gate = spec("initialized"), Gate()
    gate.admission.set_result(one)
    hosted.run(one, gate)
    until(lambda: len(gate.asked) == 2, "the task has initialized its producer", 60)
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
    who = {"connector": one.connector, "task": 0, "run": 3, "attempt": 0, "host": "h", "pid": 1}

    def refusal(key: str = key, **different: object) -> str:
        with pytest.raises(RefusedError) as refused:
            TaskChannel.connect(address, identity().fingerprint, key, who | different)
        return str(refused.value)

    assert "has been admitted already" in refusal()
    assert "Spark started it a second time" in refusal(attempt=1)
    assert "run 2 of task" in refusal(run=2)
    assert "does not know its key" in refusal(key="00" * 32)
    assert "does not know its key" in refusal(connector="nobody")
    hosted.stop(id_of(one))
    hosted.events.until(TaskEnded, id_of(one))


def test_a_killed_process_is_a_lost_task(hosted: Any, spec: Spec) -> None:
    one = spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    os.kill(pid := process_of(hosted, one), signal.SIGKILL)
    lost, ended = hosted.events.until(TaskEnded, id_of(one))
    assert isinstance(lost, TaskLost)
    assert f"process {pid} on" in lost.reason
    assert "ended without a word" in lost.reason
    assert lost.reason.endswith(": it was killed by SIGKILL")
    assert not lost.died
    assert isinstance(ended, TaskEnded)
    assert not (hosted._exits.folder / str(pid)).exists()


@pytest.mark.parametrize(
    ("how", "reason"), [("exit", ": it exited with code 3"), ("abort", ": it crashed with SIGABRT")]
)
def test_a_process_that_ends_by_itself_has_died(hosted: Any, spec: Spec, how: str, reason: str) -> None:
    one = spec("crash", how=how)
    hosted.run(one)
    (lost,) = (event for event in hosted.events.until(TaskEnded, id_of(one)) if isinstance(event, TaskLost))
    assert lost.reason.endswith(reason)
    assert lost.died


def test_a_process_whose_parent_died_was_killed(hosted: Any, spec: Spec) -> None:
    one = spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    os.kill(psutil.Process(process_of(hosted, one)).ppid(), signal.SIGKILL)
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert not lost.died


def test_a_task_that_fills_its_memory_takes_no_other_along(hosted: Any, spec: Spec) -> None:
    other, one = spec(), spec("hog")
    hosted.run(other)
    hosted.events.until(TaskRunning, id_of(other))
    process = psutil.Process(process_of(hosted, other))
    hosted.run(one)
    lost = hosted.events.until(TaskEnded, id_of(one))[-2]
    # Nothing but the kernel's counter tells its kill for lack of memory from one by hand.
    assert lost.reason.endswith(": it was killed by SIGKILL")
    # The same process still runs it, and no event has said otherwise.
    assert alive(process)
    hosted.pause(id_of(other))
    assert hosted.events.until(TaskPaused, id_of(other)) == [TaskPaused(id_of(other), 1)]
    hosted.stop(id_of(other))
    assert not any(isinstance(event, TaskFailed) for event in hosted.events.until(TaskEnded, id_of(other)))


def test_a_stop_while_a_task_is_being_forked_harms_no_other(hosted: Any, spec: Spec) -> None:
    one, two, three = spec(), spec(), spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    daemon = psutil.Process(process_of(hosted, one)).ppid()
    os.kill(daemon, signal.SIGSTOP)
    try:
        hosted.run(two)
        hosted.events.until(TaskWaiting, id_of(two))
        hosted.stop(id_of(two))
        hosted.events.until(TaskEnded, id_of(two))
        until(lambda: f"{id_of(two)}/1" not in hosted.driver.groups, "the end of the Spark job", 60)
    finally:
        os.kill(daemon, signal.SIGCONT)
    hosted.run(three)
    hosted.events.until(TaskRunning, id_of(three))
    assert psutil.Process(process_of(hosted, three)).ppid() == daemon
    for other in (one, three):
        hosted.stop(id_of(other))
        assert not any(isinstance(event, TaskFailed) for event in hosted.events.until(TaskEnded, id_of(other)))


def test_a_process_that_hangs_loses_its_lease(hosted: Any, spec: Spec) -> None:
    one = spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    process = psutil.Process(process_of(hosted, one))
    process.suspend()
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert "No heartbeat of the task" in lost.reason
    assert not lost.died
    assert not alive(process)


def test_sparks_death_loses_its_tasks_and_spark_comes_back(hosted: Any, spec: Spec) -> None:
    one, two = spec(), spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    os.kill(hosted.driver.process_id, signal.SIGKILL)
    died = hosted.events.until(SparkDied)[-1]
    hosted.run(two)
    assert "was killed by signal 9" in died.reason
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert lost.reason.startswith("The task ended with Spark (process ")
    assert died.reason in lost.reason
    assert not lost.died
    waiting = hosted.events.until(TaskRunning, id_of(two))[0]
    assert died.reason in waiting.reason
    ready = hosted.events.until(SparkReady)
    while ready[-1].queries:
        ready = hosted.events.until(SparkReady)
    assert ready == [SparkReady(512)]
    hosted.stop(id_of(two))
    hosted.events.until(TaskEnded, id_of(two))


def test_javas_death_is_sparks_death(hosted: Any, spec: Spec) -> None:
    one = spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    os.kill(java := hosted.driver.java_id, signal.SIGKILL)
    assert f"Spark's Java (process {java}) ended" in hosted.events.until(SparkDied)[-1].reason
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert "ended with Spark" in lost.reason
    hosted.events.until(SparkReady)


@pytest.mark.parametrize("which", ["driver", "java"])
def test_a_spark_that_is_frozen_is_killed_when_a_task_is_to_start(
    hosted: Any, spec: Spec, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    monkeypatch.setattr(supervisor, "UNANSWERED", 2)
    one, two = spec(), spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    task = psutil.Process(process_of(hosted, one))
    processes = [psutil.Process(pid) for pid in (hosted.driver.process_id, hosted.driver.java_id)]
    frozen = processes[which == "java"]
    frozen.suspend()
    # A task that runs needs nothing of Spark.
    time.sleep(4 * supervisor.PING)
    assert alive(frozen)
    assert alive(task)
    assert hosted.events.so_far(id_of(one)) == []
    hosted.run(two)
    assert "it is frozen, or it hangs" in hosted.events.until(SparkDied)[-1].reason
    monkeypatch.undo()  # its successor may be slow on a busy machine
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert isinstance(lost, TaskLost)
    assert not lost.died
    hosted.events.until(TaskRunning, id_of(two))
    assert not any(map(alive, [*processes, task]))
    hosted.stop(id_of(two))
    hosted.events.until(TaskEnded, id_of(two))


def test_a_spark_that_is_frozen_is_killed_when_a_task_does_not_end(
    hosted: Any, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "UNANSWERED", 2)
    one = spec("deaf")
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    psutil.Process(hosted.driver.java_id).suspend()
    hosted.stop(id_of(one), timeout=0.5)
    assert "it is frozen, or it hangs" in hosted.events.until(SparkDied)[-1].reason
    monkeypatch.undo()  # its successor may be slow on a busy machine
    hosted.events.until(TaskEnded, id_of(one))
    hosted.events.until(SparkReady)


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
    assert OffsetsReported(id, 1, (({"filename": str(file)}, {"position": 8}),)) in events
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
    until(lambda: not any(map(alive, below)), "the end of all that was below the worker", 60)
