"""Cells of the table of API calls, made from the lines that the probes have written.

A cell says of a method, in a state of its connector and a mode: how often it is called, after which call of the same
object's task, and whether on the task's thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INTERVAL = 0.5
"""Seconds between commits of offsets, ``offset.flush.interval.ms`` of the workers."""
MIN_REPEATED = 3
"""Calls within some intervals that are not by chance, such as a last one of the state before."""
MIN_SHARE = 0.1
"""Share of the calls of a method after which the call before counts: rarer ones depend on the moment."""
POLLS = ("poll that raises", "poll with records", "poll without records")
PUTS = ("put that raises", "put with records", "put without records")
ROUNDS = POLLS + PUTS
CHECKED = ("commit", "pre_commit", "flush")
"""Methods that are called at intervals too, so that where a state ends one call more or less is by chance."""
ANOTHER = "another"
LASTING = ("busy", "filtering", "idle", "paused", "retrying")
"""States in which calls are counted over many intervals; in the others each call counts."""
METHODS = {
    "source": {
        "connector": ("validate", "exactly_once_support", "can_define_transaction_boundaries", "start", "task_configs"),
        "task": ("start", *POLLS, "commit_record", "commit_record of a dropped record", "commit", "stop"),
        "predicate": ("configure", "test", "close"),
        "transform": ("configure", "apply", "close"),
        "converter": ("configure", "from_connect", "close"),
    },
    "sink": {
        "connector": ("validate", "start", "task_configs"),
        "task": ("start", "open", *PUTS, "pre_commit", "flush", "close", "stop"),
        "predicate": ("configure", "test", "close"),
        "transform": ("configure", "apply", "close"),
        "converter": ("configure", "to_connect", "close"),
    },
}
for _kind in METHODS.values():
    _kind["connector"] += ("stop",)


@dataclass(frozen=True, slots=True)
class Call:
    """A line of a probe."""

    at: float
    """Seconds since 1970."""
    part: str
    """connector, task, predicate, transform or converter."""
    object: str
    method: str
    thread: str
    """Process and thread, as numbers, and the thread's name, since numbers are used again."""
    size: int
    """Number of records, partitions, offsets or settings that it was given."""

    @property
    def name(self) -> str:
        return f"{self.part}.{self.method}"


Cell = dict[str, Any]
Cells = dict[str, dict[str, Cell]]
"""Cells by state, then by ``part.method``; a method that is not called has no cell."""


def read(log: Path) -> list[Call]:
    if not log.exists():
        return []
    calls = []
    for line in log.read_text().splitlines():
        at, part, made, method, thread, name, size = line.split("\t")
        calls.append(Call(int(at) / 1000, part, made, method, f"{thread} {name}", int(size)))
    return sorted(calls, key=lambda call: call.at)


def window(calls: Sequence[Call], kind: str, state: str, begin: float, end: float) -> list[Call]:
    """Return the calls of a state between two times.

    A state that begins or ends with a call is cut there: what happens before does not belong to it. Polls, puts and
    commits at intervals that happen to fall into a change of state are left out.
    """
    seen = [call for call in calls if begin <= call.at <= end]
    rounds = [index for index, call in enumerate(seen) if call.part == "task" and call.method in ROUNDS]
    first = 0
    match state:
        case "starting":
            opened = [index for index, call in enumerate(seen) if call.name == "task.open"]
            last = opened[0] if kind == "sink" and opened else rounds[0] if rounds else len(seen)
            return [call for call in seen[: last + 1] if call.method not in ROUNDS]
        case "stopping":
            stops = [index for index, call in enumerate(seen) if call.name == "task.stop" and kind == "source"]
            first = min([index + 1 for index in rounds[-1:]] + stops[:1], default=0)
        case "failing":
            first = next((index for index, call in enumerate(seen) if call.method.endswith("that raises")), 0)
    kept = [call for index, call in enumerate(seen) if index >= first or call.part == "connector"]
    left_out = {"stopping": ROUNDS, "pausing": ROUNDS + CHECKED, "resuming": ROUNDS + CHECKED}.get(state, ())
    return [call for call in kept if call.method not in left_out]


