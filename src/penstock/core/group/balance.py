"""Balance of work between members: who is given the next connector or task, and who has too many, as in Java."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Generic, TypeVar

from penstock.core.group.membership import ClusterConfigSnapshot
from penstock.core.model.tasks import TaskId

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkSet:
    """Set of connectors and tasks."""

    connectors: frozenset[str] = frozenset()
    tasks: frozenset[TaskId] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)

    def __sub__(self, other: WorkSet) -> WorkSet:
        return WorkSet(self.connectors - other.connectors, self.tasks - other.tasks)

    def __or__(self, other: WorkSet) -> WorkSet:
        return WorkSet(self.connectors | other.connectors, self.tasks | other.tasks)

    def __and__(self, other: WorkSet) -> WorkSet:
        return WorkSet(self.connectors & other.connectors, self.tasks & other.tasks)


@dataclass(slots=True)
class Load(Generic[T]):
    """Connectors or tasks of a member, in order; a dict because removals are frequent."""

    member: str
    items: dict[T, None]

    def remove(self, items: Iterable[T]) -> dict[T, None]:
        """Remove ``items`` and return them as an ordered set."""
        removed = dict.fromkeys(items)
        for item in removed:
            self.items.pop(item, None)
        return removed


def spread(loads: Sequence[Load[T]], items: Iterable[T]) -> None:
    """Give each item to one of the least loaded members, in turn, by member id where loads are equal."""
    ordered = sorted(loads, key=lambda load: (len(load.items), load.member))
    rest = iter(items)
    level = 0  # this many members have the least load
    while True:
        least = len(ordered[0].items)
        while level < len(ordered) and len(ordered[level].items) <= least:
            level += 1
        dealt = list(islice(rest, level))
        for load, item in zip(ordered, dealt, strict=False):
            load.items[item] = None
        if len(dealt) < level:
            return


def excess(loads: Sequence[Load[T]], total: int) -> dict[str, list[T]]:
    """Return the items that each member has beyond its share of ``total``; empty if new items restore the balance."""
    share, extras = divmod(total, len(loads))
    sizes = [len(load.items) for load in loads]
    if sizes.count(share + 1) == extras and sizes.count(share) + extras == len(loads):
        return {}
    result: dict[str, list[T]] = {}
    for load, size in zip(loads, sizes, strict=True):
        if size <= share:
            continue
        allowed = share
        if extras > 0:
            extras -= 1
            if size == share + 1:
                continue
            allowed = share + 1
        result[load.member] = list(islice(load.items, size - allowed))
    return result


def repeated(collections: Iterable[Iterable[T]]) -> tuple[set[T], set[T]]:
    """Return all items, and those that occur more than once."""
    seen: set[T] = set()
    twice: set[T] = set()
    for items in collections:
        for item in items:
            (twice if item in seen else seen).add(item)
    return seen, twice


def deal(items: Iterable[T], loads: Iterable[Load[T]], members: Iterable[str]) -> None:
    """Give the items to these members in turn, regardless of their loads."""
    by_member = {load.member: load for load in loads}
    for item, id in zip(items, cycle(members), strict=False):
        by_member[id].items[item] = None


def round_robin(snapshot: ClusterConfigSnapshot, members: Iterable[str]) -> dict[str, tuple[list[str], list[TaskId]]]:
    """Return the eager protocol's assignment (Java: ``EagerAssignor``), made when all members have stopped everything.

    All connectors first, then all tasks, in one round over the members, all sorted. Otherwise one of two workers would
    get all connectors with a single task, and the other their tasks.
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
