"""Assignment of connectors and tasks by the leader: incremental cooperative rebalancing (KIP-415).

Java: ``IncrementalCooperativeAssignor``.

A member keeps what it runs; only new, lost and excess work moves. The work of a departed worker is given to others
only after ``scheduled.rebalance.max.delay.ms``, in case it returns. Revoking takes two rebalances: one takes work away,
the members join again, and the next gives that work, which by then nobody runs, to others.

Pure: time is given as ``now_ms``, and the leader's memory from one rebalance to the next is a value.
Members are visited in the order of their ids, where Java leaves the order to its hash maps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from penstock.core.group.balance import Load, WorkSet, deal, excess, repeated, round_robin, spread
from penstock.core.group.membership import CONFIG_MISMATCH, Assignment, ClusterConfigSnapshot, Member, Owners
from penstock.core.model.tasks import TaskId

NOTHING = WorkSet()


@dataclass(frozen=True, slots=True)
class AssignorMemory:
    """Memory of the leader between rebalances, empty for a new leader; all times in milliseconds."""

    previous: WorkSet = NOTHING
    previous_revocation: WorkSet = NOTHING
    previous_generation: int = -1
    previous_members: frozenset[str] = frozenset()
    candidates: tuple[str, ...] = ()  # joined empty while a delay ran: most likely the lost worker's successors
    scheduled_rebalance_ms: int | None = None
    delay_ms: int = 0
    revoked_in_previous: bool = False
    successive_revoking_rebalances: int = 0


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One rebalance; ``protocol`` is the version on which the group agreed, 0 is eager."""

    leader: str
    generation: int
    last_completed_generation: int
    protocol: int = 2
    max_delay_ms: int = 300_000


@dataclass(frozen=True, slots=True)
class Decision:
    """Assignment of each member, and the leader's new memory. ``owners`` is None if the assignment failed."""

    assignments: dict[str, Assignment]
    memory: AssignorMemory
    owners: Owners | None = field(default=None, repr=False)


def assign(
    snapshot: ClusterConfigSnapshot,
    members: Iterable[Member],
    memory: AssignorMemory,
    now_ms: int,
    rebalance: Rebalance,
) -> Decision:
    """Assign connectors and tasks; called on the leader once per rebalance, with all members, itself included.

    If a member has read further in the config topic than ``snapshot``, all get the error of the mismatch, and nothing
    moves.
    """
    by_id = {member.id: member for member in sorted(members, key=lambda m: m.id)}
    leader = by_id[rebalance.leader]
    newest = max(member.offset for member in by_id.values())
    template = Assignment(
        leader=leader.id, leader_url=leader.url, offset=snapshot.offset, version=rebalance.protocol, delay_ms=0
    )
    if snapshot.offset < newest:
        return Decision(dict.fromkeys(by_id, replace(template, offset=newest, error=CONFIG_MISMATCH)), memory)
    if rebalance.protocol == 0:
        shares = round_robin(snapshot, list(by_id))
        assignments = {id: replace(template, connectors=tuple(c), tasks=tuple(t)) for id, (c, t) in shares.items()}
        return Decision(assignments, memory, _owners(by_id, shares))
    return _Round(snapshot, by_id, memory, now_ms, rebalance).decide(template)


def _owners(
    members: Mapping[str, Member],
    shares: Mapping[str, tuple[Iterable[str], Iterable[TaskId]]],
    revoked: Iterable[TaskId] = (),
) -> Owners:
    return Owners(
        {connector: members[id].url for id, (connectors, _) in shares.items() for connector in connectors},
        {task: members[id].url for id, (_, tasks) in shares.items() for task in tasks},
        tuple(member.url for member in members.values()),
        tuple(revoked),
    )


