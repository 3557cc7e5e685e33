"""Spark's driver as the worker sees it: a child process that is started, spoken to, and started again when it has died.

It is a process of its own so that REST and heartbeats never wait for Spark's interpreter lock, and so that Spark's
death is an event and not the worker's. Everything here runs in the loop of ``HostedTasks``.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.core.model.tasks import SparkDied, SparkReady
from penstock.spark.admission import receive
from penstock.spark.channel import LIMIT, Message, encode
from penstock.spark.process import Process
from penstock.spark.settings import environment
from penstock.spark.slots import slots

log = logging.getLogger(__name__)

BACKOFF = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before the first, second, ... start after a death; the first again after Spark has lived for a minute."""
SETTLED = 60.0
JAVA_ENDS = 2.0
"""Seconds in which Java has to end after its driver."""


@dataclass(frozen=True, slots=True)
class JobEnd:
    """A job is over: it has done its work, or failed, or ``driver_died`` and took it along."""

    error: str | None = None
    driver_died: bool = False


class DriverSupervisor:
    """Keeps one driver running: that of hosted tasks, or that of ``queries``."""

    def __init__(
        self, conf: Mapping[str, str], deliver: Callable[[SparkReady | SparkDied], None], queries: bool = False
    ) -> None:
        self.conf = conf
        self.state = "Spark is starting for queries" if queries else "Spark is starting"
        """Why there is no Spark, for people."""
        self.up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done while jobs can be submitted; replaced when the driver has died."""
        self.news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when ``state`` has changed; replaced by then."""
        self._deliver = deliver
        self._jobs: dict[str, asyncio.Future[JobEnd]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._java: Process | None = None
        self._queries = queries
        self._closing = False
        self._killed = ""
        """Why it was killed, in this life of it."""

    @property
    def process_id(self) -> int | None:
        return None if self._child is None else self._child.pid

    @property
    def java_id(self) -> int | None:
        """Of the process of Spark's JVM."""
        return None if self._java is None else self._java.pid

    @property
    def groups(self) -> frozenset[str]:
        """The job groups of the jobs that have not ended."""
        return frozenset(self._jobs)

    async def keep(self) -> None:
        """Run Spark's driver, again and again, until ``close``."""
        loop = asyncio.get_running_loop()
        deaths = 0
        while not self._ending():
            began = loop.time()
            try:
                reason = await self._once()
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
            log.error("%s It is started again in %g s.", reason, pause)
            self._deliver(SparkDied(reason, self._queries))
            for job in self._jobs.values():
                job.set_result(JobEnd(reason, driver_died=True))
            self._jobs.clear()
            await asyncio.sleep(pause)

    def submit(self, group: str, description: str, payload: Message, query: bool = False) -> asyncio.Future[JobEnd]:
        """Only while ``up`` is done. The future gets a result whatever happens. A ``query`` runs in the driver."""
        job = self._jobs[group] = asyncio.get_running_loop().create_future()
        self._say(
            {"do": "query" if query else "submit", "group": group, "description": description, "payload": payload}
        )
        return job

    def cancel(self, group: str) -> None:
        if group in self._jobs:
            self._say({"do": "cancel", "group": group})

    def show(self, group: str, values: Mapping[str, float]) -> None:
        """Show totals with the job of this group, if Spark's UI is on."""
        if self.conf["spark.ui.enabled"] == "true" and group in self._jobs:
            self._say({"do": "counts", "group": group, "values": dict(values)})

    def kill(self, reason: str) -> None:
        """End Spark by force, with all that runs on it; then it is started again."""
        if self._child is not None and self._child.poll() is None:
            self._killed = reason
            log.error("%s Spark's driver (process %d) is killed.", reason, self._child.pid)
            self._child.kill()

    async def close(self, timeout: float) -> None:
        """End Spark: asked for, after ``timeout`` seconds by force."""
        self._closing = True
        self._say({"do": "stop"})
        if self._child is not None:
            try:
                await asyncio.to_thread(self._child.wait, timeout)
            except subprocess.TimeoutExpired:
                self._child.kill()
                await asyncio.to_thread(self._child.wait)
        await self._end_java(JAVA_ENDS)

    async def _end_java(self, patience: float) -> None:
        """Java sees that its driver is gone, and ends; it may be past seeing anything."""
        if self._java is not None and not await self._java.ended(patience):
            self._java.kill()
            await self._java.ended(JAVA_ENDS)

    async def _once(self) -> str:
        """One life of a driver; the answer tells how it ended."""
        ours, theirs = socket.socketpair()
        env = await asyncio.to_thread(environment, self.conf)
        kind = "queries" if self._queries else "hosted"
        self._killed = ""
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "penstock.spark.driver", str(theirs.fileno()), kind],
                pass_fds=(theirs.fileno(),),
                env=env,
                stdin=subprocess.DEVNULL,
                # Ctrl-C on the worker's terminal is the worker's: it stops the tasks first.
                start_new_session=True,
            )
        finally:
            theirs.close()
        reader, self._writer = await asyncio.open_connection(sock=ours)
        self._say({"do": "start", "conf": dict(self.conf), "warm_up": not self._queries})
        reason = ""
        try:
            while True:
                message = await receive(reader, LIMIT)
                match message["say"]:
                    case "java":
                        self._java = Process.open(message["pid"])
                    case "ready":
                        self.up.set_result(None)
                        self._deliver(SparkReady(slots(self.conf), self._queries))
                    case "ended" if message["group"] in self._jobs:
                        self._jobs.pop(message["group"]).set_result(JobEnd(message["error"]))
                    case "died":
                        reason = message["reason"]
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            if self.up.done():
                self.up = asyncio.get_running_loop().create_future()
            self._writer.close()
            self._child.kill()
            code = await asyncio.to_thread(self._child.wait)
        if self._queries:
            # What a query writes is written by Java: the query has not ended before.
            await self._end_java(0.0 if self._killed else JAVA_ENDS)
        return self._killed or reason or f"Spark's driver (process {self._child.pid}) {_ended(code)}."

    def _tell(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.news.set_result(None)
            self.news = asyncio.get_running_loop().create_future()

    def _ending(self) -> bool:
        return self._closing

    def _say(self, message: Message) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(message))


def _ended(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
