"""Time for which a sender did not run after each fault, computed from the times at which it sent records.

A silence is the time between two records of one sender if it exceeds TOO_LONG. Times in which nothing could run because
the broker was unreachable are subtracted; the longest stretch that remains is attributed to the last fault before
it began. Broker faults come every few seconds, and after each of them recovery starts again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

TOO_LONG = 3.0
"""Seconds; a sender that runs sends at least every second, on a busy machine perhaps every two seconds."""

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence, with times in seconds of one clock: ``length`` is its longest stretch with a broker, ``whole`` the sum
    of all.
    """

    sender: str
    begin: float
    end: float
    length: float
    whole: float
    fault: int
    """The number of the last fault before that stretch, from 0; -1 if there was none."""

    def sentence(self) -> str:
        return f"{self.sender} was silent for {self.length:.1f} s after fault {self.fault}"


def silences(
    sent: Mapping[str, Sequence[float]], watched: Span, faults: Sequence[float], away: Sequence[Span]
) -> list[Silence]:
    """Return all silences in the observed time. ``sent``: times by sender. ``faults``: times at which they began, in
    order. ``away``: time spans in which the broker could not be reached; they may overlap.
    """
    found = []
    for sender, times in sent.items():
        inside = sorted(time for time in times if watched[0] < time < watched[1])
        for begin, end in pairwise([watched[0], *inside, watched[1]]):
            if end - begin <= TOO_LONG:
                continue  # nearly always, of millions of pairs
            stretches = _left(begin, end, away)
            length, since = max(((last - first, first) for first, last in stretches), default=(0.0, end))
            if length > TOO_LONG:
                # A fault takes effect before its time is read from the clock, or a moment after.
                before = [number for number, at in enumerate(faults) if at <= since + TOO_LONG]
                whole = sum(last - first for first, last in stretches)
                found.append(Silence(sender, begin, end, length, whole, before[-1] if before else -1))
    return found


def in_all(found: Sequence[Silence]) -> str:
    """Describe the silence with the longest sum of stretches."""
    return f"{max((each.whole for each in found), default=0.0):.1f} s"


def longest(found: Sequence[Silence], faults: int) -> list[float]:
    """Return the longest silence after each fault; 0 if there was none."""
    return [max((each.length for each in found if each.fault == fault), default=0.0) for fault in range(faults)]


def distribution(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    if not ordered:
        return "none"
    median, p90 = (ordered[math.ceil(part * len(ordered)) - 1] for part in (0.5, 0.9))
    return f"median {median:.1f} s, p90 {p90:.1f} s, max {ordered[-1]:.1f} s"


def _left(begin: float, end: float, away: Sequence[Span]) -> list[Span]:
    """Return the parts of the span from ``begin`` to ``end`` that none of the spans ``away`` covers."""
    left = []
    for first, last in [*sorted(away), (end, end)]:
        if last > begin:
            if min(first, end) > begin:
                left.append((begin, min(first, end)))
            begin = last
    return left
