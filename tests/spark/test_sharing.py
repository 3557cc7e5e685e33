"""Tasks that share a process: their selection, and how they are started in it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.hosts.jvm.tasks.source_task import JavaSourceTask
from penstock.spark.messages.task import HostCommand, TaskIdentity, TaskSubmission, WorkerMessage
from penstock.spark.run import sharing
from penstock.spark.run.process import TaskProcess
from penstock.spark.run.sharing import Company, TaskProcesses
from penstock.spark.run.task_threads import TaskThreads
from penstock.spark.supervisor import JobEnd
from penstock.spark.task_exit import OutOfMemoryKills
from support.spark.host import make_spec

TWO = {"penstock.tasks.per.process": "2"}


class Application:
    """Stands for a driver: it records the starts that it is asked for."""

    def __init__(self) -> None:
        self.jobs: dict[str, asyncio.Future[JobEnd]] = {}
        self.submissions: dict[str, TaskSubmission] = {}
        self.cancelled: list[str] = []
        self.killed: list[str] = []

    def submit(self, group: str, description: str, task: TaskSubmission, query: bool) -> asyncio.Future[JobEnd]:
        job = self.jobs[group] = asyncio.get_running_loop().create_future()
        self.submissions[group] = task
        return job

    def admitted(self, group: str) -> None: ...

    def cancel(self, group: str) -> None:
        self.cancelled.append(group)

    def kill(self, reason: str) -> None:
        self.killed.append(reason)


class Channel:
    def __init__(self) -> None:
        self.sent: list[WorkerMessage] = []

    def send(self, message: WorkerMessage) -> None:
        self.sent.append(message)


def submission(connector: str = "c", task: int = 0, shared: bool = False) -> TaskSubmission:
    return TaskSubmission(("h", 1), "f" * 64, "k" * 64, TaskIdentity(connector, task, 1), shared=shared)


def of(worker: Mapping[str, str], connector: Mapping[str, str], **more: Any) -> Company | None:
    spec = replace(make_spec(), worker_config=dict(worker), connector_config=dict(connector), **more)
    return Company.of(spec)


def test_a_connectors_own_limit_counts_instead_of_the_workers() -> None:
    assert of({}, {}) == Company("loops:Ticker", sharing.SHARED_BY_MANY, wanted=False)
    assert of(TWO, {}) == Company("loops:Ticker", 2)
    assert of(TWO, {"penstock.tasks.per.process": "1"}) is None
    assert of({}, {"penstock.tasks.per.process": "9"}) == Company("loops:Ticker", 9)


@pytest.mark.parametrize("given", ["many", "0", "1.5"])
def test_a_limit_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match=f"Invalid value {given} for configuration penstock.tasks.per.process"):
        of({}, {"penstock.tasks.per.process": given})


def test_queries_and_tasks_with_an_environment_of_their_own_share_none() -> None:
    assert of(TWO, {}, kind="query") is None
    assert of(TWO, {}, environment={"folder": "/e"}) is None
    assert of({}, {}, environment={"folder": "/e"}) is None


def test_tasks_of_jars_share_only_where_that_is_asked_for() -> None:
    jar = f"{JavaSourceTask.__module__}:{JavaSourceTask.__qualname__}"  # the name of the task class of jars
    assert of({}, {}, task_class=jar) is None
    assert of(TWO, {}, task_class=jar) == Company(jar, 2)


def test_who_comes_into_which_process() -> None:
    async def story() -> None:
        driver: Any = Application()
        processes = TaskProcesses(driver)
        pair, others = Company("m:Task", 2), Company("m:Other", 2)
        jobs = {g: processes.submit(g, g, submission(g), pair) for g in ("a", "b", "c")}
        processes.submit("other", "other", submission("other"), others)
        processes.submit("alone", "alone", submission("alone"), None)
        assert driver.submissions == {
            "a": submission("a", shared=True),
            "c": submission("c", shared=True),
            "other": submission("other", shared=True),
            "alone": submission("alone"),
        }
        # A waiting task may leave; the second waits for the first, which brings it.
        processes.submit("x", "x", submission("x"), pair)
        assert "x" not in driver.submissions
        processes.leave("x")
        a, b, d = Channel(), Channel(), Channel()
        processes.admitted("a", a)  # type: ignore[arg-type]
        assert a.sent == []  # the answer to its admission has to be sent first
        await asyncio.sleep(0)
        assert a.sent == [HostCommand("b", submission("b"))]
        assert not processes.has_others("a")
        # The first ends before the second has arrived: the second starts again, in another shared process or its own.
        assert not processes.channel_closed("a").open
        processes.leave("a")
        assert (await jobs["b"]).again
        jobs["b"] = processes.submit("b", "b", submission("b"), pair)
        assert "b" not in driver.submissions
        c = Channel()
        processes.admitted("c", c)  # type: ignore[arg-type]
        processes.admitted("b", b)  # type: ignore[arg-type]
        # There is room when any task has ended.
        assert processes.channel_closed("c").carrier == "b"
        processes.leave("c")
        processes.submit("d", "d", submission("d"), pair)
        assert b.sent == [HostCommand("d", submission("d"))]
        # A task that has not arrived cannot end the process; one that runs in it can.
        processes.cancel("d")
        assert driver.cancelled == []
        processes.admitted("d", d)  # type: ignore[arg-type]
        assert processes.has_others("d")
        processes.cancel("d")
        assert driver.cancelled == ["c"]
        driver.jobs["c"].set_result(JobEnd("killed"))
        assert (await jobs["b"]).error == "killed"

    asyncio.run(story())


def test_without_a_limit_only_further_tasks_of_many_share() -> None:
    async def story() -> None:
        driver: Any = Application()
        processes = TaskProcesses(driver, many=2)
        by_default, pair = Company("m:Task", 2, wanted=False), Company("m:Task", 2)
        for group in "abcd":  # b begins its own process, although a's might have room
            processes.submit(group, group, submission(group), by_default)
        assert driver.submissions == {"a": submission("a"), "b": submission("b"), "c": submission("c", shared=True)}
        assert not processes.has_others("a")
        # A task that requests it shares at once, but only with tasks that request the same.
        for group in "ef":
            processes.submit(group, group, submission(group), pair)
        assert list(driver.submissions) == ["a", "b", "c", "e"]
        # As soon as there are few tasks again, a new one has its own process.
        for group in "bcdef":
            processes.leave(group)
        processes.submit("g", "g", submission("g"), by_default)
        processes.submit("h", "h", submission("h"), by_default)
        assert driver.submissions["g"] == submission("g")
        assert driver.submissions["h"] == submission("h", shared=True)

    asyncio.run(story())


def test_a_process_that_does_not_begin_is_no_loss_of_those_that_wait_for_it() -> None:
    async def story() -> None:
        driver: Any = Application()
        processes = TaskProcesses(driver)
        pair = Company("m:Task", 2)
        first, second = (processes.submit(g, g, submission(), pair) for g in "ab")
        driver.jobs["a"].set_result(JobEnd("it can't be started"))
        assert (await first).error == "it can't be started"
        assert (await second).again
        # Tasks that wait when Spark ends start again on the next Spark.
        third, fourth = (processes.submit(g, g, submission(), pair) for g in "ab")
        driver.jobs["a"].set_result(JobEnd("gone", driver_died=True))
        assert (await third).driver_died
        assert (await fourth).driver_died

    asyncio.run(story())


def test_spark_is_killed_only_when_none_of_its_processes_comes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "TICK", 0.01)
    monkeypatch.setattr(sharing, "OVERDUE", 3)

    async def story() -> None:
        driver: Any = Application()
        processes = TaskProcesses(driver)
        never = asyncio.get_running_loop().create_future()

        async def looks(group: str) -> int:
            """Return the number of checks until the task is overdue."""
            count = 0

            def due() -> bool:
                nonlocal count
                count += 1
                return True

            assert not await processes.wait_for_process(group, {never}, due)
            return count

        trio = Company("m:Task", 3)
        for group in ("a", "b", "c"):
            processes.submit(group, group, submission(), trio)
        processes.submit("alone", "alone", submission(), None)
        waiting = asyncio.create_task(looks("b"))
        assert await asyncio.gather(looks("a"), looks("alone")) == [3, 3]
        assert driver.killed == [], "they were asked for at the same time"
        assert not waiting.done(), "it waits for the first of its process, which may be there"
        await asyncio.sleep(0.05)
        assert await looks("a") == 3
        assert len(driver.killed) == 1
        assert await looks("a") == 6, "after a kill it may need longer"
        # It arrives, and is admitted later: no task that it brings causes Spark to be killed.
        processes.connected("a")
        assert await looks("alone") == 3
        processes.admitted("a", Channel())  # type: ignore[arg-type]
        await waiting
        await asyncio.sleep(0.05)
        assert await looks("c") == 3
        assert len(driver.killed) == 1

    asyncio.run(story())


def test_a_task_that_can_not_be_begun_where_it_was_brought_does_not_wait_for_ever() -> None:
    async def story() -> None:
        driver: Any = Application()
        processes = TaskProcesses(driver)
        trio, a, b = Company("m:Task", 3), Channel(), Channel()
        _, second, third = (processes.submit(g, g, submission(), trio) for g in "abc")
        processes.admitted("a", a)  # type: ignore[arg-type]
        await asyncio.sleep(0)
        processes.could_not_begin("another", "b", "too late")
        processes.could_not_begin("a", "nobody", "it has left")
        processes.could_not_begin("a", "b", "TimeoutError: timed out")
        assert (await second).error == "TimeoutError: timed out"
        processes.admitted("c", b)  # type: ignore[arg-type]
        processes.could_not_begin("a", "c", "it has begun")
        assert not third.done()

    asyncio.run(story())


def test_a_thread_is_one_of_the_task_that_starts_it_and_has_no_batch_of_it() -> None:
    """Runs in a separate process, since it changes how all threads of a process start."""
    code = """
