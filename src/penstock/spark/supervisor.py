"""Spark's driver as the worker sees it: a child process that gets commands, and is started again when it has died.

It is a process of its own so that REST and heartbeats never wait for Spark's interpreter lock, and so that Spark's
death is an event and not the worker's. Everything here runs in the loop of ``HostedTasks``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

import msgspec

from penstock.core.model.tasks import SparkDied, SparkFigures, SparkReady
from penstock.embedded.home import EmbeddedError
from penstock.spark.channel import LIMIT
from penstock.spark.messages.driver import (
    COMMANDS,
    EVENTS,
    CancelJob,
    DriverCommand,
    DriverEnding,
    DriverEvent,
    DriverPong,
    JavaStarted,
    JobEnded,
    JudgeSql,
    PingDriver,
    SampleSource,
    ShowTotals,
    SourceSampled,
    SparkStarted,
    SqlJudged,
    StartSpark,
    StopSpark,
    SubmitQuery,
    SubmitTask,
)
from penstock.spark.messages.task import TaskSubmission
from penstock.spark.output import OutputCopy
from penstock.spark.run.process import Process
from penstock.spark.settings import environment, slots
from penstock.wire.framing import frame, read_frame
from penstock.wire.messages import MessageError

log = logging.getLogger(__name__)

BACKOFF = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before the first, second, ... start after a death; the first again after Spark has lived for a minute."""
SETTLED = 60.0
JAVA_ENDS = 2.0
"""Seconds in which Java has to end after its driver."""
PING = 2.0
"""Seconds between two pings, which Spark answers at once."""
UNANSWERED = 15
"""Pings without an answer after which a Spark that has something to do is killed."""
START = 120.0
"""Seconds that a local Spark may take to start; one on a cluster waits for its place there as long as it takes."""
START_DOUBLINGS = 3
"""Maximum number of times that START is doubled, after each start that took too long: the machine may be busy."""


LAST_LINES = 0.5
"""Seconds that the last lines of Spark may take."""


@dataclass(frozen=True, slots=True)
class JobEnd:
    """A job is over: it has done its work, or failed, or ``driver_died`` and took it along.

    ``again``: it has not begun, and is to be submitted again.
    """

    error: str | None = None
    driver_died: bool = False
    again: bool = False


