"""Which tasks share a process (``penstock.tasks.per.process``), and how one more comes into it.

Without the setting a task has a process of its own while there are few of them; of many, further ones share.

Spark knows the first task of a process: its job is that of the process. Another one is brought into it over the channel
of a task that runs there; the process has a thread for each and ends with the last. Each is admitted by its own key,
and has a channel and a lease of its own, as if it were alone. With a limit of one, a process has no other task.
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
"""Seconds between two looks at which processes have come."""
OVERDUE = 60
"""Looks after which a process that is due is given up; on a busy machine it may take a minute to start."""
DOUBLINGS = 5
"""How often that is doubled at most, once after each kill that did not help: importing plugins may take long."""
MANY = max(32, 2 * (os.cpu_count() or 1))
"""Processes of tasks on this machine from which on further tasks share, where nobody has said how many may."""
SHARED_BY_MANY = 8
"""How many share one then; figures for both are in docs/decisions/hosted-tasks.md."""
OF_JARS = "penstock.hosts.jvm."
"""Modules of the tasks of jars, which share only where that is asked for: most of their memory is that of a JVM."""


@dataclass(frozen=True, slots=True)
class Company:
    """With which tasks one may share a process: those of the same class and limit."""

    task_class: str
    most: int
    wanted: bool = True
    """Whether the limit is that of the setting; else it counts only where there are many processes."""

    @classmethod
    def of(cls, spec: TaskSpec) -> Self | None:
        """None for a task that is alone. One whose plugin has an environment has a process of that anyway.

        Raises ConfigError: a worker that does not know the setting may have taken a connector with any value of it.
        """
        given = spec.connector_config.get(TASKS_PER_PROCESS) or spec.worker_config.get(TASKS_PER_PROCESS)
        try:
            most = parse_type(TASKS_PER_PROCESS, given, ConfigType.INT) if given else SHARED_BY_MANY
        except ConfigError:
            most = 0
        if most < 1:
            raise ConfigError(TASKS_PER_PROCESS, given, "Must be a whole number of at least 1")
        if most == 1 or spec.kind == "query" or spec.environment is not None:
            return None
        if not given and spec.task_class.startswith(OF_JARS):
            return None
        return cls(spec.task_class, most, bool(given))


@dataclass(slots=True, eq=False)
class _Member:
    """A run of a task that is to be in the process, is there, or was until it hung up."""

    submission: TaskSubmission
    job: asyncio.Future[JobEnd]
    link: Link | None = None
    """While it is there."""
    carrier: str | None = None
    """The run over whose channel it was brought."""
    gone: bool = False

    @property
    def coming(self) -> bool:
        return self.link is None and not self.gone


@dataclass(slots=True, eq=False)
class SharedProcess:
    group: str
    """The Spark job group of the process: that of the run with which it began."""
    company: Company | None
    members: dict[str, _Member] = field(default_factory=dict)
    begun: bool = False
    """Whether it has admitted its first task."""
    shared: bool = False
    """Whether it has had two tasks at a time."""
    ended_by: str = ""
    """The run because of which it was ended, if it was."""

    def has_room(self, company: Company) -> bool:
        return self.company == company and self.open and len(self.members) < company.most

    @property
    def open(self) -> bool:
        """Whether others can still be brought into it: it ends with the last that is there."""
        return self.carrier is not None or (not self.begun and self.group in self.members)

    @property
    def carrier(self) -> str | None:
        """A run over whose channel another one can be brought."""
        return next((group for group, member in self.members.items() if member.link is not None), None)

    def bring(self) -> None:
        """Bring those that wait for it, if somebody is there to bring them."""
        carrier = self.carrier
        link = None if carrier is None else self.members[carrier].link
        for group, member in self.members.items():
            if link is not None and member.coming and member.carrier is None and group != self.group:
                member.carrier = carrier
                link.send(HostCommand(group, member.submission))


class TaskProcesses:
    """The processes of one Spark application, for the runs of tasks."""

    def __init__(self, driver: DriverSupervisor, many: int = MANY) -> None:
        """``many``: the number of processes from which on tasks share without the setting."""
        self.driver, self._many = driver, many
        self.alone: set[TaskId] = set()
        """Tasks that were in a shared process when it crashed: one of them may crash again."""
        self._of: dict[str, SharedProcess] = {}
        """By the groups of its members."""
        self._arrivals = 0
        self._overdue_since: float | None = None
        """When the first process was overdue of those that have not come since the last arrival."""
        self._kills = 0
        """How often Spark was killed since then."""

    def submit(
        self, group: str, description: str, submission: TaskSubmission, company: Company | None, query: bool = False
    ) -> asyncio.Future[JobEnd]:
        """As ``DriverSupervisor.submit``; ``company``: None for one that is alone."""
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

    def arrived(self, group: str) -> None:
        """Called when the process of a task is there; its admission may wait for brokers."""
        self._arrivals += 1
        if self._is_asked_of_spark(group):
            self._overdue_since, self._kills = None, 0

    async def come(self, group: str, outcomes: Collection[asyncio.Future[Any]], due: Callable[[], bool]) -> bool:
        """Wait for one of these. False if a process is overdue: while it was due, none has come, of whatever task.

        The looks are counted: when this process was frozen itself, only one of them is late.
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
        """Not one that waits for the first task of its process, which may be there and wait for its admission."""
        process = self._of.get(group)
        return process is not None and (group == process.group or process.members[group].carrier is not None)

    def _is_asked_of_spark(self, group: str) -> bool:
        process = self._of.get(group)
        return process is not None and group == process.group

    def _overdue(self) -> None:
        """The first time it may be that process alone, and those that were asked for before it was given up."""
        now = asyncio.get_running_loop().time()
        if self._overdue_since is None:
            self._overdue_since = now
        elif now - self._overdue_since > TICK * OVERDUE:
            self._overdue_since = None
            self._kills += 1
            self.driver.kill("No process of a task comes any more: what they are forked from is frozen, or it hangs.")

    def not_begun(self, carrier: str, group: str, reason: str) -> None:
        """Called when a task could not be begun in the process into which ``carrier`` has brought it."""
        process = self._of.get(group)
        member = None if process is None else process.members[group]
        if member is not None and member.coming and member.carrier == carrier:
            _ended(member, JobEnd(reason))

    def has_others(self, group: str) -> bool:
        """Whether other tasks are in the process of this run now."""
        process = self._of.get(group)
        return process is not None and any(
            member.link is not None for other, member in process.members.items() if other != group
        )

    def cancel(self, group: str) -> None:
        """End the process by force; a task that has not come into it is only forgotten."""
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

    def hung_up(self, group: str) -> SharedProcess:
        """Called when the channel of an admitted task has ended: the process that it is, or was, in."""
        process = self._of[group]
        process.members[group].gone, process.members[group].link = True, None
        self._give_up(process, group)
        return process

    def leave(self, group: str) -> None:
        """Called when a run is over; again without effect."""
        if (process := self._of.pop(group, None)) is not None:
            del process.members[group]
            self._give_up(process, group)

    def _give_up(self, process: SharedProcess, carrier: str) -> None:
        """Of those that are coming nobody knows whether their bringer has brought them."""
        for name, member in list(process.members.items()):
            if member.coming and (member.carrier == carrier or not process.open):
                del process.members[name], self._of[name]
                _ended(member, JobEnd(again=True))


def _over(process: SharedProcess, end: JobEnd) -> None:
    """That it did not begin is no matter of those that were to come into it."""
    process.company = None
    for group, member in process.members.items():
        _ended(member, JobEnd(again=True) if member.coming and group != process.group and not end.driver_died else end)


def _ended(member: _Member, end: JobEnd) -> None:
    if not member.job.done():
        member.job.set_result(end)