class _Round:
    """Incremental rebalance: its sets, in the order in which they derive from each other."""

    def __init__(
        self,
        snapshot: ClusterConfigSnapshot,
        members: Mapping[str, Member],
        memory: AssignorMemory,
        now_ms: int,
        rebalance: Rebalance,
    ) -> None:
        self.members = members
        self.now_ms = now_ms
        self.rebalance = rebalance
        self.max_delay_ms = rebalance.max_delay_ms
        self.candidates = memory.candidates
        self.scheduled_ms = memory.scheduled_rebalance_ms
        self.delay_ms = memory.delay_ms
        self.revoked_in_previous = memory.revoked_in_previous
        self.successive = memory.successive_revoking_rebalances
        self.previous_members = memory.previous_members

        running = {id: member.assignment or Assignment() for id, member in members.items()}
        self.configured = WorkSet(
            frozenset(snapshot.connectors),
            frozenset(TaskId(name, i) for name, count in snapshot.connectors.items() for i in range(count)),
        )
        connectors, twice_connectors = repeated(a.connectors for a in running.values())
        tasks, twice_tasks = repeated(a.tasks for a in running.values())
        active = WorkSet(frozenset(connectors), frozenset(tasks))
        self.duplicated = WorkSet(frozenset(twice_connectors), frozenset(twice_tasks))

        # After a round that this leader didn't complete, it remembers other assignments than the members have.
        previous = memory.previous if memory.previous_generation == rebalance.last_completed_generation else NOTHING
        if memory.previous_revocation & active:  # the revocation had no effect
            previous = active
        # Java's new leader remembers nothing, and revokes deleted work only one rebalance later. One that led the round
        # before does as Java's does.
        newly_leading = memory.previous_generation != rebalance.generation - 1
        self.deleted = ((previous | active) if newly_leading else previous) - self.configured
        self.lost = previous - active - self.deleted
        self.created = self.configured - previous - active

        unwanted = self.deleted | self.duplicated
        self.kept = {
            id: WorkSet(frozenset(a.connectors), frozenset(a.tasks)) - self.deleted for id, a in running.items()
        }
        self.revoked: dict[str, tuple[dict[str, None], dict[TaskId, None]]] = {
            id: (
                dict.fromkeys(c for c in a.connectors if c in unwanted.connectors),
                dict.fromkeys(t for t in a.tasks if t in unwanted.tasks),
            )
            for id, a in running.items()
        }
        self.connectors: list[Load[str]] = [
            Load(id, dict.fromkeys(c for c in a.connectors if c not in unwanted.connectors))
            for id, a in running.items()
        ]
        self.tasks: list[Load[TaskId]] = [
            Load(id, dict.fromkeys(t for t in a.tasks if t not in unwanted.tasks)) for id, a in running.items()
        ]

    def decide(self, template: Assignment) -> Decision:
        reassigned = self._lost_to_reassign()
        if self.delay_ms == 0:
            self._revoke_excess()
        else:
            self.revoked_in_previous = False
        spread(self.connectors, chain(sorted(self.created.connectors), sorted(reassigned.connectors)))
        spread(self.tasks, chain(sorted(self.created.tasks), sorted(reassigned.tasks)))

        connectors = {load.member: load.items for load in self.connectors}
        tasks = {load.member: load.items for load in self.tasks}
        assignments = {}
        for id in self.members:
            kept = self.kept[id]
            revoked_connectors, revoked_tasks = self.revoked[id]
            assignments[id] = replace(
                template,
                connectors=tuple(c for c in connectors[id] if c not in kept.connectors),
                tasks=tuple(t for t in tasks[id] if t not in kept.tasks),
                revoked_connectors=tuple(revoked_connectors),
                revoked_tasks=tuple(revoked_tasks),
                delay_ms=self.delay_ms,
            )
        shares = {id: (connectors[id], tasks[id]) for id in self.members}
        owners = _owners(self.members, shares, (task for each in assignments.values() for task in each.revoked_tasks))
        return Decision(assignments, self._remember(connectors, tasks), owners)

    def _lost_to_reassign(self) -> WorkSet:
        """Return the lost work to assign like new work; candidates are given theirs here."""
        if not self.lost and not self.revoked_in_previous:
            self._reset_delay()
            return NOTHING
        if self.scheduled_ms is None and self.previous_members <= self.members.keys():
            return self.lost  # nobody left: members didn't receive their last assignment
        if self.max_delay_ms == 0:
            return self.lost
        if self.scheduled_ms is not None and self.now_ms >= self.scheduled_ms:
            candidates = [id for id in self.candidates if id in self.members]
            self._reset_delay()
            self.revoked_in_previous = False
            if not candidates:
                return self.lost
            deal(sorted(self.lost.connectors), self.connectors, candidates)
            deal(sorted(self.lost.tasks), self.tasks, candidates)
            return NOTHING
        empty = [c.member for c, t in zip(self.connectors, self.tasks, strict=True) if not c.items and not t.items]
        self.candidates = tuple(dict.fromkeys((*self.candidates, *empty)))
        if self.scheduled_ms is None:
            self.delay_ms = self.max_delay_ms
        else:
            self.delay_ms = min(self.scheduled_ms - self.now_ms, self.max_delay_ms)
        self.scheduled_ms = self.now_ms + self.delay_ms
        return NOTHING

    def _reset_delay(self) -> None:
        self.candidates = ()
        self.scheduled_ms = None
        self.delay_ms = 0

    def _revoke_excess(self) -> None:
        """Revoke work beyond a balanced share, unless the last rebalance did so too: then wait, longer each time."""
        connectors: dict[str, list[str]] = {}
        tasks: dict[str, list[TaskId]] = {}
        if self.configured and (any(load.items for load in self.connectors) or any(load.items for load in self.tasks)):
            connectors = excess(self.connectors, len(self.configured.connectors))
            tasks = excess(self.tasks, len(self.configured.tasks))
        if not connectors and not tasks:
            if self.revoked_in_previous:
                self.revoked_in_previous = False
                self.successive = 0
            return
        if self.revoked_in_previous:
            self.successive += 1
            self.delay_ms = revocation_backoff_ms(self.successive, self.max_delay_ms)
            if self.delay_ms != 0:
                self.scheduled_ms = self.now_ms + self.delay_ms
                return
        self.revoked_in_previous = True
        for connector_load in self.connectors:
            id = connector_load.member
            self.revoked[id][0].update(connector_load.remove(connectors.get(id, ())))
        for task_load in self.tasks:
            id = task_load.member
            self.revoked[id][1].update(task_load.remove(tasks.get(id, ())))

    def _remember(
        self, connectors: Mapping[str, Iterable[str]], tasks: Mapping[str, Iterable[TaskId]]
    ) -> AssignorMemory:
        revoked = WorkSet(
            frozenset(chain.from_iterable(c for c, _ in self.revoked.values())),
            frozenset(chain.from_iterable(t for _, t in self.revoked.values())),
        )
        running = WorkSet(
            frozenset(chain.from_iterable(connectors.values())), frozenset(chain.from_iterable(tasks.values()))
        )
        return AssignorMemory(
            previous=(running - revoked) | self.lost,
            previous_revocation=revoked,
            previous_generation=self.rebalance.generation,
            previous_members=frozenset(self.members),
            candidates=self.candidates,
            scheduled_rebalance_ms=self.scheduled_ms,
            delay_ms=self.delay_ms,
            revoked_in_previous=self.revoked_in_previous,
            successive_revoking_rebalances=self.successive,
        )


def revocation_backoff_ms(attempts: int, max_delay_ms: int) -> int:
    """Return the delay of revocations after this many in succession: 40 ms, 1.6 s, 64 s, up to the maximum delay."""
    if max_delay_ms <= 1:
        return max_delay_ms
    exponent = min(attempts, math.log(max_delay_ms) / math.log(40))
    return min(int(math.pow(40, exponent)), max_delay_ms)