import logging, threading
from concurrent.futures import ThreadPoolExecutor
from penstock.pipeline.telemetry.traces import current_ids
from penstock.spark.run.task_threads import OfTask, inherit_task

def look():
    print([each.filter(logging.makeLogRecord({})) for each in tasks], current_ids.get())

def run(target):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()

def task():
    tasks.append(OfTask())
    current_ids.set({"trace_id": "of a batch"})
    run(look)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(look).result()

tasks = []
inherit_task()
for _ in range(2):
    run(task)
look()
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    first, second, neither = "[True] {}", "[False, True] {}", "[False, False] {}"
    assert out.splitlines() == [first, first, second, second, neither]


def test_why_a_task_could_not_begin_is_told() -> None:
    def run(submission: TaskSubmission) -> None:
        raise ConnectionRefusedError(submission.identity.task)

    threads, failures = TaskThreads(run), list[Exception]()
    for task in range(2):
        threads.begin(submission(task=task), failures.append)
    threads.wait()
    assert sorted(each.args for each in failures) == [(0,), (1,)]


def test_a_process_that_goes_on_is_let_go() -> None:
    async def story() -> None:
        process, before = TaskProcess(None, OutOfMemoryKills()), len(os.listdir("/proc/self/fd"))
        process.admitted(os.getpid())
        assert process.pid == os.getpid()
        for _ in range(2):
            process.left()
            assert process.pid is None
        assert len(os.listdir("/proc/self/fd")) == before

    asyncio.run(story())
