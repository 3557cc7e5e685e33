"""One run of a task, from its start to its certain end: ``HostedRun.live`` is the whole of it.

A run has ended when its process is known to have ended or its lease has run out, not when Spark says that its job is
over (a cancelled job was seen to work on for seconds). Only then ``TaskEnded`` is delivered, and a successor can start.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.core.config.internal_topics import InternalTopics
from penstock.core.model.tasks import TaskId
from penstock.embedded import EmbeddedError
from penstock.pipeline.task import TaskSpec
from penstock.spark.admission import Link
from penstock.spark.channel import RefusedError
from penstock.spark.messages.task import (
    AbortCommand,
    CommittedOffsetsReply,
    CommittedOffsetsRequest,
    DoneReport,
    FailedReport,
    GroupMemberReport,
    InternalTopicsCommand,
    LinesWritten,
    LogReport,
    LostReport,
    MetricsReport,
    NotHostedReport,
    PauseCommand,
    ResetTopicsCommand,
    ResumeCommand,
    StopCommand,
    TaskIdentity,
    TaskReport,
    TaskSubmission,
    WorkerCommand,
)
from penstock.spark.run.gate import NotConfirmedError, RunGate, RunResources
from penstock.spark.run.process import SETTLING, RunGroupMember, TaskProcess
from penstock.spark.run.query_end import end_of_query, seconds_among_others
from penstock.spark.run.reports import (
    LossReason,
    TaskReports,
    end_reason,
    ended_by_another,
    reason_in_company,
    silent_reason,
)
from penstock.spark.run.sharing import Company, SharedProcess, TaskProcesses
from penstock.spark.supervisor import JobEnd
from penstock.spark.task_exit import lost_with_executor
from penstock.threads import in_thread

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds between the cancellation of a hosted task's Spark job and its kill; before that, also between the command to
abort and the cancellation, if others would be lost with it. Queries: ``query_end``."""


