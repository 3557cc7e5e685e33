"""Worker group of the simulated cluster: its members, and rebalances, which the real assignor decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.group.assignment import AssignorMemory, Rebalance, assign
from penstock.core.group.membership import Assignment, Joined, Lost, Member, Revoked
from simulation import descriptions
from simulation.worker import Worker


class Group:
    """``post`` is called with a worker, a channel and an event."""

    def __init__(
        self, workers: dict[str, Worker], post: Callable[[Worker, str, Any], None], trace: Callable[[str], None]
    ) -> None:
        self._workers, self._post, self._trace = workers, post, trace
        self.wanted = False
        """True if a rebalance is due."""
        self.max_delay_ms = 0
        self.version = 2
        """Version of the protocol; 0 is the eager one."""
        self.generation = 0
        self.memory: dict[str, AssignorMemory] = {}

    def join(self, worker: Worker) -> None:
        worker.waits_for_request = False
        worker.wants_to_join = not worker.joined
        self.wanted = True

    def leave(self, worker: Worker, keeps_work: bool) -> None:
        self.wanted |= worker.joined
        worker.joined, worker.arrived = False, None
        worker.waits_for_request, worker.wants_to_join = True, False
        if not keeps_work:
            worker.runs = None

    def lose(self, worker: Worker, joins_again: bool) -> None:
        """End the contact with a worker, and notify it."""
        worker.joined, worker.runs, worker.arrived = False, None, None
        worker.waits_for_request = False
        worker.to_release += 1

        def released() -> None:
            worker.to_release -= 1
            worker.wants_to_join |= joins_again and not worker.waits_for_request
            self.wanted |= worker.wants_to_join

        self._post(worker, "group", Lost("no heartbeat", (), (), released))
        self.wanted = True

    def can_decide(self) -> bool:
        candidates = [w for w in self._workers.values() if w.joined or w.wants_to_join]
        return self.wanted and bool(candidates) and not any(w.to_release for w in candidates)

    def decide(self, now: int) -> None:
        self.wanted = False
        for worker in self._workers.values():
            worker.joined, worker.wants_to_join = worker.joined or worker.wants_to_join, False
        members = [w for w in self._workers.values() if w.joined]
        if not members:
            return
        self.generation += 1
        leader = members[0]
        url = {w.id: f"http://{w.id}" for w in members}
        round_ = Rebalance(leader.id, self.generation, self.generation - 1, self.version, self.max_delay_ms)
        states = [Member(w.id, url[w.id], w.snapshot.offset, w.runs) for w in members]
        decision = assign(leader.snapshot, states, self.memory.get(leader.id, AssignorMemory()), now, round_)
        self.memory = {leader.id: decision.memory}
        for worker in members:
            given = decision.assignments[worker.id]
            if not given.failed:
                worker.runs = given if self.version == 0 else _merged(worker.runs, given)
            owners = decision.owners if worker is leader else None
            whole = given if given.failed else worker.runs
            assert whole is not None
            self._trace(f"{worker.id}: assigned {descriptions.work(whole)}" + (" (failed)" if given.failed else ""))
            joined = Joined(self.generation, worker.id, self.version, whole, worker is leader, owners)
            self._arrive(worker, joined, given)

    def _arrive(self, worker: Worker, joined: Joined, given: Assignment) -> None:
        """Deliver an assignment, after the revoked work has been released."""
        worker.arrived = joined

        def arrive() -> None:
            if worker.arrived is joined and not worker.to_release:
                worker.arrived = None
                self._post(worker, "group", joined)

        def released() -> None:
            worker.to_release -= 1
            arrive()

        if given.revoked_connectors or given.revoked_tasks:
            self._trace(
                f"{worker.id}: revoked {', '.join([*given.revoked_connectors, *map(str, given.revoked_tasks)])}"
            )
            worker.to_release += 1
            revoked = Revoked(given.leader, given.revoked_connectors, given.revoked_tasks, released)
            self._post(worker, "group", revoked)
        else:
            arrive()


def _merged(before: Assignment | None, given: Assignment) -> Assignment:
    """Return everything that a member runs after a rebalance: its work without what was revoked, and new work."""
    old = before or Assignment()
    connectors = [c for c in old.connectors if c not in given.revoked_connectors]
    tasks = [t for t in old.tasks if t not in given.revoked_tasks]
    return Assignment(
        (*connectors, *(c for c in given.connectors if c not in connectors)),
        (*tasks, *(t for t in given.tasks if t not in tasks)),
        given.revoked_connectors,
        given.revoked_tasks,
        given.delay_ms,
        given.leader,
        given.leader_url,
        given.offset,
    )
