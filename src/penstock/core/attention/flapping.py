"""Rows about connectors and tasks that run now, but have failed or were lost again and again within the last hour."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.core.attention.rows import NextStep, Row
from penstock.core.attention.states import Watched, root_cause

WINDOW_MS = 3_600_000
MIN_ENDS = 3
"""Failures and losses within the window from which on a connector or task flaps."""


@dataclass(frozen=True, slots=True)
class End:
    """A failure or loss of a connector or task."""

    time_ms: int
    trace: str


Ends = Mapping[tuple[str, int | None], Sequence[End]]
"""Failures and losses within the window by connector and task (None: the connector itself), oldest first."""


def flapping_rows(connectors: Iterable[Watched], ends: Ends) -> Iterator[Row]:
    """Yield the rows of what is RUNNING now; what is not has a row that says so."""
    for watched in connectors:
        for part in watched.parts:
            of_part = ends.get((watched.name, part.task), ())
            if part.state != "RUNNING" or len(of_part) < MIN_ENDS:
                continue
            why = f"It has failed or was lost {len(of_part)} times within the last hour, the last time with: "
            command = f"penstock history {shlex.quote(watched.name)} --events"
            yield Row(
                "flapping",
                why + root_cause(of_part[-1].trace),
                NextStep("See in its history when and why it ended, and remove the cause", command, "history"),
                watched.name,
                () if part.task is None else (part.task,),
                part.worker,
                of_part[0].time_ms,
            )
