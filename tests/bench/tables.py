"""Tables for the terminal and for documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first ``names`` columns are words, the others figures."""

    headings: list[str]
    rows: list[list[str]]
    names: int = 1

    def show(self) -> None:
        from rich.console import Console
        from rich.table import Table as Shown

        shown = Shown()
        for i, heading in enumerate(self.headings):
            shown.add_column(heading, justify="left" if i < self.names else "right")
        for row in self.rows:
            shown.add_row(*row)
        Console().print(shown)

    def markdown(self) -> str:
        marks = ["---" if i < self.names else "---:" for i in range(len(self.headings))]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in [self.headings, marks, *self.rows])