class DriverSupervisor:
    """Starts one driver, of hosted tasks or of queries, sends it commands, and starts it again when it has died."""

    def __init__(
        self,
        conf: Mapping[str, str],
        deliver: Callable[[SparkReady | SparkFigures | SparkDied], None],
        queries: bool = False,
    ) -> None:
        self.conf = conf
        self.state = "Spark is starting for queries" if queries else "Spark is starting"
        """Sentence that says why Spark is not available."""
        self.up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done while jobs can be submitted; replaced when the driver has died."""
        self.news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when ``state`` has changed; replaced by then."""
        self._deliver = deliver
        self._jobs: dict[str, asyncio.Future[JobEnd]] = {}
        self._samples: dict[str, asyncio.Future[SourceSampled]] = {}
        self._judgements: dict[str, asyncio.Future[SqlJudged]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._java: Process | None = None
        self._queries = queries
        self._closing = False
        self._killed = ""
        """Why it was killed, in this life of it."""
        self._reason = ""
        """Why it ends, as it says itself, in this life of it."""
        self._slow_starts = 0
        """Number of the last starts in a row that were given up because they took too long."""
        self._waited_for: set[str] = set()
        """Groups of the jobs that Spark has been asked to start or to cancel, and has not yet."""
        self._answered = 0
        """The number of the last ping that was answered."""
        self._java_ending: asyncio.Task[None] | None = None
        self._output: tuple[OutputCopy, ...] = ()

    @property
    def process_id(self) -> int | None:
        return None if self._child is None else self._child.pid

    @property
    def java_id(self) -> int | None:
        """Process id of Spark's JVM."""
        return None if self._java is None else self._java.pid

    @property
    def groups(self) -> frozenset[str]:
        """The job groups of the jobs that have not ended."""
        return frozenset(self._jobs)

    async def keep(self) -> None:
        """Run Spark's driver, again and again, until ``close``."""
        loop = asyncio.get_running_loop()
        deaths, said = 0, ""
        while not self._ending():
            began = loop.time()
            try:
                reason = await self._once()
            except EmbeddedError as error:  # no Spark, or no Java for it; may last, and a stack says nothing more
                reason = f"Spark's driver can't be started: {error}"
            except Exception as error:
                log.exception("Spark's driver can't be started")
                reason = f"Spark's driver can't be started: {error}"
            if self._ending():
                break
            if self._queries:
                reason = f"The Spark application of queries: {reason}"
            deaths = 1 if loop.time() - began > SETTLED else deaths + 1
            pause = BACKOFF[min(deaths, len(BACKOFF)) - 1]
            self._tell(f"{reason} It is being started again.")
            if reason != said or deaths == 1:
                log.error("%s Starting it again in %g s.", reason, pause)
            said = reason
            self._deliver(SparkDied(reason, self._queries))
            for job in self._jobs.values():
                job.set_result(JobEnd(reason, driver_died=True))
            self._jobs.clear()
            for group in list(self._samples):
                self._sampled(SourceSampled(group, error=reason))
            for group in list(self._judgements):
                self._judged(SqlJudged(group))
            self._waited_for.clear()
            await asyncio.sleep(pause)

    def submit(self, group: str, description: str, task: TaskSubmission, query: bool = False) -> asyncio.Future[JobEnd]:
        """Start a task; only while ``up`` is done. The future gets a result whatever happens.

        A ``query`` runs in the driver.
        """
        job = self._jobs[group] = asyncio.get_running_loop().create_future()
        self._waited_for.add(group)
        self._send(SubmitQuery(group, task) if query else SubmitTask(group, description, task))
        return job

    def sample(self, request: SampleSource) -> asyncio.Future[SourceSampled]:
        """Read a few records of a source; only while ``up`` is done. The future gets a result whatever happens."""
        sample = self._samples[request.group] = asyncio.get_running_loop().create_future()
        self._send(request)
        return sample

    def judge(self, request: JudgeSql) -> asyncio.Future[SqlJudged]:
        """Judge the ``sql`` of a configuration; only while ``up`` is done. The future gets a result in any case."""
        judgement = self._judgements[request.group] = asyncio.get_running_loop().create_future()
        self._send(request)
        return judgement

    def admitted(self, group: str) -> None:
        """Note that the process of a job's task has been admitted: a hosted task needs Spark no more."""
        if not self._queries:
            self._waited_for.discard(group)

    def cancel(self, group: str) -> None:
        if group in self._jobs:
            self._waited_for.add(group)
            self._send(CancelJob(group))

    def show(self, group: str, values: Mapping[str, float]) -> None:
        """Show totals with the job of this group, if Spark's UI is on."""
        if self.conf["spark.ui.enabled"] == "true" and group in self._jobs:
            self._send(ShowTotals(group, dict(values)))

    def kill(self, reason: str) -> None:
        """End Spark by force, with all that runs on it; then it is started again."""
        if self._child is not None and self._child.poll() is None:
            self._killed = reason
            log.error("%s Spark's driver (process %d) is killed.", reason, self._child.pid)
            self._child.kill()

    async def close(self, timeout: float) -> None:
        """Stop Spark; after ``timeout`` seconds kill it."""
        self._closing = True
        self._send(StopSpark())
        if self._child is not None:
            try:
                await asyncio.to_thread(self._child.wait, timeout)
            except subprocess.TimeoutExpired:
                self._child.kill()
                await asyncio.to_thread(self._child.wait)
        await self._end_java(JAVA_ENDS, self._java)
        for copy in self._output:
            await asyncio.to_thread(copy.wait, LAST_LINES)

    async def _end_java(self, patience: float, java: Process | None) -> None:
        """Java sees that its driver is gone, and ends; it may be past seeing anything."""
        if java is not None and not await java.ended(patience):
            java.kill()
            await java.ended(JAVA_ENDS)

    async def _watch(self) -> None:
        """Kill a Spark that does not answer: it is frozen or hangs. Hosted tasks that run need nothing of it, so
        that is done only when one is to start or to be cancelled.
        """
        # Times are counted in pings: when this process was frozen itself, only one of them is late.
        asked, silent, starting = 0, 0, 0
        local = self.conf["spark.master"].startswith("local")
        while True:
            if self._answered == asked:
                asked, silent = asked + 1, 0
                self._send(PingDriver(asked))
            await asyncio.sleep(PING)
            silent += self._answered != asked
            starting += 1
            if self.up.done():
                starting = 0
            elif starting * PING >= (allowed := START * 2 ** min(self._slow_starts, START_DOUBLINGS)):
                # Before its first answer the driver imports its modules, on a cluster as well.
                if local or self._answered == 0:
                    self._slow_starts += 1
                    self.kill(f"Spark has not started within {allowed:g} s.")
                starting = 0
            if silent >= UNANSWERED and self._answered > 0 and (self._waited_for or not self.up.done()):
                self.kill(f"Spark has not answered for {silent * PING:g} s: it is frozen or hangs.")

    async def _once(self) -> str:
        """Run a driver until it ends; return a sentence that says how it ended."""
        env = await asyncio.to_thread(environment, self.conf)
        ours, theirs = socket.socketpair()
        theirs.setblocking(True)  # whatever a plugin has made of ``socket.setdefaulttimeout``
        kind = "queries" if self._queries else "hosted"
        self._killed, self._java, self._answered = "", None, 0
        module = "penstock.spark.driver"
        try:
            # This thread lasts until the worker has ended its tasks; the driver ends with it, see ``parent``.
            self._child = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno()), str(os.getpid()), kind],
                pass_fds=(theirs.fileno(),),
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C on the worker's terminal is the worker's: it stops the tasks first.
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self._output = (OutputCopy(self._child.stdout, 1), OutputCopy(self._child.stderr, 2))  # type: ignore[arg-type]
        reader, self._writer = await asyncio.open_connection(sock=ours)
        self._send(StartSpark(dict(self.conf), warm_up=not self._queries))
        self._reason = ""
        watching = asyncio.get_running_loop().create_task(self._watch())
        try:
            while True:
                self._heard(EVENTS.decode(await read_frame(reader, LIMIT)))
        except MessageError as error:
            self._reason = f"Spark's driver has sent an invalid message: {error}."
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            watching.cancel()
            if self.up.done():
                self.up = asyncio.get_running_loop().create_future()
            self._writer.close()
            self._child.kill()
            code = await asyncio.to_thread(self._child.wait)
        # What a query writes is written by Java: the query has not ended before. Hosted tasks are seen to end.
        ending = asyncio.get_running_loop().create_task(self._end_java(0.0 if self._killed else JAVA_ENDS, self._java))
        if self._queries or self._killed:
            await ending
        self._java_ending = ending
        return self._killed or self._reason or f"Spark's driver (process {self._child.pid}) {_ended(code)}."

    def _heard(self, event: DriverEvent) -> None:
        match event:
            case JavaStarted():
                self._java = Process.open(event.pid)
            case SparkStarted(unfit=unfit):
                self._slow_starts = 0
                self.up.set_result(None)
                self._deliver(SparkReady(slots(self.conf), self._queries, unfit))
            case DriverPong():
                self._answered = event.number
                if event.java is not None:
                    self._deliver(SparkFigures(msgspec.to_builtins(event.java), self._queries))
            case JobEnded():
                if (job := self._jobs.pop(event.group, None)) is not None:
                    self._waited_for.discard(event.group)
                    job.set_result(JobEnd(event.error))
            case SourceSampled():
                self._sampled(event)
            case SqlJudged():
                self._judged(event)
            case DriverEnding():
                self._reason = event.reason
            case _:
                assert_never(event)

    def _sampled(self, answer: SourceSampled) -> None:
        sample = self._samples.pop(answer.group)
        if not sample.done():  # nobody waits for it any more
            sample.set_result(answer)

    def _judged(self, answer: SqlJudged) -> None:
        judgement = self._judgements.pop(answer.group)
        if not judgement.done():  # nobody waits for it any more
            judgement.set_result(answer)

    def _tell(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.news.set_result(None)
            self.news = asyncio.get_running_loop().create_future()

    def _ending(self) -> bool:
        return self._closing

    def _send(self, command: DriverCommand) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(COMMANDS.encode(command)))


def _ended(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
