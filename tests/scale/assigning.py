"""Cost of a large group's rebalances for its leader, and the number of tasks that they move."""

from __future__ import annotations

from penstock.core.group.membership import Assignment
from scale.group import Group, bytes_told, moved
from scale.measuring import cost

Row = tuple[str, str]


def run(connectors: int, tasks: int, workers: int) -> list[Row]:
    group = Group.of(connectors, tasks, workers)
    decision, first = cost(group.decide)
    rows = [
        ("first assignment, s", f"{first.seconds:.2f}"),
        ("first assignment, MB at its peak", f"{first.megabytes:.0f}"),
        ("assignments that the leader sends, MB", f"{bytes_told(decision) / 2**20:.1f}"),
    ]
    group.follow(decision)
    group.settle()
    sizes = sorted(len(running.tasks) for running in group.running.values())
    rows.append(("tasks of a worker", f"{sizes[0]} to {sizes[-1]}"))
    rows.append(("join requests of the members, MB", f"{group.bytes_joining() / 2**20:.1f}"))
    _, again = cost(group.decide)
    rows.append(("a rebalance that changes nothing, s", f"{again.seconds:.2f}"))
    rows += _lose(group)
    rows += _gain(group)
    return rows


def _lose(group: Group) -> list[Row]:
    """Lose a worker that does not return within the delay."""
    before = group.places()
    gone = max(group.running)
    orphans = len(group.running.pop(gone).tasks)
    _, each = cost(group.decide)
    rounds = group.settle()
    after = group.places()
    assert len(after) == len(before)
    return [
        ("a worker is lost: s per rebalance", f"{each.seconds:.2f}"),
        ("a worker is lost: rebalances", str(rounds)),
        ("a worker is lost: its tasks, which are given to others", str(orphans)),
        ("a worker is lost: other tasks that move", str(moved(before, after, set(group.running)))),
    ]


def _gain(group: Group) -> list[Row]:
    before = group.places()
    group.running["worker-new"] = Assignment()
    rounds = group.settle()
    after = group.places()
    assert len(after) == len(before)
    return [
        ("a worker is added: rebalances", str(rounds)),
        ("a worker is added: tasks that move to it", str(len(group.running["worker-new"].tasks))),
        (
            "a worker is added: other tasks that move",
            str(moved(before, after, set(group.running)) - len(group.running["worker-new"].tasks)),
        ),
    ]
