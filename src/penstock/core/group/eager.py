"""The eager protocol's assignment, Java's EagerAssignor: all members have stopped, and everything is assigned again."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle

from penstock.core.group.membership import ClusterConfigSnapshot
from penstock.core.model.tasks import TaskId


def round_robin(snapshot: ClusterConfigSnapshot, members: Iterable[str]) -> dict[str, tuple[list[str], list[TaskId]]]:
    """All connectors first, then all tasks, in one round over the members, all sorted.

    Connectors first: of two workers one would otherwise get all connectors with a single task, the other their tasks.
    """
    shares: dict[str, tuple[list[str], list[TaskId]]] = {id: ([], []) for id in sorted(members)}
    turn = cycle(shares.values())
    names = sorted(snapshot.connectors)
    for name in names:
        next(turn)[0].append(name)
    for name in names:
        for i in range(snapshot.connectors[name]):
            next(turn)[1].append(TaskId(name, i))
    return shares
