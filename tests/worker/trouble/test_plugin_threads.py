"""Plugins that never return: the work that they delay, and the work that goes on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.core.model.actions import ExamineSkip, FenceProducers, StartTask, Validate, WriteOffsets
from penstock.core.model.events import Completed
from penstock.core.model.messages import OffsetChanges
from penstock.core.model.skips import Skip
from penstock.core.model.tasks import TaskEnded, TaskId, TaskLost, TaskWaiting
from penstock.http.access.tls import client_context
from penstock.java import key_stores
from penstock.kafka.admin import NoAnswerError
from penstock.kafka.background import Deadline, await_done
from penstock.pipeline.task import CommittedOffsets, TaskSpec
from penstock.spark.run.gate import NotConfirmedError
from penstock.threads import ConnectorThreads, Threads
from penstock.worker import offsets as worker_offsets
from penstock.worker import task_launcher
from penstock.worker.background import Background
from penstock.worker.specs import Specs
from penstock.worker.task_launcher import THREADS, TaskLauncher
from support.waiting import SECONDS, until


@pytest.fixture
def go() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def start(connector: str, task: int) -> StartTask:
    return StartTask(TaskId(connector, task), 1, {}, {}, False, ())


class Hosts:
    def __init__(self) -> None:
        self.run_: list[str] = []

    def run(self, spec: TaskSpec, gate: object) -> None:
        self.run_.append(spec.connector)

    def pause(self, id: TaskId) -> None: ...
    def resume(self, id: TaskId) -> None: ...
    def stop(self, id: TaskId) -> None: ...
    def reset_topics(self, id: TaskId) -> None: ...


def test_a_config_provider_that_hangs_delays_the_tasks_of_no_other_connector(
    go: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_launcher, "LONG_S", 0.0)

    class HangingSpecs(Specs):
        def outline(self, action: StartTask) -> TaskSpec:
            if action.id.connector == "hangs":
                go.wait()
            return TaskSpec(
                connector=action.id.connector,
                task=action.id.task,
                run=action.run,
                kind="sink",
                task_class="m:C",
                config={},
                connector_config={},
                worker_config={},
            )

    hosts, events = Hosts(), list[Any]()
    nothing: Any = None
    launcher = TaskLauncher(hosts, HangingSpecs(nothing, nothing, nothing, nothing, nothing), nothing, events.append)
    before = threading.active_count()
    for task in range(100):
        launcher.start(start("hangs", task))
    assert threading.active_count() - before <= THREADS + 1  # and the one that reports them
    launcher.start(start("fine", 0))
    until(lambda: hosts.run_ == ["fine"], "the task of the other connector starts")
    until(lambda: len(events) == 100, "all that wait are reported")
    told = {event.id.task: event.reason for event in events if isinstance(event, TaskWaiting)}
    assert "\tat outline(" in told[0]
    assert told[99].startswith("The task has waited for 0 s for other tasks of the connector")
    events.clear()
    for task in (0, 99):  # a task whose preparation hangs, and one that waits for it
        launcher.stop(TaskId("hangs", task))
    assert events == [TaskEnded(TaskId("hangs", 0), 1), TaskEnded(TaskId("hangs", 99), 1)]
    go.set()
    until(lambda: hosts.run_.count("hangs") == 98, "the other tasks of the connector start")
    assert len(events) == 2


class WaitingSpecs(Specs):
    """Resolves tasks with numbers above those that hang at once, and others only after ``go``."""

    def outline(self, action: StartTask) -> TaskSpec:
        if action.id.task < THREADS:
            self.offsets.wait()  # type: ignore[attr-defined]
        return TaskSpec(
            connector=action.id.connector,
            task=action.id.task,
            run=action.run,
            kind="sink",
            task_class="m:C",
            config={},
            connector_config={},
            worker_config={},
        )


def test_a_new_configuration_does_not_wait_for_providers_that_hang_with_the_old_one(go: threading.Event) -> None:
    hosts, events, nothing = Hosts(), list[Any](), Any
    specs = WaitingSpecs(nothing, nothing, nothing, nothing, go)  # type: ignore[arg-type]
    launcher = TaskLauncher(hosts, specs, nothing, events.append)
    for task in range(THREADS):
        launcher.start(start("c", task))
    launcher.start(start("c", THREADS))
    spec = specs.outline(start("c", THREADS))
    assert launcher.in_background(spec, lambda: "confirmed").result(SECONDS) == "confirmed"
    assert hosts.run_ == []
    for task in range(THREADS):
        launcher.stop(TaskId("c", task))
    until(lambda: hosts.run_ == ["c"], "the task that waited starts")


def test_requests_during_a_preparation_precede_later_ones(go: threading.Event) -> None:
    told: list[Any] = []

    class Hosts:
        def run(self, spec: TaskSpec, gate: Any) -> None:
            threading.Thread(target=launcher.resume, args=(TaskId("c", 0),)).start()

        def pause(self, id: TaskId) -> None:
            told.append(("pause", launcher._lock.locked()))

        def resume(self, id: TaskId) -> None:
            told.append("resume")

    hosts, nothing = Hosts(), Any
    specs = WaitingSpecs(nothing, nothing, nothing, nothing, go)  # type: ignore[arg-type]
    launcher = TaskLauncher(hosts, specs, nothing, told.append)  # type: ignore[arg-type]
    launcher.start(start("c", 0))
    launcher.pause(TaskId("c", 0))
    go.set()
    until(lambda: len(told) == 2, "both are told")
    assert told == [("pause", True), "resume"]


class AwaySpecs(Specs):
    """Specifications of a worker whose broker does not answer."""

    def outline(self, action: StartTask) -> TaskSpec:
        raise NoAnswerError("Failed to connect")

    def committed(self, spec: TaskSpec) -> CommittedOffsets:
        await_done(lambda done: None, "read to the end of the offsets topic", 0.01)
        raise AssertionError


def test_a_task_whose_start_needs_brokers_that_are_away_is_lost() -> None:
    events, nothing = list[Any](), Any
    specs = AwaySpecs(nothing, nothing, nothing, nothing, nothing)  # type: ignore[arg-type]
    launcher = TaskLauncher(Hosts(), specs, nothing, events.append)
    launcher.start(start("c", 0))
    until(lambda: len(events) == 2, "it is lost")
    assert events == [TaskLost(TaskId("c", 0), 1, "Failed to connect"), TaskEnded(TaskId("c", 0), 1)]
    with pytest.raises(NotConfirmedError, match="Timed out while trying to read to the end of the offsets topic"):
        launcher.committed(nothing)


def test_a_call_that_is_abandoned_gives_its_place_to_the_next(go: threading.Event) -> None:
    threads = ConnectorThreads(1)
    hanging = threads.submit("c", go.wait)
    waiting = [threads.submit("c", lambda: "first"), threads.submit("c", lambda: "second")]
    threads.abandon("c", waiting[0])
    until(hanging.running, "the first call")
    threads.abandon("c", hanging)
    assert (waiting[0].cancelled(), waiting[1].result(SECONDS)) == (True, "second")
    go.set()
    assert hanging.result(SECONDS)
    assert threads.submit("c", lambda: "third").result(SECONDS) == "third"


def test_calls_of_a_connector_beyond_its_threads_keep_their_order(go: threading.Event) -> None:
    threads, called = ConnectorThreads(1), list[int]()
    threads.submit("c", go.wait)
    futures = [threads.submit("c", lambda i=i: called.append(i)) for i in range(5)]  # type: ignore[misc]
    assert called == []
    go.set()
    for future in futures:
        future.result(900)
    assert called == [0, 1, 2, 3, 4]


class HangingOffsets:
    def __init__(self, go: threading.Event) -> None:
        self._go = go

    def read(self, connector: str, config: Any) -> list[dict[str, Any]]:
        return []

    def write(self, connector: str, config: Any, offsets: OffsetChanges | None, deadline: Deadline) -> str:
        self._go.wait()
        return "late"


def test_a_request_that_a_plugin_does_not_answer_is_given_up(go: threading.Event) -> None:
    outcomes: list[Completed] = []

    def validate(config: Any) -> None:
        go.wait()

    def fence(name: str, tasks: int, config: Any, deadline: Deadline) -> None:
        go.wait()

    def skip(ask: ExamineSkip) -> tuple[Skip, ...]:
        go.wait()
        return ()

    background = Background(
        Threads(),
        outcomes.append,
        validate=validate,
        offsets=HangingOffsets(go),
        fence=fence,
        skip=skip,
        tls=client_context({}, key_stores),
        timeout=0.2,
    )
    background.do(Validate({}, token=1))
    background.do(WriteOffsets("c", {}, None, token=2))
    background.do(FenceProducers("c", 1, {}, token=3))
    background.do(ExamineSkip("c", {}, "t", 0, ((0, 0),), None, token=4))
    until(lambda: len(outcomes) == 4, "all are given up")
    errors = {outcome.token: str(outcome.error) for outcome in outcomes}
    assert all(isinstance(outcome.error, TimeoutError) for outcome in outcomes)
    assert errors == {
        1: "Validation of the configuration has not ended within 0.2 s.",
        2: "Access to the offsets of connector c has not ended within 0.2 s.",
        3: "Fencing of the tasks of connector c has not ended within 0.2 s.",
        4: "The check of the records that connector c is to skip has not ended within 0.2 s.",
    }


def test_an_access_to_offsets_that_never_calls_back_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_offsets, "TIMEOUT_S", 0.1)
    with pytest.raises(TimeoutError, match="could not be accessed within"):
        worker_offsets.await_result(lambda done: None)


def test_a_call_that_nobody_waits_for_any_more_gives_its_thread_back(go: threading.Event) -> None:
    """A task's run may end while its committed offsets are still being read."""
    threads, begun, ran = ConnectorThreads(1), threading.Event(), list[str]()

    def call() -> str:
        begun.set()
        go.wait()
        return "read"

    async def cancelled() -> None:
        waiting = asyncio.wrap_future(threads.submit("one", call))
        await asyncio.to_thread(begun.wait)
        waiting.cancel()
        await asyncio.wait({waiting})

    asyncio.run(cancelled())
    unwanted = threads.submit("one", lambda: ran.append("unwanted"))
    next_one = threads.submit("one", lambda: ran.append("next"))
    unwanted.cancel()
    go.set()
    next_one.result(SECONDS)
    assert ran == ["next"]


def test_the_process_ends_while_plugins_hang() -> None:
    program = """
import threading
from penstock.threads import ConnectorThreads, Threads
never = threading.Event()
Threads().submit(never.wait)
for _ in range(100):
    ConnectorThreads(4).submit("c", never.wait)
print("ends")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=True)
    assert ended.stdout == "ends\n"
