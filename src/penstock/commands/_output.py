"""Output of commands: a table for people, JSON for programs."""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer


class OutputFormat(enum.StrEnum):
    TABLE = "table"
    JSON = "json"


As = Annotated[OutputFormat, typer.Option("--output", "-o", help="Print a table for people, or the worker's JSON.")]


def print_json(value: Any) -> None:
    """With the characters themselves where the output's encoding has them all, else with JSON's escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    print(text, flush=True)  # it may be one of many that a pipe's reader waits for


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns two blanks apart; of a cell with several lines only the first. Nothing is truncated."""
    cells = [header, *([_first_line(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def compact(value: Any) -> str:
    """JSON in one line."""
    return json.dumps(value, ensure_ascii=False)


def _first_line(cell: object) -> str:
    return next(iter(str(cell).splitlines()), "")
