"""Scenarios of rebalances, given to our assignor and compared with Java's decisions (golden/assignment.txt)."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core.group.assignment import AssignorMemory, Rebalance, assign
from penstock.core.group.membership import Assignment, ClusterConfigSnapshot, Member
from penstock.core.model.tasks import TaskId

GOLDEN = Path(__file__).parent / "golden" / "assignment.txt"
SCENARIOS = GOLDEN.read_text().split("\n> new ")[1:]


class Cluster:
    """Plays the commands of a scenario; ``trace`` is the commands with what was decided, as in the golden file."""

    def __init__(self, max_delay_ms: int) -> None:
        self.max_delay_ms = max_delay_ms
        self.now_ms = 1_000_000
        self.config: dict[str, int] = {}
        self.running: dict[str, Assignment] = {}
        self.memory = AssignorMemory()
        self.generation = 0
        self.completed = -1
        self.trace: list[str] = []

    def play(self, command: str) -> None:
        self.trace.append(f"> {command}")
        match command.split():
            case ["config", name, count]:
                self.config[name] = int(count)
            case ["delete", name]:
                del self.config[name]
            case ["join", member]:
                self.running[member] = Assignment()
            case ["leave", member]:
                del self.running[member]
            case ["run", member, what]:
                name, _, task = what.partition("-")
                old = self.running[member]
                more = Assignment(tasks=(TaskId(name, int(task)),)) if task else Assignment(connectors=(name,))
                self.running[member] = applied(old, more)
            case ["wait", milliseconds]:
                self.now_ms += int(milliseconds)
            case ["rebalance", *flags]:
                self.rebalance(flags)

    def rebalance(self, flags: list[str]) -> None:
        self.generation += 1
        members = [Member(id, f"http://{id}", 1, running) for id, running in self.running.items()]
        leader = min(self.running)
        round = Rebalance(leader, self.generation, self.completed, max_delay_ms=self.max_delay_ms)
        decision = assign(ClusterConfigSnapshot(1, self.config), members, self.memory, self.now_ms, round)
        self.memory = decision.memory
        for id, assignment in sorted(decision.assignments.items()):
            if id == leader:
                self.trace.append(f"delay {assignment.delay_ms}")
            started = show(assignment.connectors, assignment.tasks)
            revoked = show(tuple(sorted(assignment.revoked_connectors)), tuple(sorted(assignment.revoked_tasks)))
            self.trace.append(f"{id} +{started} -{revoked}")
            if f"missed-by-{id}" not in flags:
                self.running[id] = applied(self.running[id], assignment)
        if "failed" not in flags:
            self.completed = self.generation


def applied(running: Assignment, told: Assignment) -> Assignment:
    connectors = dict.fromkeys(c for c in running.connectors if c not in told.revoked_connectors)
    tasks = dict.fromkeys(t for t in running.tasks if t not in told.revoked_tasks)
    return Assignment(tuple(connectors | dict.fromkeys(told.connectors)), tuple(tasks | dict.fromkeys(told.tasks)))


def show(connectors: tuple[str, ...], tasks: tuple[TaskId, ...]) -> str:
    return f"[{', '.join([*connectors, *map(str, tasks)])}]"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=range(len(SCENARIOS)))
def test_assignments_equal_javas(scenario: str) -> None:
    max_delay_ms, *expected = scenario.strip().splitlines()
    cluster = Cluster(int(max_delay_ms))
    for line in expected:
        if line.startswith("> "):
            cluster.play(line.removeprefix("> "))
    assert cluster.trace == expected
