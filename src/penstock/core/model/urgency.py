"""States of connectors and tasks by urgency: the one order, which page, commands, REST and metrics use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

UNKNOWN: Final = "UNKNOWN"
URGENCY = ("FAILED", UNKNOWN, "RESTARTING", "UNASSIGNED", "PAUSED", "STOPPED", "RUNNING")
"""Overall states, the most urgent first. A state that this version does not know is UNKNOWN."""
STATES = ("RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING")
"""States that statuses may have; one in another state is not known to this version."""


def most_urgent(states: Iterable[str]) -> str:
    """Return the most urgent state; UNKNOWN if there are none, or for one that this version does not know."""
    return min((state if state in STATES else UNKNOWN for state in states), key=URGENCY.index, default=UNKNOWN)