class HostedRun:
    living: asyncio.Task[None]

    def __init__(
        self, spec: TaskSpec, shared: RunResources, processes: TaskProcesses, gate: RunGate | None = None
    ) -> None:
        """Create a run in one of the ``processes`` of a Spark application; see ``HostedTasks.run``."""
        loop = asyncio.get_running_loop()
        self.spec = spec
        self.id = TaskId(spec.connector, spec.task)
        self.key = ""
        """Key of the expected submission; a process of an earlier one can't prove that it knows this key."""
        self._shared, self._processes, self._driver = shared, processes, processes.driver
        self._group = f"{self.id}/{spec.run}"
        self._query = spec.kind == "query"
        """Whether it runs in Spark's driver: in no slot, and in no process of its own."""
        self._stop: asyncio.Future[None] = loop.create_future()
        self._admitted: asyncio.Future[Link] = loop.create_future()
        self.reports = TaskReports(self.id, spec.run, shared.deliver, self._write)
        self._process = TaskProcess(shared.exits, shared.out_of_memory)
        self._member = RunGroupMember(spec, shared.removal, shared.members, shared.settings.lease)
        self._job: asyncio.Future[JobEnd] | None = None
        self._enforcing: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._gate = gate
        self._confirmed: asyncio.Future[TaskSpec] | None = None
        """Result of the gate: what the task is admitted with; None until its process is ready."""
        self._asides: set[asyncio.Task[None]] = set()

    async def live(self) -> None:
        """Run the task; return when nothing of this run works anywhere, and nothing ever will."""
        placed = False
        try:
            placed = self._query or await self._slot()
            if placed:
                job = await self._submit()
                if self._admitted.done():
                    await self._attend(self._admitted.result(), job)
        finally:
            if placed and not self._query:
                self._shared.free.release()
            self._processes.leave(self._group)
            for aside in (*self._asides, self._enforcing, self._ending):
                if aside is not None:
                    aside.cancel()

    @property
    def admitted(self) -> bool:
        return self._admitted.done()

    @property
    def process_id(self) -> int | None:
        """Process id of an admitted task that has a process of its own on this machine, else None."""
        return self._process.pid

    # Called for the worker.

    def pause(self) -> None:
        self.spec = replace(self.spec, paused=True)
        self.send(PauseCommand())

    def resume(self) -> None:
        self.spec = replace(self.spec, paused=False)
        self.send(ResumeCommand())

    def reset_topics(self) -> None:
        self.spec = replace(self.spec, known_topics=())
        self.send(ResetTopicsCommand())

    def internal_topics(self, topics: InternalTopics) -> None:
        self.spec = replace(self.spec, internal_topics=topics)
        self.send(InternalTopicsCommand(topics))

    def stop(self, patience: float) -> None:
        if not self._stop.done():
            self._stop.set_result(None)
            self.send(StopCommand())
        if self._enforcing is None or patience == 0:
            if self._enforcing is not None:
                self._enforcing.cancel()
            self._enforcing = asyncio.get_running_loop().create_task(self._enforce_stop(patience))

    def kill(self) -> None:
        """End the run by force. A query's work can't be separated from other queries of its application: all end."""
        if self._process.pid is not None:
            self._process.kill()
        elif self._query and self._job is not None and not self._job.done():
            self._driver.kill(f"Query {self.id} did not end when it was stopped.")
        elif self._admitted.done():
            self._admitted.result().abandon()

    def send(self, command: WorkerCommand) -> None:
        if self._admitted.done():
            self._admitted.result().send(command)

    # Called for the task's process.

    def ready(self) -> asyncio.Future[TaskSpec]:
        """Ask whether the task may begin. Called when its process is ready."""
        if self._confirmed is None:
            self._processes.connected(self._group)
            self._confirmed = asyncio.get_running_loop().create_future()
            if self._gate is None:
                self._confirmed.set_result(self.spec)
            else:
                self._confirmed = asyncio.wrap_future(self._gate.admit())
                self._confirmed.add_done_callback(self._decided)
        return self._confirmed

    def admit(self, who: TaskIdentity, link: Link) -> TaskSpec:
        """Admit the process ``who``. Raises RefusedError unless it is the expected one."""
        if who.run != self.spec.run:
            raise RefusedError(f"run {who.run} of task {self.id} is over, run {self.spec.run} is expected")
        if who.attempt != 0:
            raise RefusedError(f"attempt {who.attempt} of task {self.id}: Spark started it a second time")
        if self._admitted.done():
            raise RefusedError(f"run {self.spec.run} of task {self.id} has been admitted already")
        if self._stop.done():
            raise RefusedError(f"run {self.spec.run} of task {self.id} has been stopped")
        if self._confirmed is None or not self._confirmed.done() or self._confirmed.exception() is not None:
            raise RefusedError(f"run {self.spec.run} of task {self.id} may not begin")
        if self._job is None or self._job.done():
            raise RefusedError(f"the process of run {self.spec.run} of task {self.id} has been given up")
        if self._shared.settings.local and not self._query:
            self._process.admitted(who.pid)
        self._admitted.set_result(link)
        self._processes.admitted(self._group, link)
        return replace(self._confirmed.result(), paused=self.spec.paused, known_topics=self.spec.known_topics)

    def _decided(self, confirmed: asyncio.Future[Any]) -> None:
        if not confirmed.cancelled() and (error := confirmed.exception()) is not None and not self._stop.done():
            self._refused(error)

    def _refused(self, error: BaseException) -> None:
        """End the run: the task may not begin, or something that it needs is missing."""
        if isinstance(error, NotConfirmedError):
            self.reports.lost(str(error))
        else:
            self.reports.raised(error)
        self.stop(0.0)

    async def _send_offsets(self) -> None:
        """Send the committed offsets. The producer has fenced all older ones: these are certainly the last."""
        try:
            offsets = self.spec.offsets
            if self._gate is not None:
                offsets = await asyncio.wrap_future(self._gate.committed_offsets())
        except Exception as error:
            if self._stop.done():
                self.send(AbortCommand())
            else:
                self._refused(error)
        else:
            self.send(CommittedOffsetsReply(offsets))

    async def _slot(self) -> bool:
        """Wait for a free slot of Spark; return whether there is one and the run has not been stopped."""
        free = self._shared.free
        if not free.locked():
            return not self._stop.done() and await free.acquire()
        self.reports.waiting(f"No slot of Spark is free: all {self._shared.capacity} slots for tasks are taken")
        taking = asyncio.ensure_future(free.acquire())
        await asyncio.wait(_either(taking, self._stop), return_when=asyncio.FIRST_COMPLETED)
        if not self._stop.done():
            return True
        if not taking.cancel() and not taking.cancelled():
            free.release()
        return False

    async def _submit(self) -> asyncio.Future[JobEnd] | None:
        """Submit the task to Spark until it is admitted, stopped, or can't be started; return its job, if any."""
        driver = self._driver
        jars = await self._jars() if self._query else []
        while jars is not None and not self._stop.done():
            if not driver.up.done():
                self.reports.waiting(driver.state)
                outcomes = _either(driver.up, driver.news, self._stop)
                await asyncio.wait(outcomes, return_when=asyncio.FIRST_COMPLETED)
                continue
            self.key = secrets.token_hex(32)
            who = TaskIdentity(self.id.connector, self.id.task, self.spec.run)
            submission = TaskSubmission(self._shared.address, self._shared.fingerprint, self.key, who, jars)
            company = None if self.id in self._processes.alone else Company.of(self.spec)
            job = self._job = self._processes.submit(
                self._group, f"Connector {self.id.connector}, task {self.id.task}", submission, company, self._query
            )
            outcomes = _either(job, self._admitted, self._stop)
            done, _ = await asyncio.wait(outcomes, timeout=SETTLING, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                asked = "Spark has not started the task yet"
                self.reports.waiting(asked if self._confirmed is None else "Its start has not been confirmed yet")
                if not await self._processes.wait_for_process(self._group, outcomes, self._is_due):
                    self._processes.cancel(self._group)
                    self.reports.lost("Its process has not connected to the worker: it is frozen or hangs")
                    return job
            if self._admitted.done():
                return job
            if not job.done():
                self._processes.cancel(self._group)
                return job
            # A confirmation may be out of date by the time that another process is ready.
            self.key, self._confirmed = "", None
            if not (job.result().driver_died or job.result().again):
                error = job.result().error
                by_itself = not lost_with_executor(error)
                self.reports.lost(f"Spark did not start the task: {error or 'its job ended at once'}", died=by_itself)
                return job
        return None

    def _is_due(self) -> bool:
        """Return whether its process should have connected: on a cluster it may wait for a slot; a query has none."""
        return self._confirmed is None and self._shared.settings.local and not self._query

    async def _jars(self) -> list[str] | None:
        """The jars of Spark's Kafka source, fetched if missing; None if the task has failed or is stopped."""
        if self._shared.settings.brings_kafka_source:
            return []
        fetched = in_thread(self._shared.settings.query_jars)
        outcomes = _either(fetched, self._stop)
        if not (await asyncio.wait(outcomes, timeout=SETTLING, return_when=asyncio.FIRST_COMPLETED))[0]:
            self.reports.waiting("The jars of Spark's Kafka source are being fetched")
            await asyncio.wait(outcomes, return_when=asyncio.FIRST_COMPLETED)
        if not fetched.done():
            return None
        try:
            return fetched.result()
        except EmbeddedError as error:
            self.reports.failed(str(error))
            return None

    async def _attend(self, link: Link, job: asyncio.Future[JobEnd] | None) -> None:
        """Handle the task's reports until its channel closes, then wait for its end."""
        lease = self._shared.settings.lease
        done, lost, silent = False, False, False
        try:
            async for report in link.messages(lease):
                done = done or isinstance(report, DoneReport | FailedReport)
                lost = lost or isinstance(report, LostReport)
                self._heard(report)
        except TimeoutError:
            silent = True
            self._processes.cancel(self._group)
        process = self._processes.channel_closed(self._group)
        if done:
            self._processes.alone.discard(self.id)
            if process.carrier is not None:
                self._process.left()
                return
        if not (done or lost):
            reason = silent_reason(link, lease) if silent else await self._reason(link, job, process)
        seen = await self._process.over(0.0 if silent else SETTLING, lease)
        if self._query and job is not None:
            await asyncio.wait({job}, timeout=self._shared.settings.graceful)
            await self._end_query(job)
        elif not (seen or done):
            # The end of a process on another machine can't be seen, but it ends before its lease does.
            await asyncio.sleep(link.heard + lease - asyncio.get_running_loop().time())
        if not done:
            self._member.remove()
        if not (done or lost):
            self.reports.lost(*reason)

    async def _reason(self, link: Link, job: asyncio.Future[JobEnd] | None, process: SharedProcess) -> LossReason:
        reason, died = await end_reason(link, job, self._process, self._query)
        if not process.shared:
            return reason, died
        if (by_another := ended_by_another(process, self._group)) is not None:
            return by_another
        if not died:
            return reason, False
        self._processes.alone.add(self.id)
        return reason_in_company(reason)

    def _write(self, lines: Callable[[], None]) -> None:
        self._shared.logs.write(lines)

    def _lines_written(self, reports: int) -> None:
        self.send(LinesWritten(reports))

    def _heard(self, report: TaskReport) -> None:
        self.reports.heard(report)  # every kind of report; some concern the run as well
        match report:
            case CommittedOffsetsRequest():
                aside = asyncio.get_running_loop().create_task(self._send_offsets())
                self._asides.add(aside)
                aside.add_done_callback(self._asides.discard)
            case LostReport():
                self.stop(self._shared.settings.graceful)  # it ends on its own, unless the connector's code hangs
            case LogReport():
                self._shared.logs.write(
                    lambda: None, self._lines_written
                )  # in its turn: those of this report are written
            case GroupMemberReport():
                self._member.heard(report)
            case MetricsReport():
                self._process.measured()
                totals = {name: n for name, n in report.values.items() if name.endswith("-total") and _is_number(n)}
                self._processes.show(self._group, totals)
            case NotHostedReport():
                self._processes.could_not_begin(self._group, report.group, report.reason)

    async def _enforce_stop(self, patience: float) -> None:
        await asyncio.sleep(patience)
        if self._admitted.done():
            log.error("Graceful stop of task %s failed.", self.id)
            self.send(AbortCommand())
            if self._processes.has_others(self._group):
                await asyncio.sleep(PATIENCE)
        self._processes.cancel(self._group)
        if self._query:
            if self._job is not None:
                self._end_query(self._job)
            return
        await asyncio.sleep(PATIENCE)
        self.kill()

    def _end_query(self, job: asyncio.Future[JobEnd]) -> asyncio.Task[None]:
        """Return the one task that waits for the end of this run's query, or kills its application."""
        if self._ending is None:
            left, settings = self._shared.revocation_left, self._shared.settings
            seconds = seconds_among_others(settings.graceful, settings.rebalance_timeout)
            query = str(self.id), self._group, job, self._driver, self._processes.ending
            self._ending = asyncio.get_running_loop().create_task(end_of_query(*query, seconds, left))
        return self._ending


def _either(*futures: asyncio.Future[Any]) -> set[asyncio.Future[Any]]:
    return set(futures)


def _is_number(value: object) -> bool:
    """Return whether a metric has a value: what JSON has no number for arrives as None."""
    return isinstance(value, int | float)
