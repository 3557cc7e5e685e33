"""Requests of other workers of the cluster to the leader; signed (KIP-507)."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.exactly_once import ZombieFencing
from penstock.core.group.leadership import Leadership
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow
from penstock.core.model.state import ClusterState
from penstock.core.reconfiguration import Reconfigurations
from penstock.core.requests.reads import config_of
from penstock.core.session_keys import SessionKeys

TASK_CONFIGS = "externally setting task configurations"


@dataclass(slots=True)
class InterWorkerRequests:
    state: ClusterState
    leadership: Leadership
    keys: SessionKeys
    reconfigurations: Reconfigurations
    zombies: ZombieFencing

    def check_signature(self, request: m.CheckSignature) -> Flow:
        """204. Any worker answers, not the leader alone: it has the same key."""
        self.keys.check_request(request.signature, TASK_CONFIGS)
        yield from ()
        return m.Reply(204)

    def put_task_configs(self, request: m.PutTaskConfigs) -> Flow:
        """From a worker whose connector has made new task configurations."""
        self.keys.check_request(request.signature, TASK_CONFIGS)

        def write() -> Flow:
            config_of(self.state, request.name)
            yield from self.reconfigurations.write(request.name, list(request.configs))
            return m.Reply(204)

        return (yield from self.leadership.one_by_one(write))

    def fence_tasks(self, request: m.FenceTasks) -> Flow:
        """From a worker that is about to start tasks of a new generation (KIP-618)."""
        self.keys.check_request(request.signature, "exactly-once source connectors")
        yield from self.leadership.as_leader()
        config = config_of(self.state, request.name)
        if self.zombies.plugins.kind(config) != "source":
            raise m.Refused(400, f"Connector {request.name} is not a source connector")
        yield from self.zombies.fence(request.name)
        return m.Reply(204)
