"""The tasks that this worker hosts on Spark: the worker's loop starts, pauses and stops them, and gets their events.

Hosted tasks and queries have a Spark application each, so that a query that fills the memory of its Java, or has to be
killed, takes no hosted task with it. That of queries is started with the first query.

In Java a task is a thread of its ``Worker``, which sees the thread end. Here a task is a process, perhaps on another
machine, and the end of its Spark job is not its end; ``run.hosted_run.HostedRun`` is one run of a task. All of it
happens in one thread with an event loop, so nothing here needs a lock; the worker's loop and this one only exchange
messages.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import math
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from penstock.core.config.internal_topics import InternalTopics
from penstock.core.model.tasks import SparkDied, SparkFigures, SparkReady, TaskChange, TaskEnded, TaskId, TaskReport
from penstock.embedded import EmbeddedError
from penstock.kafka.group.member_log import MemberLog, MemberMemory
from penstock.kafka.group.removal import MemberRemoval
from penstock.pipeline.task import TaskSpec
from penstock.spark.admission import Link, Reception
from penstock.spark.channel import RefusedError
from penstock.spark.messages.driver import JudgeSql, SampleSource, SourceSampled
from penstock.spark.messages.task import AdmittedTask, LogLevelCommand, TaskIdentity
from penstock.spark.run.gate import RunGate, RunResources
from penstock.spark.run.hosted_run import HostedRun
from penstock.spark.run.log_writer import TaskLogWriter
from penstock.spark.run.sharing import MANY, TaskProcesses
from penstock.spark.settings import HostSettings
from penstock.spark.supervisor import DriverSupervisor
from penstock.spark.task_exit import FOLDER, ExitStatuses, OutOfMemoryKills
from penstock.spark.tls import identity
from penstock.threads import in_thread

log = logging.getLogger(__name__)

SPARK_ENDS = 10.0
"""Seconds that Spark has at least to end its Java and remove its files, even if tasks took all the time."""

JUDGE_S = 10.0
"""Seconds that a validation waits for what Spark says of ``sql``."""

Deliver = Callable[[TaskChange | TaskReport | SparkReady | SparkFigures | SparkDied], None]


class HostedTasks:
    """The tasks on Spark. Any thread may call every method; all but ``close`` and ``judge_sql`` return at once."""

    def __init__(self, settings: HostSettings, deliver: Deliver, members: MemberLog | None = None) -> None:
        """``deliver`` is called from a thread of this object with every event and must return at once. ``members``
        keeps the members of consumer groups that tasks have been, by default in memory. Raises ConfigError.
        """
        self.settings = settings
        self._conf, self._query_conf = settings.conf(), settings.query_conf()
        self._capacity = settings.hosted_slots(self._conf)
        self._queries: TaskProcesses | None = None
        self._exits: ExitStatuses | None = None
        self._deliver = deliver
        self._members = MemberMemory() if members is None else members
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hosted-tasks", daemon=True)
        self._runs: dict[TaskId, HostedRun] = {}
        self._levels: dict[str, int | str] = {}
        self.revocation_left: Callable[[], float] = lambda: math.inf
        """Returns the seconds that are left to stop what the group has revoked. Set before ``start``."""

    def start(self) -> None:
        """Start Spark, which is ready when ``SparkReady`` is delivered. Called once.

        Raises OSError if there is no port to listen on.
        """
        if self.settings.local:
            self._exits = ExitStatuses()
            self._conf[f"spark.executorEnv.{FOLDER}"] = str(self._exits.folder)
        own = "127.0.0.1" if self.settings.local else "0.0.0.0"
        listening = socket.create_server((own, 0), backlog=1024)
        host = own if self.settings.local else self.settings.advertised_host or socket.getfqdn()
        self._thread.start()
        self._call(self._begin, listening, (host, listening.getsockname()[1]))

    def run(self, spec: TaskSpec, gate: RunGate | None = None) -> None:
        """Start a run of a task.

        ``TaskWaiting`` is delivered until it is admitted, then the events of the task, and whatever happens
        ``TaskEnded`` at last. Without a ``gate`` the task begins with ``spec`` as soon as its process is ready.
        """
        self._call(self._run, spec, gate)

    def pause(self, id: TaskId) -> None:
        self._call(self._steer, id, HostedRun.pause)

    def resume(self, id: TaskId) -> None:
        self._call(self._steer, id, HostedRun.resume)

    def reset_topics(self, id: TaskId) -> None:
        """Forget the active topics: ``TopicSeen`` is delivered again for topics used from now on."""
        self._call(self._steer, id, HostedRun.reset_topics)

    def stop(self, id: TaskId, timeout: float | None = None) -> None:
        """Ask a task to end; after ``timeout`` seconds (``task.shutdown.graceful.timeout.ms`` if None) it is
        cancelled.
        """
        patience = self.settings.graceful if timeout is None else timeout
        self._call(self._steer, id, lambda run: run.stop(patience))

    def log_level(self, logger: str, level: int | str) -> None:
        """Set a logger's level, as Python names or numbers it, in running and future tasks."""
        self._call(self._log_level, logger, level)

    def internal_topics(self, topics: InternalTopics) -> None:
        """Tell running tasks which topics are internal now; future ones have them in their ``TaskSpec``."""
        self._call(self._internal_topics, topics)

    def sample(self, spec: TaskSpec, limit: int, seconds: float) -> concurrent.futures.Future[SourceSampled]:
        """Read records of a source whose task is a query; start the application of queries if there is none.

        ``seconds``: how long to wait for records, once that runs.
        """
        return asyncio.run_coroutine_threadsafe(self._sample(spec, limit, seconds), self._loop)

    def judge_sql(self, sql: str, functions: Collection[str], options: Collection[str]) -> str | None:
        """Return why ``sql`` of a connector is refused, as a sentence; None also if no application of queries runs, or
        does not answer: the task then judges it when it starts. Blocks for JUDGE_S at most; not called by the loop.
        """
        if not self._thread.is_alive():
            return None
        judging = asyncio.run_coroutine_threadsafe(self._judge(sql, list(functions), list(options)), self._loop)
        try:
            return judging.result(JUDGE_S)
        except (TimeoutError, concurrent.futures.CancelledError):
            judging.cancel()
            return None

    def close(self, timeout: float) -> None:
        """Stop all tasks, end Spark; nothing is left running. Blocks for ``timeout`` seconds at most while tasks end,
        then for SPARK_ENDS at most while Spark does, and some more to kill.
        """
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._close(timeout), self._loop).result()
            self._shared.logs.close()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()
        if self._exits is not None:
            self._exits.close()

    # For tests; another thread sees it change.

    @property
    def address(self) -> tuple[str, int]:
        """Address that tasks connect to."""
        return self._shared.address

    @property
    def driver(self) -> DriverSupervisor:
        """Driver of the application of hosted tasks."""
        return self._processes.driver

    @property
    def query_driver(self) -> DriverSupervisor | None:
        """Driver of the application of queries; None until the first query."""
        return None if self._queries is None else self._queries.driver

    @property
    def runs(self) -> Mapping[TaskId, HostedRun]:
        """The runs that have not ended."""
        return MappingProxyType(self._runs)

    # From here on everything runs in the thread of the event loop.

    def _begin(self, listening: socket.socket, address: tuple[str, int]) -> None:
        many = MANY if self.settings.local else sys.maxsize
        self._processes = TaskProcesses(DriverSupervisor(self._conf, self._deliver), many)
        capacity = self._capacity
        free = asyncio.Semaphore(capacity)
        own = identity()
        self._shared = RunResources(
            self.settings,
            address,
            own.fingerprint,
            free,
            capacity,
            self._deliver,
            self._exits,
            OutOfMemoryKills(),
            MemberRemoval(),
            self._members,
            TaskLogWriter(self._loop),
            lambda: self.revocation_left(),
        )
        self._driving = {self._loop.create_task(self._processes.driver.keep())}
        reception = Reception(own, self._key_of, self._ready, self._admit)
        self._serving = self._loop.create_task(reception.serve(listening))

    def _key_of(self, who: TaskIdentity) -> str | None:
        run = self._runs.get(_id(who))
        return run.key or None if run is not None else None

    def _ready(self, who: TaskIdentity) -> asyncio.Future[Any] | None:
        run = self._runs.get(_id(who))
        return run.ready() if run is not None else None

    def _admit(self, who: TaskIdentity, link: Link) -> AdmittedTask:
        run = self._runs.get(_id(who))
        if run is None:
            raise RefusedError(f"task {_id(who)} is not run by this worker")
        return AdmittedTask(run.admit(who, link), self.settings.lease, dict(self._levels))

    def _run(self, spec: TaskSpec, gate: RunGate | None) -> None:
        id = TaskId(spec.connector, spec.task)
        before = self._runs.get(id)
        processes = self._driver_of_queries() if spec.kind == "query" else self._processes
        run = self._runs[id] = HostedRun(spec, self._shared, processes, gate)
        run.living = self._loop.create_task(self._live(run, before))

    def _driver_of_queries(self) -> TaskProcesses:
        if self._queries is None:
            driver = DriverSupervisor(self._query_conf, self._deliver, queries=True)
            self._queries = TaskProcesses(driver)
            self._driving.add(self._loop.create_task(driver.keep()))
        return self._queries

    async def _sample(self, spec: TaskSpec, limit: int, seconds: float) -> SourceSampled:
        group = f"preview-{uuid.uuid4()}"
        try:
            jars = await in_thread(self.settings.query_jars)
        except EmbeddedError as error:
            return SourceSampled(group, error=str(error))
        driver = self._driver_of_queries().driver
        await asyncio.shield(driver.up)
        return await driver.sample(SampleSource(group, spec, limit, seconds, jars))

    async def _judge(self, sql: str, functions: list[str], options: list[str]) -> str | None:
        driver = self.query_driver
        if driver is None or not driver.up.done():
            return None
        try:
            jars = await in_thread(self.settings.query_jars)
        except EmbeddedError:
            return None
        if not driver.up.done():
            return None
        return (await driver.judge(JudgeSql(f"sql-{uuid.uuid4()}", sql, functions, options, jars))).problem

    async def _live(self, run: HostedRun, before: HostedRun | None) -> None:
        if before is not None:
            run.reports.waiting(f"Run {before.spec.run} of the task has not ended yet")
            await asyncio.wait({before.living})
        try:
            await run.live()
        except Exception as error:
            log.exception("Hosting task %s has failed", run.id)
            run.reports.failed(f"Hosting the task has failed: {error!r}")
        finally:
            if self._runs.get(run.id) is run:
                del self._runs[run.id]
            self._deliver(TaskEnded(run.id, run.spec.run))

    def _steer(self, id: TaskId, action: Callable[[HostedRun], None]) -> None:
        if (run := self._runs.get(id)) is not None:
            action(run)

    def _log_level(self, logger: str, level: int | str) -> None:
        self._levels[logger] = level
        for run in self._runs.values():
            run.send(LogLevelCommand(logger, level))

    def _internal_topics(self, topics: InternalTopics) -> None:
        for run in self._runs.values():
            run.internal_topics(topics)

    async def _close(self, timeout: float) -> None:
        deadline = self._loop.time() + timeout
        lives = {run.living for run in self._runs.values()}
        for run in self._runs.values():
            run.stop(min(self.settings.graceful, timeout))
        if lives:
            await asyncio.wait(lives, timeout=timeout)
        for run in self._runs.values():
            run.kill()
        # Tasks on other machines end when they lose contact with the worker.
        applications = [each for each in (self._processes, self._queries) if each is not None]
        left = max(SPARK_ENDS, deadline - self._loop.time())
        await asyncio.gather(*(each.driver.close(left) for each in applications))
        if lives:
            await asyncio.wait(lives, timeout=1.0)
        self._serving.cancel()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> concurrent.futures.Future[Any] | None:
        self._loop.call_soon_threadsafe(function, *arguments)
        return None


def _id(who: TaskIdentity) -> TaskId:
    return TaskId(who.connector, who.task)