def frequency(calls: Sequence[Call], cell: Sequence[Call], state: str, seconds: float) -> str:
    """Return how often a method was called, as the nearest of what it may depend on."""
    count = len(cell)
    if state not in LASTING:
        if cell[0].method in (*CHECKED, "put without records"):
            return "at least once"
        return {1: "once", 2: "twice"}.get(count, "repeatedly")
    if count < MIN_REPEATED:
        return "never"
    polls = [call for call in calls if call.part == "task" and call.method in ROUNDS]
    intervals = seconds / INTERVAL
    rates = {"per interval": intervals}
    if cell[0].part == "task" and cell[0].method in ROUNDS:
        if cell[0].method == "put with records" or (state == "filtering" and cell[0].method in PUTS):
            return "all the time"  # how many there are depends on how records happen to arrive
        rates["all the time"] = 5 * intervals
    else:
        per_poll = "per poll" if polls and polls[0].method in POLLS else "per put"
        if _follows(count, len(polls), intervals):
            return per_poll
        if len(polls) > 3 * intervals:
            rates[per_poll] = len(polls)
        applied = sum(call.name == "transform.apply" for call in calls)
        rates["per record"] = max(sum(call.size for call in polls), applied)
    return min(
        (name for name, rate in rates.items() if rate),
        key=lambda name: max(count / rates[name], rates[name] / count),
    )


def _follows(count: int, polls: int, intervals: float) -> bool:
    """Return whether there were as many calls as polls, or, if a transaction has two polls, half as many. On a slow
    machine, with few polls in an interval, that tells more than the nearest rate.
    """
    return any(
        polls > least * intervals and abs(count * each - polls) <= max(each, polls // 10)
        for each, least in ((1, 1.5), (2, 3.0))
    )


def cells_of(calls: Sequence[Call], kind: str, spans: dict[str, tuple[float, float]]) -> Cells:
    """Return the cells of one connector; ``spans`` say when it was in which state."""
    found: Cells = {}
    for state, (begin, end) in spans.items():
        seen = window(calls, kind, state, begin, end)
        found[state] = {}
        for part, methods in METHODS[kind].items():
            for method in methods:
                cell = [call for call in seen if call.part == part and call.method == method]
                often = frequency(seen, cell, state, end - begin) if cell else "never"
                if often != "never":
                    where = thread(calls, cell)
                    found[state][f"{part}.{method}"] = {
                        "calls": often,
                        "after": after(calls, cell, state, where),
                        "thread": where,
                    }
    return found


def after(calls: Sequence[Call], cell: Sequence[Call], state: str, where: str) -> list[str]:
    """Return the calls of the same connector or task that came before these.

    Of polls and puts none, since they follow any; nor in a state that lasts where another thread makes the call, since
    it depends on the moment what the task's does. Repeated calls count as one, and ``pre_commit`` with the ``flush``
    that it calls.
    """
    own = cell[0]
    apart = own.part == "connector" or state not in LASTING
    if own.method in ROUNDS or own.part not in ("connector", "task") or (where == ANOTHER and not apart):
        return []
    if state == "rebalancing" and own.method in CHECKED:
        return []  # it is called at intervals, too
    skipped = {own.method, "put without records", *(["flush"] if own.method == "pre_commit" else [])}
    if own.method != "open":
        skipped.discard("put without records")  # a task that waits for its partitions gets empty puts
    line = [call for call in calls if call.part == own.part and (apart or call.thread == own.thread)]
    places = {id(call): place for place, call in enumerate(line)}
    before: dict[str, int] = {}
    for call in cell:
        found = (each.method for each in reversed(line[: places.get(id(call), 0)]) if each.method not in skipped)
        name = next(found, "").split(" ")[0]
        before[name] = before.get(name, 0) + 1
    return sorted(name for name, count in before.items() if name and count >= MIN_SHARE * len(cell))


def thread(calls: Sequence[Call], cell: Sequence[Call]) -> str:
    """Return the thread of these calls, by the object whose ``start`` ran on it."""
    own = "connector" if cell[0].part == "connector" else "task"
    started = {call.thread for call in calls if call.name == f"{own}.start"}
    return f"the {own}'s" if {call.thread for call in cell} <= started else ANOTHER


def differences(java: Cells, ours: Cells) -> Iterable[tuple[str, str, str, str, str]]:
    """Yield state, method, aspect, and both values of each cell that differs from Java's; "never" if there is no
    call.
    """
    for state, expected in java.items():
        got = ours.get(state, {})
        for name in sorted(expected.keys() | got.keys()):
            here, there = got.get(name), expected.get(name)
            if here is None or there is None:
                yield state, name, "calls", _often(there), _often(here)
                continue
            apart = state in LASTING and here["thread"] != there["thread"]
            for aspect in ("calls", "thread") if apart else ("calls", "after", "thread"):
                if here[aspect] != there[aspect]:
                    yield state, name, aspect, _text(there[aspect]), _text(here[aspect])


def _often(cell: Cell | None) -> str:
    return "never" if cell is None else cell["calls"]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ", ".join(value)
