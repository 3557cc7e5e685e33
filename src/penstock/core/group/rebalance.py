"""Handling of rebalances by this worker (Java: DistributedHerder's RebalanceListener and handleRebalanceCompleted).

A rebalance is requested whenever the config topic has other connectors or tasks than the present assignment was made
for; the new assignment is taken once this worker has read as far as the leader had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.core.group.membership import SESSIONED, Joined, Lost, Membership, Revoked, Stage
from penstock.core.model import actions
from penstock.core.model.flow import FOREVER, Flow, Output, Until
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import TaskId
from penstock.core.work import Work


@dataclass(slots=True)
class Rebalancing:
    output: Output
    state: ClusterState
    membership: Membership
    work: Work
    lead: Callable[[bool], None]
    """Called on the leader after each rebalance, with True when its term begins."""

    def publish(self) -> None:
        """Give the group the connectors and tasks to distribute."""
        self.membership.published = self.state.position
        self.output.emit(actions.Publish(self.state.snapshot()))

    def follow_layout(self) -> None:
        """Publish what has been read, and request a rebalance if connectors or tasks have changed."""
        membership, layout = self.membership, self.state.layout_position
        if self.state.position != membership.published:
            self.publish()
        assignment = membership.assignment
        if assignment is None:
            return
        # One that is beyond the position is of a topic that was deleted and created again since.
        known = [at for at in (assignment.offset, membership.rejoin_requested_at) if at <= self.state.position]
        if layout > max(known, default=-1):
            membership.rejoin_requested_at = layout
            self.output.emit(actions.Rejoin("the connectors or their tasks have changed"))

    def check_delay(self) -> None:
        """Request the scheduled rebalance once its delay is over; called as time passes."""
        membership = self.membership
        if membership.rejoin_due is not None and self.output.now >= membership.rejoin_due:
            membership.rejoin_due = None
            self.output.emit(actions.Rejoin("the delay of the scheduled rebalance is over"))

    def joined(self, event: Joined) -> bool:
        """Take the assignment; return False if the worker must first read the config topic as far as the leader had."""
        membership, assignment = self.membership, event.assignment
        led = membership.is_leader
        membership.member_id, membership.generation = event.member_id, event.generation
        membership.awaited = None
        if assignment.failed or assignment.offset > self.state.position:
            membership.awaited = event
            return False
        membership.assignment, membership.owners = assignment, event.owners
        membership.requests_are_signed = event.protocol_version >= SESSIONED
        membership.rejoin_requested_at = -1
        membership.rejoin_due = self.output.now + assignment.delay_ms if assignment.delay_ms > 0 else None
        self.work.assign(assignment)
        membership.stage = Stage.WORKING
        self.output.log("INFO", _summary(event))
        if assignment.revoked_connectors or assignment.revoked_tasks:
            self.output.emit(actions.Rejoin("what was revoked is free to be assigned elsewhere"))
        newly = not led and membership.is_leader
        if newly or not membership.is_leader:
            membership.claimed = False
        if membership.is_leader:
            membership.leader_term += newly
            self.lead(newly)
        return True

    def revoked(self, event: Revoked) -> None:
        self.give_up(event.connectors, event.tasks, event.done)

    def lost(self, event: Lost) -> None:
        """Give up everything that was assigned, also an assignment that has not been taken yet."""
        self.output.log("WARNING", f"Lost contact with the worker group: {event.reason}; stopping everything here")
        if self.membership.stays_away:  # the member may have been told to leave after it had lost contact, and wait
            self.output.emit(actions.Rejoin("contact with the group was lost while this worker stayed away"))
        self.membership.leave()
        self.membership.awaited, self.membership.stays_away = None, False
        self.give_up_all(event.done)

    def give_up_all(self, done: Callable[[], None] | None) -> None:
        self.give_up(tuple(self.work.assigned_connectors), tuple(self.work.assigned_tasks), done)

    def give_up(self, connectors: tuple[str, ...], tasks: tuple[TaskId, ...], done: Callable[[], None] | None) -> None:
        """Stop these, then let the group's rebalance proceed."""
        self.work.revoke(connectors, tasks)

        def flow() -> Flow:
            yield Until(lambda: self.work.idle(connectors) and self.work.idle(tasks), FOREVER, "")
            if done is not None:
                self.output.emit(actions.Release(done))

        self.output.start(flow(), what="Stopping what was revoked")


def _summary(event: Joined) -> str:
    a = event.assignment
    return (
        f"Joined the group in generation {event.generation} as {'leader' if event.leader else 'follower'} of "
        f"{a.leader_url or 'itself'}: {len(a.connectors)} connectors, {len(a.tasks)} tasks"
    )
