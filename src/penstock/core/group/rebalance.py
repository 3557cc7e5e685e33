"""The worker's place in its group, and what it does about rebalances (Java: DistributedHerder's RebalanceListener and
handleRebalanceCompleted).

A rebalance is asked for whenever the config topic says of other connectors or tasks than the present assignment was
made for; what it brings is taken once this worker has read as far as the leader had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.core import reconfiguration
from penstock.core.group import catch_up
from penstock.core.group.leader_duties import keep_session_key
from penstock.core.group.membership import SESSIONED, Assignment, Joined, Lost, Owners, Revoked
from penstock.core.model import actions
from penstock.core.model.flow import FOREVER, Flow, Until
from penstock.core.model.tasks import TaskId
from penstock.core.status import cleanup

if TYPE_CHECKING:
    from penstock.core.herder import Herder


@dataclass(slots=True)
class Place:
    """This worker's place in the group."""

    member_id: str = ""
    generation: int = -1
    assignment: Assignment | None = None
    """The last good one; None while there is none, or contact with the group is lost."""
    owners: Owners | None = None
    reign: int = 0
    """How many times this worker has come to lead."""
    sessioned: bool = True
    """Whether requests between workers are signed: not while a member speaks an older protocol (KIP-507)."""
    claimed: bool = False
    """Exactly once: this leader's writes to the config topic fence all others' (KIP-618)."""
    awaited: Joined | None = None
    """What is taken once the config topic has been read as far as it wants."""
    rejoin_asked_at: int = -1
    rejoin_due: int | None = None
    published: int = -1

    def leave(self) -> None:
        """Nothing that the group has told counts any more."""
        self.assignment = self.owners = self.rejoin_due = None
        self.claimed = False


def publish(herder: Herder) -> None:
    """Tell the group what there is to distribute."""
    herder.place.published = herder.state.position
    herder.emit(actions.Publish(herder.state.snapshot()))


def follow_layout(herder: Herder) -> None:
    """Publish what has been read, and ask for a rebalance if there are other connectors or tasks than at the last."""
    place, layout = herder.place, herder.state.layout_position
    if herder.state.position != place.published:
        publish(herder)
    if place.assignment is not None and layout > max(place.assignment.offset, place.rejoin_asked_at):
        place.rejoin_asked_at = layout
        herder.emit(actions.Rejoin("the connectors or their tasks have changed"))


def look_at_time(herder: Herder) -> None:
    place = herder.place
    if place.rejoin_due is not None and herder.now >= place.rejoin_due:
        place.rejoin_due = None
        herder.emit(actions.Rejoin("the delay of the scheduled rebalance is over"))


def joined(herder: Herder, event: Joined) -> None:
    place, assignment = herder.place, event.assignment
    led = herder.is_leader
    place.member_id, place.generation = event.member_id, event.generation
    place.awaited = None
    if assignment.failed or assignment.offset > herder.state.position:
        place.awaited = event
        herder.start(catch_up.catch_up(herder, event), what="Catching up with the config topic")
        return
    place.assignment, place.owners = assignment, event.owners
    place.sessioned = event.protocol_version >= SESSIONED
    place.rejoin_asked_at = -1
    place.rejoin_due = herder.now + assignment.delay_ms if assignment.delay_ms > 0 else None
    herder.work.assign(assignment)
    herder.joined()
    herder.log("INFO", _summary(event))
    if assignment.revoked_connectors or assignment.revoked_tasks:
        herder.emit(actions.Rejoin("what was revoked is free to be assigned elsewhere"))
    if not herder.is_leader:
        place.claimed = False
        return
    if not led:
        place.claimed = False
        place.reign += 1
        herder.start(keep_session_key(herder), what="Keeping a session key")
    cleanup.clear_all(herder)
    reconfiguration.empty_stopped(herder)


def revoked(herder: Herder, event: Revoked) -> None:
    give_up(herder, event.connectors, event.tasks, event.done)


def lost(herder: Herder, event: Lost) -> None:
    """Nothing that was assigned counts any more, not even what has not been taken yet."""
    herder.log("WARNING", f"Contact with the worker group is lost: {event.reason}; everything that runs here stops")
    place = herder.place
    place.leave()
    place.awaited = None
    give_up_all(herder, event.done)


def give_up_all(herder: Herder, done: Callable[[], None] | None) -> None:
    give_up(herder, tuple(herder.work.assigned_connectors), tuple(herder.work.assigned_tasks), done)


def give_up(
    herder: Herder, connectors: tuple[str, ...], tasks: tuple[TaskId, ...], done: Callable[[], None] | None
) -> None:
    """Stop these, then let the group go on."""
    herder.work.revoke(connectors, tasks)

    def flow() -> Flow:
        yield Until(lambda: herder.work.idle(connectors) and herder.work.idle(tasks), FOREVER, "")
        if done is not None:
            herder.emit(actions.Release(done))

    herder.start(flow(), what="Stopping what was revoked")


def _summary(event: Joined) -> str:
    a = event.assignment
    return (
        f"Joined the group in generation {event.generation} as {'leader' if event.leader else 'follower'} of "
        f"{a.leader_url or 'itself'}: {len(a.connectors)} connectors, {len(a.tasks)} tasks"
    )
