"""Requests that read, alter and reset a connector's offsets (KIP-875), and their order after the commits of its tasks.

A task may commit offsets until it has ended, on whichever worker it runs. The leader knows when that is: a worker stops
what a rebalance takes from it before it joins the next one, and the tasks of a worker that does not join have ended
with their leases by the time that the group has given it up.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.exactly_once import ZombieFencing
from penstock.core.group.catch_up import ConfigReader
from penstock.core.group.leadership import Leadership
from penstock.core.group.membership import Stage
from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow, Until
from penstock.core.model.state import STOPPED, ClusterState
from penstock.core.requests.reads import config_of
from penstock.core.work import Work


@dataclass(slots=True)
class TaskEnds:
    """Ends of the tasks that a connector, or one of the same name that was deleted, does not have any more."""

    state: ClusterState
    work: Work
    leadership: Leadership

    def wait(self, name: str) -> Flow:
        """Continue, as leader, when none of these tasks can commit offsets; TimeoutError if that takes too long."""
        timeout_ms = self.leadership.settings.request_timeout_ms
        yield Until(lambda: self.have_come(name), timeout_ms, f"The tasks of connector {name} have not ended yet.")

    def have_come(self, name: str) -> bool:
        """Return whether all these tasks have ended, on every worker. Called on the leader."""
        membership = self.leadership.membership
        assignment, owners = membership.assignment, membership.owners
        if assignment is None or membership.stage is not Stage.WORKING:
            return False
        return (
            self.state.deleted.get(name, -1) <= assignment.offset
            and (owners is None or all(id.connector != name for id in owners.revoked))
            and all(run.ended for id, run in self.work.tasks.items() if id.connector == name)
        )


@dataclass(slots=True)
class OffsetRequests:
    state: ClusterState
    ends: TaskEnds
    leadership: Leadership
    reader: ConfigReader
    zombies: ZombieFencing

    def read(self, request: m.GetOffsets) -> Flow:
        config = config_of(self.state, request.name)
        offsets = yield actions.ReadOffsets(request.name, config)
        return m.Reply(200, {"offsets": offsets})

    def alter(self, request: m.AlterOffsets) -> Flow:
        return (yield from self._write(request.name, request.offsets))

    def reset(self, request: m.ResetOffsets) -> Flow:
        return (yield from self._write(request.name, None))

    def _write(self, name: str, offsets: m.OffsetChanges | None) -> Flow:
        """Write offsets after tasks have been fenced, with exactly once, or else after all have ended."""
        yield from self.leadership.as_leader()
        yield from self.reader.read_to_end("modifying connector offsets")
        yield from self.leadership.no_rebalance_due()  # by then its tasks have been asked to stop
        config = self._stopped(name)
        if self.zombies.applies_to(config):
            yield from self.zombies.fence(name)
        else:
            yield from self.ends.wait(name)
        config = self._stopped(name)
        message = yield actions.WriteOffsets(name, config, offsets)
        return m.Reply(200, {"message": message})

    def _stopped(self, name: str) -> dict[str, str]:
        config = config_of(self.state, name)
        if self.state.target_state(name) != STOPPED or self.state.tasks(name):
            raise m.Refused(
                400,
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for "
                f"the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint",
            )
        return config
