"""Results kept as JSON, and tables and a picture made from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import comparing, doubling, processors, profiling
from bench.cases import CASES
from bench.plot import svg
from bench.tables import Table

Found = dict[str, list[Any]]
"""Results: rows by the name of their part."""


@dataclass(frozen=True, slots=True)
class Part:
    """A separate table. ``row`` has a ``case``, and describes in ``about`` the conditions of the measurement."""

    row: type
    table: Callable[[list[Any]], Table]

    def markdown(self, rows: list[Any]) -> str:
        """Return the table, and below it the remarks about its cases."""
        if not rows:
            return "Not measured yet."
        cases: dict[str, list[str]] = {}
        for row in rows:
            if row.case not in (named := cases.setdefault(row.about, [])):
                named.append(row.case)
        if len(cases) == 1:
            notes = [f"{about}." for about in cases]
        else:
            notes = [f"{', '.join(named)}: {about}." for about, named in cases.items()]
        return "\n".join([self.table(rows).markdown(), "", *notes])


PARTS = {
    "figures": Part(comparing.Row, comparing.table),
    "doubling": Part(doubling.Size, doubling.table),
    "profile": Part(profiling.Path, profiling.table),
    "processors": Part(processors.Use, processors.table),
}


def show(found: Found) -> None:
    for name, rows in found.items():
        if rows:
            PARTS[name].table(rows).show()


def write(folder: Path, found: Found) -> None:
    """Write ``performance.json``, in which cases that were not measured now are kept, and from it the tables of
    ``performance.md`` and, if there are ratios, ``performance.svg``.
    """
    kept = folder / "performance.json"
    found = merged(load(kept), found)
    kept.write_text(json.dumps({name: [asdict(row) for row in rows] for name, rows in found.items()}, indent=1) + "\n")
    texts = {name: PARTS[name].markdown(rows) for name, rows in found.items()}
    if any(row.ratio is not None for row in found["figures"]):
        (folder / "performance.svg").write_text(svg(found["figures"]))
        texts["figures"] = f"![The ratios](performance.svg)\n\n{texts['figures']}"
    for name, text in texts.items():
        write_into(folder / "performance.md", name, text)


def load(file: Path) -> Found:
    content = json.loads(file.read_text()) if file.exists() else {}
    return {name: [part.row(**row) for row in content.get(name, ())] for name, part in PARTS.items()}


def merged(before: Mapping[str, list[Any]], now: Mapping[str, list[Any]]) -> Found:
    """Replace the results of cases that were measured again; rows are in the order of the cases."""
    order = list(CASES)
    together: Found = {}
    for name in PARTS:
        again = {row.case for row in now.get(name, ())}
        rows = [*(row for row in before[name] if row.case not in again), *now.get(name, ())]
        together[name] = sorted(rows, key=lambda row: order.index(row.case))
    return together


def write_into(document: Path, name: str, text: str) -> None:
    """Put the text between the two marks of this name. Raises ValueError if they are missing."""
    begin, end = f"<!-- {name}: written by `make bench` -->", f"<!-- end of {name} -->"
    before, first, rest = document.read_text().partition(begin)
    _, second, after = rest.partition(end)
    if not first or not second:
        raise ValueError(f"{document} has no `{begin}` and `{end}`, between which the table belongs")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}")
