"""Results of soaks in a file, a line of JSON each, so that faults are counted over several runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from soak.report import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakRun:
    """The result of a run: its faults by kind, the tally of numbers, and the reasons why connectors stopped."""

    seed: int
    exactly_once: bool
    seconds: int
    faults: dict[str, int]
    numbers: int
    lost: int
    doubled: int
    """Count of duplicate numbers, which are allowed without exactly once."""
    stops: list[str] = field(default_factory=list)
    """The messages of connectors that stopped because an origin was recreated."""
    violations: list[str] = field(default_factory=list)


def read(kept: Path) -> list[SoakRun]:
    """Return earlier runs; none if there is no such file yet."""
    return [SoakRun(**json.loads(line)) for line in kept.read_text().splitlines()] if kept.exists() else []


def add(kept: Path, run: SoakRun) -> None:
    """Append a run to the file, which is created with its folder if missing."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a") as lines:
        lines.write(json.dumps(asdict(run)) + "\n")


def count(runs: Sequence[SoakRun]) -> int:
    """Return the number of faults of all runs."""
    return sum(sum(each.faults.values()) for each in runs)


def judged(runs: Sequence[SoakRun], number: int) -> Outcome:
    """Return the sums of the runs. Violations are those of each run, and fewer faults than ``number``."""
    figures: dict[str, object] = {"runs": len(runs), "seconds": sum(each.seconds for each in runs)}
    for mode, exactly_once in (("exactly once", True), ("at least once", False)):
        found = [each for each in runs if each.exactly_once is exactly_once]
        faults = sum((Counter(each.faults) for each in found), Counter[str]())
        listed = ", ".join(f"{times} {kind}" for kind, times in sorted(faults.items()))
        figures[f"faults, {mode}"] = f"{faults.total()}: {listed}" if found else 0
        figures[f"numbers sent, {mode}"] = sum(each.numbers for each in found)
        figures[f"numbers lost, {mode}"] = sum(each.lost for each in found)
        figures[f"duplicate numbers, {mode}"] = sum(each.doubled for each in found)
    figures["stops with a message"] = sum(len(each.stops) for each in runs)
    violations = [f"seed {each.seed}: {sentence}" for each in runs for sentence in each.violations]
    if (done := count(runs)) < number:
        violations.append(f"{done} of {number} faults so far, run it again")
    return Outcome(figures, violations)
