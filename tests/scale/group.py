"""A group of workers as its leader sees it: they run their assignments, and rejoin when they must."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.core.group.assignment import AssignorMemory, Decision, Rebalance, assign
from penstock.core.group.membership import Assignment, ClusterConfigSnapshot, Member
from penstock.core.model.tasks import TaskId
from penstock.kafka.group.protocol import encode_assignment, encode_metadata

DELAY_MS = 300_000


@dataclass(slots=True)
class Group:
    """A group's state. ``connectors``: the number of tasks of each."""

    connectors: dict[str, int]
    running: dict[str, Assignment]
    memory: AssignorMemory = field(default_factory=AssignorMemory)
    generation: int = 0
    now_ms: int = 1

    @classmethod
    def of(cls, connectors: int, tasks: int, workers: int) -> Group:
        """Return a group whose connectors have equal numbers of tasks, with nothing assigned yet."""
        each, more = divmod(tasks, connectors)
        counts = {f"connector-{i:05d}": each + (i < more) for i in range(connectors)}
        return cls(counts, {f"worker-{i:03d}": Assignment() for i in range(workers)})

    def members(self) -> list[Member]:
        return [Member(id, f"http://{id}:8083/", 1, running) for id, running in self.running.items()]

    def decide(self) -> Decision:
        """Return the assignment that the leader would make now, without changing anything."""
        round = Rebalance(min(self.running), self.generation + 1, self.generation, max_delay_ms=DELAY_MS)
        return assign(ClusterConfigSnapshot(1, self.connectors), self.members(), self.memory, self.now_ms, round)

    def follow(self, decision: Decision) -> None:
        """Give all members their assignments."""
        self.generation += 1
        self.memory = decision.memory
        for id, told in decision.assignments.items():
            old = self.running[id]
            lost = {*told.revoked_connectors, *told.revoked_tasks}
            self.running[id] = Assignment(
                tuple(c for c in old.connectors if c not in lost) + told.connectors,
                tuple(t for t in old.tasks if t not in lost) + told.tasks,
            )

    def settle(self) -> int:
        """Rebalance until nothing moves any more; return the number of rebalances."""
        for rounds in range(1, 50):
            decision = self.decide()
            self.follow(decision)
            told = list(decision.assignments.values())
            if any(a.revoked_connectors or a.revoked_tasks for a in told):
                continue
            if told[0].delay_ms == 0:
                return rounds
            self.now_ms += told[0].delay_ms
        raise AssertionError("the group does not settle")

    def places(self) -> dict[TaskId, str]:
        """Return the worker of each task."""
        return {task: id for id, running in self.running.items() for task in running.tasks}

    def bytes_joining(self) -> int:
        """Return the size of all members' join requests: their URLs, and the connectors and tasks that they run."""
        return sum(len(encode_metadata(m.url, m.offset, m.assignment, 2)) for m in self.members())


def bytes_told(decision: Decision) -> int:
    """Return the size of the assignments that the leader sends."""
    return sum(len(encode_assignment(assignment, 2)) for assignment in decision.assignments.values())


def moved(before: dict[TaskId, str], after: dict[TaskId, str], still_there: set[str]) -> int:
    """Return the number of tasks that moved to another worker although their worker is still in the group."""
    return sum(1 for task, worker in before.items() if worker in still_there and after.get(task) != worker)
