"""Processes that several tasks share (``penstock.tasks.per.process``).

Without the setting a task has a process of its own while there are few processes; when there are many, further tasks
share.

Spark knows the first task of a process: its job is the job of the process. A further task is started there by a command
over the channel of a task that runs there; the process has a thread for each task and ends with the last. Each task is
admitted by its own key, and has a channel and a lease of its own, as if it were alone. With a limit of one, a process
has no other task.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec

from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConfigError
from penstock.core.config.processes import TASKS_PER_PROCESS
from penstock.core.model.tasks import TaskId
from penstock.pipeline.task import TaskSpec
from penstock.spark.admission import Link
from penstock.spark.messages.task import HostCommand, TaskSubmission
from penstock.spark.supervisor import DriverSupervisor, JobEnd

TICK = 2.0
"""Seconds between two looks at which processes have connected."""
OVERDUE = 60
"""Looks after which an overdue process is given up; on a busy machine it may take a minute to start."""
DOUBLINGS = 5
"""Maximum number of times that ``OVERDUE`` is doubled, after each kill that did not help: imports may take long."""
MANY = max(32, 2 * (os.cpu_count() or 1))
"""Number of processes on this machine from which on further tasks share, where the setting is not given."""
SHARED_BY_MANY = 8
"""Number of tasks that share a process then; figures for both are in docs/decisions/hosted-tasks.md."""
OF_JARS = "penstock.hosts.jvm."
"""Modules of the tasks of jars, which share only with the setting: most of their memory is that of a JVM."""


@dataclass(frozen=True, slots=True)
class Company:
    """Tasks that may share a process: those of the same class and limit."""

    task_class: str
    limit: int
    wanted: bool = True
    """Whether the limit is that of the setting; else it counts only where there are many processes."""

    @classmethod
    def of(cls, spec: TaskSpec) -> Self | None:
        """Return the company of a task, or None for a task that is alone in its process.

        A task whose plugin has an environment is alone. Raises ConfigError: a worker that does not know the setting may
        have accepted a connector with any value of it.
        """
        given = spec.connector_config.get(TASKS_PER_PROCESS) or spec.worker_config.get(TASKS_PER_PROCESS)
        try:
            limit = parse_type(TASKS_PER_PROCESS, given, ConfigType.INT) if given else SHARED_BY_MANY
        except ConfigError:
            limit = 0
        if limit < 1:
            raise ConfigError(TASKS_PER_PROCESS, given, "Must be a whole number of at least 1")
        if limit == 1 or spec.kind == "query" or spec.environment is not None:
            return None
        if not given and spec.task_class.startswith(OF_JARS):
            return None
        return cls(spec.task_class, limit, bool(given))


@dataclass(slots=True, eq=False)
class _Member:
    """A run of a task that will be in the process, is there, or was until its channel closed."""

    submission: TaskSubmission
    job: asyncio.Future[JobEnd]
    link: Link | None = None
    """Its channel, while it is there."""
    carrier: str | None = None
    """The run over whose channel it was started."""
    left: bool = False
    """Whether its channel has closed."""

    @property
    def expected(self) -> bool:
        return self.link is None and not self.left


@dataclass(slots=True, eq=False)
class SharedProcess:
    group: str
    """The Spark job group of the process: that of the run with which it began."""
    company: Company | None
    members: dict[str, _Member] = field(default_factory=dict)
    begun: bool = False
    """Whether it has admitted its first task."""
    shared: bool = False
    """Whether it has had two tasks at the same time."""
    ended_by: str = ""
    """The run because of which it was ended, if it was."""

    def has_room(self, company: Company) -> bool:
        return self.company == company and self.open and len(self.members) < company.limit

    @property
    def open(self) -> bool:
        """Whether further tasks can be started in it: it ends with its last task."""
        return self.carrier is not None or (not self.begun and self.group in self.members)

    @property
    def carrier(self) -> str | None:
        """A run over whose channel another one can be started, or None."""
        return next((group for group, member in self.members.items() if member.link is not None), None)

    def bring(self) -> None:
        """Start the tasks that wait for this process, if there is a channel to do that."""
        carrier = self.carrier
        link = None if carrier is None else self.members[carrier].link
        for group, member in self.members.items():
            if link is not None and member.expected and member.carrier is None and group != self.group:
                member.carrier = carrier
                link.send(HostCommand(group, member.submission))


class TaskProcesses:
    """The processes of one Spark application, for the runs of tasks."""

    def __init__(self, driver: DriverSupervisor, many: int = MANY) -> None:
        """``many``: the number of processes from which on tasks share without the setting."""
        self.driver, self._many = driver, many
        self.ending: set[str] = set()
        """Groups of cancelled queries; see ``query_end``."""
        self.alone: set[TaskId] = set()
        """Tasks that were in a shared process when it crashed: each may crash again."""
        self._of: dict[str, SharedProcess] = {}
        """By the groups of its members."""
        self._arrivals = 0
        self._overdue_since: float | None = None
        """Time at which the first process was overdue since the last one connected."""
        self._kills = 0
        """Number of times that Spark was killed since then."""

    def submit(
        self, group: str, description: str, submission: TaskSubmission, company: Company | None, query: bool = False
    ) -> asyncio.Future[JobEnd]:
        """Start a task as ``DriverSupervisor.submit`` does, or in a process of its ``company``; None: it is alone."""
        self.leave(group)
        if company is not None and not company.wanted and len(set(self._of.values())) < self._many:
            company = None
        process = None if company is None else next((p for p in self._of.values() if p.has_room(company)), None)
        if process is not None:
            member = _Member(submission, asyncio.get_running_loop().create_future())
            process.members[group], self._of[group] = member, process
            process.bring()
            return member.job
        process = self._of[group] = began = SharedProcess(group, company)
        submission = msgspec.structs.replace(submission, shared=company is not None)
        job = self.driver.submit(group, description, submission, query)
        process.members[group] = _Member(submission, job)
        job.add_done_callback(lambda done: _over(began, done.result()))
        return job

    def admitted(self, group: str, link: Link) -> None:
        process = self._of[group]
        process.members[group].link = link
        process.begun = True
        process.shared = process.shared or sum(each.link is not None for each in process.members.values()) > 1
        if group == process.group:
            self.driver.admitted(group)
        # The task expects the answer to its admission first, which is written when this has returned.
        asyncio.get_running_loop().call_soon(process.bring)

    def connected(self, group: str) -> None:
        """Note that the process of a task has connected; its admission may wait for brokers."""
        self._arrivals += 1
        if self._is_asked_of_spark(group):
            self._overdue_since, self._kills = None, 0

    async def wait_for_process(
        self, group: str, outcomes: Collection[asyncio.Future[Any]], due: Callable[[], bool]
    ) -> bool:
        """Wait for one of these outcomes; return False if a process is overdue.

        A process is overdue if no process of any task has connected while it was due. Looks are counted, not seconds:
        when this process was frozen itself, only one of them is late.
        """
        silent, seen = 0, self._arrivals
        while not (await asyncio.wait(outcomes, timeout=TICK, return_when=asyncio.FIRST_COMPLETED))[0]:
            silent = silent + 1 if due() and self._is_asked_for(group) and seen == self._arrivals else 0
            seen = self._arrivals
            if silent >= OVERDUE << min(self._kills, DOUBLINGS):
                if self._is_asked_of_spark(group):
                    self._overdue()
                return False
        return True

    def _is_asked_for(self, group: str) -> bool:
        """Return whether the task has been started; one may still wait for the first task of its process."""
        process = self._of.get(group)
        return process is not None and (group == process.group or process.members[group].carrier is not None)

    def _is_asked_of_spark(self, group: str) -> bool:
        process = self._of.get(group)
        return process is not None and group == process.group

    def _overdue(self) -> None:
        """Kill Spark the second time: the first time it may be that process alone, or those started before it."""
        now = asyncio.get_running_loop().time()
        if self._overdue_since is None:
            self._overdue_since = now
        elif now - self._overdue_since > TICK * OVERDUE:
            self._overdue_since = None
            self._kills += 1
            self.driver.kill(
                "No process of a task connects any more. The process that they are forked from does not answer: it is "
                "frozen or hangs."
            )

    def could_not_begin(self, carrier: str, group: str, reason: str) -> None:
        """End the job of a task that could not begin in the process of ``carrier``."""
        process = self._of.get(group)
        member = None if process is None else process.members[group]
        if member is not None and member.expected and member.carrier == carrier:
            _ended(member, JobEnd(reason))

    def has_others(self, group: str) -> bool:
        """Return whether other tasks are in the process of this run now."""
        process = self._of.get(group)
        return process is not None and any(
            member.link is not None for other, member in process.members.items() if other != group
        )

    def cancel(self, group: str) -> None:
        """End the process by force; a task that is not in it yet is only forgotten."""
        process = self._of.get(group)
        if process is None:
            return
        there = process.members[group].link is not None
        if there and process.shared:
            process.ended_by = process.ended_by or group
        if there or group == process.group:
            self.driver.cancel(process.group)

    def show(self, group: str, values: Mapping[str, float]) -> None:
        """Spark's UI has a job for the first task of a process only."""
        self.driver.show(group, values)

    def channel_closed(self, group: str) -> SharedProcess:
        """Note that the channel of an admitted task has closed; return the process that the task is, or was, in."""
        process = self._of[group]
        process.members[group].left, process.members[group].link = True, None
        self._give_up(process, group)
        return process

    def leave(self, group: str) -> None:
        """Forget a run that is over. A second call has no effect."""
        self.ending.discard(group)
        if (process := self._of.pop(group, None)) is not None:
            del process.members[group]
            self._give_up(process, group)

    def _give_up(self, process: SharedProcess, carrier: str) -> None:
        """Have tasks submitted again that ``carrier`` was to start, since nobody knows whether it has."""
        for name, member in list(process.members.items()):
            if member.expected and (member.carrier == carrier or not process.open):
                del process.members[name], self._of[name]
                _ended(member, JobEnd(again=True))


def _over(process: SharedProcess, end: JobEnd) -> None:
    """End the jobs of a process that is over; tasks that were not in it yet are submitted again."""
    process.company = None
    for group, member in process.members.items():
        _ended(
            member, JobEnd(again=True) if member.expected and group != process.group and not end.driver_died else end
        )


def _ended(member: _Member, end: JobEnd) -> None:
    if not member.job.done():
        member.job.set_result(end)
