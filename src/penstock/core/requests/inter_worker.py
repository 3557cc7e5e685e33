"""Requests of other workers of the cluster to the leader, which are signed (KIP-507), and of this worker's tasks."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.exactly_once import ZombieFencing
from penstock.core.group.catch_up import ConfigReader
from penstock.core.group.leadership import Leadership
from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow
from penstock.core.model.state import ClusterState
from penstock.core.reconfiguration import Reconfigurations
from penstock.core.requests.reads import config_of
from penstock.core.session_keys import SessionKeys
from penstock.core.work import Phase, Work

TASK_CONFIGS = "externally setting task configurations"


@dataclass(slots=True)
class InterWorkerRequests:
    state: ClusterState
    leadership: Leadership
    keys: SessionKeys
    reconfigurations: Reconfigurations
    zombies: ZombieFencing

    def check_signature(self, request: m.CheckSignature) -> Flow:
        """204. Any worker answers, not only the leader: all have the same key."""
        self.keys.check_request(request.signature, TASK_CONFIGS)
        yield from ()
        return m.Reply(204)

    def put_task_configs(self, request: m.PutTaskConfigs) -> Flow:
        """Write the task configurations that a connector on another worker has generated."""
        self.keys.check_request(request.signature, TASK_CONFIGS)

        def write() -> Flow:
            config_of(self.state, request.name)
            yield from self.reconfigurations.write(request.name, list(request.configs))
            return m.Reply(204)

        return (yield from self.leadership.one_by_one(write))

    def fence_tasks(self, request: m.FenceTasks) -> Flow:
        """Fence old tasks for a worker that is about to start tasks of a new generation (KIP-618)."""
        self.keys.check_request(request.signature, "exactly-once source connectors")
        yield from self.leadership.as_leader()
        config = config_of(self.state, request.name)
        if self.zombies.plugins.kind(config) != "source":
            raise m.Refused(400, f"Connector {request.name} is not a source connector")
        yield from self.zombies.fence(request.name)
        return m.Reply(204)


@dataclass(slots=True)
class Confirmation:
    """Confirmation that a run of a task is still wanted, requested before the task begins its work.

    Time passes between the decision to start a task and the moment at which its process is ready: the process may have
    waited for a slot of Spark, or this worker may have been frozen, and the task may run elsewhere by now. So a run is
    confirmed when its process is ready, and with exactly once (KIP-618) again when its producer has fenced all older
    ones, before its offsets are read. Java: the checks before and after ``initTransactions`` in
    ExactlyOnceWorkerSourceTask, with DistributedHerder's verifyTaskGenerationAndOwnership.
    """

    work: Work
    reader: ConfigReader
    zombies: ZombieFencing

    def confirm(self, request: m.ConfirmTask) -> Flow:
        """204 if this run of the task is to begin now; raises Refused if not, or if that cannot be determined.

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
