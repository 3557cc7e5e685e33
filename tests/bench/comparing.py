"""Rounds of cases, here and on a reference in turn, and their figures."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.cases import BESIDE, CASES, GOALS, PROGRAMS, Figures, Goal
from bench.connect import OURS, Connect
from bench.setting import Setting
from bench.tables import Table


@dataclass(frozen=True, slots=True)
class Row:
    """The values of one figure of a case in all rounds. ``ours`` or ``reference`` is empty if only the other has it."""

    case: str
    about: str
    figure: str
    ours: list[float]
    reference: list[float]
    reference_name: str

    @property
    def ratio(self) -> float | None:
        """Ratio of the medians."""
        if not self.ours or not self.reference or not statistics.median(self.reference):
            return None
        return statistics.median(self.ours) / statistics.median(self.reference)

    @property
    def goal(self) -> Goal | None:
        return GOALS.get(self.case, {}).get(self.figure)

    @property
    def holds(self) -> bool | None:
        return None if self.goal is None or not self.ours else self.goal.holds(statistics.median(self.ours), self.ratio)


def run(case: str, setting: Setting, ours: Connect, java: Connect | None, rounds: int, about: str) -> Iterator[Row]:
    """Run the case in turn, so that other load of the machine affects both. A first round does not count."""
    runs: dict[str, Callable[[], Figures]] = {}
    reference = ""
    if case in PROGRAMS:
        reference = "a plain program"
        runs[reference] = lambda: PROGRAMS[case](setting)
    elif case in BESIDE:
        reference = BESIDE[case]
        runs[reference] = lambda: CASES[reference](ours, setting)
    elif java is not None and not (case.startswith("density") and java.pid is None):
        reference = java.name
        runs[reference] = lambda: CASES[case](java, setting)
    runs[OURS] = lambda: CASES[case](ours, setting)
    found: dict[str, list[Figures]] = {name: [] for name in runs}
    for round in range(rounds + 1):
        for name, measure in runs.items():
            figures = measure()
            print(f"{case:18} {name:16} " + ", ".join(f"{k}: {v:,.1f}" for k, v in figures.items()), flush=True)
            if round:
                found[name].append(figures)
    for figure in dict.fromkeys(figure for rounds in reversed(found.values()) for figure in rounds[0]):
        values = {name: [each[figure] for each in rounds if figure in each] for name, rounds in found.items()}
        yield Row(case, about, figure, values[OURS], values.get(reference, []), reference)


def table(rows: list[Row]) -> Table:
    headings = ["case", "figure", "reference", OURS, "ratio", "goal", "reached"]
    return Table(headings, [_cells(row) for row in rows], names=2)


def _cells(row: Row) -> list[str]:
    reference = _shown(row.reference) + (f", {row.reference_name}" if row.case in {**PROGRAMS, **BESIDE} else "")
    ratio = "" if row.ratio is None else f"{row.ratio:.2f} ×"
    verdict = {None: "", True: "yes", False: "no"}[row.holds]
    return [row.case, row.figure, reference, _shown(row.ours), ratio, str(row.goal or ""), verdict]


def _shown(values: list[float]) -> str:
    """Format the median and the range of the rounds."""
    if not values:
        return ""
    digits = 0 if max(values) >= 100 else 1
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"
