"""Is a run of a task still wanted? Asked before the task begins its work.

Time passes between the decision to start a task and the moment at which its process is ready: it may have waited for a
slot of Spark, or this worker may have been frozen, and the task may run elsewhere by now. So a run is confirmed when
its process is ready, and with exactly once (KIP-618) again when its producer has fenced all older ones, before its
offsets are read. Java: the checks before and after ``initTransactions`` in ExactlyOnceWorkerSourceTask, with
DistributedHerder's verifyTaskGenerationAndOwnership.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.exactly_once import ZombieFencing
from penstock.core.group.catch_up import ConfigReader
from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow
from penstock.core.work import Phase, Work


@dataclass(slots=True)
class Confirmation:
    work: Work
    reader: ConfigReader
    zombies: ZombieFencing

    def confirm(self, request: m.ConfirmTask) -> Flow:
        """204 if this run of the task is to begin now; raises Refused if not, or if that can't be found out.

        The group's coordinator must count this worker as a member, and the config topic, read to its end, must still
        have the configuration that the run was started with.
        """
        self._check(request)
        if not (yield actions.ConfirmMembership()):
            raise m.Refused(409, f"This worker is not a member of its group, so task {request.id} may run elsewhere")
        yield from self.reader.read_to_end(f"starting task {request.id}")
        self._check(request)
        return m.Reply(204)

    def _check(self, request: m.ConfirmTask) -> None:
        run = self.work.task(request.id, request.run)
        if run is None or run.phase is not Phase.STARTING or not self.work.is_wanted(run):
            raise m.Refused(409, f"Run {request.run} of task {request.id} is not wanted any more")
        if self.zombies.is_due(request.id.connector):
            raise m.Refused(409, f"Older tasks of connector {request.id.connector} have not been fenced yet")
