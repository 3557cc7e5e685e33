"""Tables that the demo prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.table import Table

from penstock.demo.proof import Tally

_COLORS = {"RUNNING": "green", "FAILED": "red"}


def connectors(statuses: Iterable[Mapping[str, Any]], topics: Callable[[str], list[str]]) -> Table:
    """From ``GET /connectors/{name}/status`` of each, and the topics that it has used."""
    table = Table("connector", "type", "state", "tasks", "topics it has used", title="Connectors", title_justify="left")
    for status in statuses:
        tasks = ", ".join(f"{task['id']} {_state(task)}" for task in status["tasks"])
        used = ", ".join(sorted(topics(status["name"]))) or "none"
        table.add_row(status["name"], status["type"], _state(status["connector"]), tasks, used)
    return table


def tallies(sent: Tally, arrived: Mapping[str, Tally]) -> Table:
    table = Table("flights", title="Proof", title_justify="left")
    for title in ("count", "missing", "duplicates"):
        table.add_column(title, justify="right")
    table.add_column("SHA-256 of the sorted lines")
    for where, tally in {"sent": sent, **{f"in the {name}": tally for name, tally in arrived.items()}}.items():
        numbers = (f"{n:,}" for n in (tally.count, tally.missing, tally.duplicates))
        table.add_row(where, *numbers, f"{tally.checksum[:16]}…{tally.checksum[-4:]}")
    return table


def _state(part: Mapping[str, Any]) -> str:
    state = part["state"]
    return f"[{_COLORS.get(state, 'yellow')}]{state}[/]"
