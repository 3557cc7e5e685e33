"""The page of the calls of a plugin's methods, made from what probes recorded on Java Connect."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

CALLS = Path(__file__).parents[2] / "tests" / "calls"
STATES = (
    ("starting", "from the request that creates it until its first poll, or until a sink has its partitions"),
    ("busy", "there are records all the time"),
    ("filtering", "there are records, and a transform drops all of them"),
    ("idle", "there are no records"),
    ("retrying", "each `poll`, or each `put` with records, raises `RetriableError`"),
    ("pausing", "from the request until the state is PAUSED"),
    ("paused", "the state is PAUSED"),
    ("resuming", "from the request until the state is RUNNING"),
    ("rebalancing", "another member joins the sink's group, and leaves it"),
    ("stopping", "from the end of its last poll or put on, after a request to stop"),
    ("failing", "from a `poll` or `put` on that raises another error"),
)


def page() -> str:
    recorded = json.loads((CALLS / "java.json").read_text("utf-8"))
    parts = [
        "# Calls of a plugin's methods",
        "Which methods of a plugin are called in which state, how often, after which call of the same connector or "
        f"task, and on which thread. Probes recorded it on Java Connect {recorded['connect']}, and tests compare "
        "with it the calls of workers here to the same probes: as jars, in Python, and in Python environments of their "
        "own. Names of methods are those of Python. `per interval` is `offset.flush.interval.ms`; a method that a "
        "table does not show is not called in that state. Calls before polls and puts are left out.",
        "\n".join(f"- **{state}**: {meaning}" for state, meaning in STATES),
    ]
    for mode, states in recorded["modes"].items():
        parts += [f"## {mode[:1].upper()}{mode[1:]}", _table(states)]
    return "\n\n".join([*parts, "## Where it differs here", _differences()]) + "\n"


def _table(states: dict[str, dict[str, Any]]) -> str:
    lines = ["| state | call | how often | after | thread |", "|---|---|---|---|---|"]
    for state, _ in STATES:
        for name, cell in states.get(state, {}).items():
            row = (state, f"`{name}`", cell["calls"], ", ".join(f"`{each}`" for each in cell["after"]), cell["thread"])
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def _differences() -> str:
    found = tomllib.loads((CALLS / "differences.toml").read_text("utf-8"))["difference"]
    lines = ["| mode | plugin | state | call | | here | why |", "|---|---|---|---|---|---|---|"]
    for each in found:
        where = [each.get(key, "*").replace("*", "any") for key in ("mode", "host", "state")]
        row = (*where, f"`{each['call']}`", each["aspect"], each["ours"].replace("*", "any"), each["why"])
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)
